#pragma once

#include <cstddef>
#include <cstdint>

#include "decoder/record/layout.hpp"
#include "microcode/base/error_code.hpp"

namespace stopbit::record {

/// Words 0 to 3 of a record's first slot. A view: the slot must outlive it. Safe with any slot.
class HeaderView {
 public:
  explicit HeaderView(const Slot& slot) noexcept : words_(slot.words) {}

  [[nodiscard]] std::uint16_t template_index() const noexcept { return bits<std::uint16_t>(0, 0); }
  [[nodiscard]] bool is_pad() const noexcept { return template_index() == kPadIndex; }
  [[nodiscard]] bool is_event() const noexcept { return template_index() == kEventIndex; }
  [[nodiscard]] bool is_market_event() const noexcept { return template_index() == kMarketEventIndex; }
  [[nodiscard]] std::uint16_t slots() const noexcept { return bits<std::uint16_t>(0, 16); }
  [[nodiscard]] std::uint32_t stamp() const noexcept { return bits<std::uint32_t>(0, 32); }
  [[nodiscard]] std::uint64_t arrival_ns() const noexcept { return words_[1]; }
  [[nodiscard]] std::uint32_t sequence() const noexcept { return bits<std::uint32_t>(2, 0); }
  [[nodiscard]] std::uint16_t channel() const noexcept { return bits<std::uint16_t>(2, 32); }
  [[nodiscard]] std::uint8_t string_slots() const noexcept { return bits<std::uint8_t>(2, 48); }
  [[nodiscard]] std::uint8_t flags() const noexcept { return bits<std::uint8_t>(2, 56); }
  [[nodiscard]] std::uint16_t image_generation() const noexcept { return bits<std::uint16_t>(3, 0); }
  [[nodiscard]] std::uint16_t message_index() const noexcept { return bits<std::uint16_t>(3, 16); }
  [[nodiscard]] std::uint16_t sender_epoch() const noexcept { return bits<std::uint16_t>(3, 32); }
  [[nodiscard]] SourceLine source() const noexcept { return static_cast<SourceLine>(bits<std::uint8_t>(3, 48)); }
  [[nodiscard]] TimeQuality time_quality() const noexcept {
    return static_cast<TimeQuality>(bits<std::uint8_t>(3, 56));
  }

 private:
  template <class T>
  [[nodiscard]] T bits(std::size_t word, unsigned shift) const noexcept {
    return static_cast<T>(words_[word] >> shift);
  }

  const std::uint64_t* words_;
};

/// Words 4 to 6 of an event record. A view, as HeaderView.
class EventView {
 public:
  explicit EventView(const Slot& slot) noexcept : words_(slot.words) {}

  [[nodiscard]] EventKind kind() const noexcept { return static_cast<EventKind>(words_[4] & 0xFF); }
  [[nodiscard]] ErrorCode code() const noexcept { return static_cast<ErrorCode>(words_[4] >> 8 & 0xFF); }
  [[nodiscard]] std::uint16_t template_index() const noexcept { return static_cast<std::uint16_t>(words_[4] >> 16); }
  [[nodiscard]] std::uint16_t block() const noexcept { return static_cast<std::uint16_t>(words_[4] >> 32); }
  [[nodiscard]] std::uint8_t word() const noexcept { return static_cast<std::uint8_t>(words_[4] >> 48); }
  [[nodiscard]] std::uint32_t offset_bytes() const noexcept { return static_cast<std::uint32_t>(words_[5]); }
  [[nodiscard]] std::uint32_t template_id() const noexcept { return static_cast<std::uint32_t>(words_[5] >> 32); }
  [[nodiscard]] std::uint64_t packet_number() const noexcept { return words_[6]; }
  /// Of a gap; `missing` of lost records, too.
  [[nodiscard]] std::uint64_t first_missing() const noexcept { return words_[5]; }
  [[nodiscard]] std::uint64_t missing() const noexcept { return words_[6]; }

 private:
  const std::uint64_t* words_;
};

}  // namespace stopbit::record
