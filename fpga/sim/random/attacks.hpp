#pragma once

#include <cstdint>

/// Attacks on the Verilated decode core, of any length. Both throw sim::Broken if it does what it must not, with the
/// number of the attempt, from which it can be repeated.
namespace stopbit::sim {

struct AttackOptions {
  std::uint64_t seed = 1;
  std::uint64_t first = 0;  ///< Number of the first attempt.
  std::uint64_t count = 1;
  bool progress = false;  ///< On stderr, now and then.
};

struct AttackFigures {
  std::uint64_t datagrams = 0;
  std::uint64_t records = 0;   ///< Events not counted.
  std::uint64_t events = 0;    ///< Records of errors.
  std::uint64_t watchdog = 0;  ///< Datagrams that the watchdog ended (programs only).
  std::uint64_t most_cycles =
      0;                     ///< From a datagram's first beat to its end; cycles with a slot or a stall not counted.
  std::uint64_t cycles = 0;  ///< Of the model, in all.
};

/// Programs of at most 64 unverified instructions, with random tables, each with a few random datagrams.
/// After each of them a verified program in the other bank decodes a datagram as the interpreter does.
[[nodiscard]] AttackFigures attack_with_programs(const AttackOptions& options);

/// Frames with turned, cut and added bytes through front end and core; every record compared with what host/feed/packet
/// and the interpreter make of the same frames.
[[nodiscard]] AttackFigures attack_with_frames(const AttackOptions& options);

}  // namespace stopbit::sim
