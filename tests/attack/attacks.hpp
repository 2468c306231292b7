#pragma once

#include <cstdint>

#include "tests/attack/counts.hpp"

namespace stopbit::attack {

/// How much of an attack to do. The same plan does the same, on every machine.
struct Plan {
  std::uint64_t seed = 1;
  bool is_long = false;     ///< Otherwise the form of every test run.
  std::uint64_t times = 1;  ///< Multiplies what an attack makes at random.
  std::uint64_t first = 0;  ///< Number of the first program that duels; those before it are left out.
};

/// Every datagram of one and two bytes, for templates of every type, operator and presence: on a fresh dictionary, on
/// one that a good message has filled, and after the start of a message.
void attack_with_bytes(const Plan& plan, Counts& counts);

/// Every bit of real messages turned, and every prefix of them.
void attack_with_turned_messages(const Plan& plan, Counts& counts);

/// Every bit of images turned: refused as they are; with the checksums mended refused by name, or safe to run.
void attack_with_turned_images(const Plan& plan, Counts& counts);

/// Changed programs, and programs of random instructions: refused by name, or safe to run within the verifier's bound.
void attack_with_programs(const Plan& plan, Counts& counts);

/// Random templates with messages that fit them, then with messages changed entity by entity.
void attack_with_messages(const Plan& plan, Counts& counts);

/// Every engine on the same datagrams, good, changed and hostile, many messages each, for programs of every kind.
void attack_with_differences(const Plan& plan, Counts& counts);

/// Sequence lengths that no datagram can hold.
void attack_with_bombs(const Plan& plan, Counts& counts);

}  // namespace stopbit::attack
