#pragma once

#include <cstdint>

#include "decoder/record/layout.hpp"
#include "host/os/clock.hpp"
#include "host/ring/header.hpp"
#include "host/ring/protocol.hpp"

namespace stopbit::remote {

/// An event record for lost records (record::EventKind::Lost). Only their number is known: sequence, channel and source
/// are 0, the time is the present.
[[nodiscard]] inline record::Slot lost_event(std::uint64_t records, std::uint32_t image_generation) noexcept {
  constexpr std::uint64_t kNowhere = 0x00FF'FFFF'FFFF'0000;  // no template, block, word
  record::Slot slot{};
  slot.words[0] = record::kEventIndex | std::uint64_t{1} << 16;
  slot.words[1] = os::wall_clock_ns();
  slot.words[3] = (image_generation & 0xFFFFU) | static_cast<std::uint64_t>(record::TimeQuality::Poll) << 56;
  slot.words[4] = static_cast<std::uint64_t>(record::EventKind::Lost) | kNowhere;
  slot.words[6] = records;
  const std::uint64_t tag = record::kEventTag;
  slot.words[record::kTagWord] = ring::first_slot_tags(false) | tag << 32 | tag << 40 | tag << 48;
  return slot;
}

}  // namespace stopbit::remote
