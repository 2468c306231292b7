#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/lib/random.hpp"
#include "tests/lib/wire_encoder.hpp"

namespace stopbit::cases {

/// Random templates, messages that fit them, and the records that the rules demand. The sender is a model of FAST of
/// its own, dictionary included; it shares the stop-bit encoder with the byte notation and nothing with compiler or
/// engine.
struct RandomCase {
  using Message = std::vector<Bytes>;  ///< Its entities, presence maps among them, one behind the other.
  using Packet = std::vector<Message>;

  std::string template_text;
  bool reset_per_packet = false;  ///< Otherwise the dictionary lives on from packet to packet.
  std::vector<Packet> packets;
  std::vector<std::string> records;  ///< One line a message, as cases write them.
};

[[nodiscard]] RandomCase random_case(Random& random);
/// The same case on every machine.
[[nodiscard]] RandomCase random_case(std::uint64_t seed);

/// As a case file, ready to be kept.
[[nodiscard]] std::string case_text(const RandomCase& made);

}  // namespace stopbit::cases
