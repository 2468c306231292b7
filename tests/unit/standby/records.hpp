#pragma once

#include <cstdint>
#include <vector>

#include "decoder/record/layout.hpp"

/// Records as appliances publish them.
namespace stopbit::standby {

using Record = std::vector<record::Slot>;

struct Head {
  std::uint16_t channel = 0;
  std::uint16_t epoch = 0;
  std::uint32_t number = 0;
  std::uint16_t message = 0;
  bool is_last = true;
  bool is_recovered = false;
  std::uint64_t arrival_ns = 0;
  std::uint8_t source = 1;
};

inline void put_tags(record::Slot& slot, std::uint8_t value_tag) {
  slot.words[record::kTagWord] = record::tag_word_base(false, 0);
  for (unsigned i = 0; i < record::kValueWords; ++i) {
    const unsigned tag = i < record::kHeaderWords ? record::kHeaderTag + i : value_tag;
    slot.words[record::kTagWord] |= std::uint64_t{tag} << (8 * i);
  }
}

inline Record message(const Head& head, std::uint64_t value, std::size_t slots = 1) {
  Record record(slots, record::Slot{});
  const auto flags = static_cast<std::uint8_t>((head.is_last ? record::kFlagLastOfPacket : 0U) |
                                               (head.is_recovered ? record::kFlagRecovered : 0U));
  record[0].words[0] = 1 | std::uint64_t{slots} << 16;
  record[0].words[1] = head.arrival_ns;
  record[0].words[2] = head.number | std::uint64_t{head.channel} << 32 | std::uint64_t{flags} << 56;
  record[0].words[3] = std::uint64_t{head.message} << 16 | std::uint64_t{head.epoch} << 32 |
                       std::uint64_t{head.source} << 48 | std::uint64_t{2} << 56;
  record[0].words[4] = value;
  put_tags(record[0], 1);
  for (std::size_t i = 1; i < slots; ++i) record[i].words[0] = value + i;
  return record;
}

inline Record event(const Head& head, record::EventKind kind, std::uint64_t word5 = 0, std::uint64_t word6 = 0) {
  Record record = message(head, static_cast<std::uint64_t>(kind));
  record[0].words[0] = record::kEventIndex | std::uint64_t{1} << 16;
  record[0].words[5] = word5;
  record[0].words[6] = word6;
  put_tags(record[0], record::kEventTag);
  return record;
}

}  // namespace stopbit::standby
