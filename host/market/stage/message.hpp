#pragma once

#include <cstdint>
#include <optional>

#include "decoder/record/layout.hpp"
#include "host/market/event/event.hpp"
#include "host/market/map/map.hpp"

namespace stopbit::market {

/// The record that is read, and what the map says of its template.
struct Message {
  const TemplatePlan* plan = nullptr;  ///< Null: an event record.
  const MessageRule* rule = nullptr;   ///< This and the next two are null if no rule of the map is for the template.
  const MessageSlots* slots = nullptr;
  const TypedRules* typed = nullptr;
  std::uint64_t arrival_ns = 0;
  std::uint32_t sequence = 0;  ///< Of its packet.
  std::uint16_t channel = 0;
  std::uint16_t epoch = 0;  ///< Of the channel's numbers: another one with each cycle of a carousel.
  std::uint8_t flags = 0;
  std::int64_t delay_ns = kNoDelay;
  bool has_begun = false;  ///< What goes before the entries is done.

  [[nodiscard]] bool is_snapshot() const noexcept { return plan != nullptr && plan->kind == MessageKind::Snapshot; }
  /// The exchange's time.
  [[nodiscard]] std::optional<std::int64_t> exchange_time() const noexcept {
    if (delay_ns == kNoDelay) return std::nullopt;
    return static_cast<std::int64_t>(arrival_ns - static_cast<std::uint64_t>(delay_ns));
  }
  /// When the exchange has sent it, as far as that is known.
  [[nodiscard]] std::int64_t sent_ns() const noexcept {
    return exchange_time().value_or(static_cast<std::int64_t>(arrival_ns));
  }
  /// An event of this message.
  [[nodiscard]] Content content(Kind kind, std::uint32_t row) const noexcept {
    const bool is_of_snapshot = is_snapshot() && has_begun;
    return {.arrival_ns = arrival_ns,
            .sequence = sequence,
            .channel = channel,
            .flags = static_cast<std::uint8_t>((flags & ~record::kFlagLastOfPacket) |
                                               (is_of_snapshot ? record::kFlagSnapshot : 0U)),
            .instrument = row,
            .delay_ns = delay_ns,
            .kind = kind};
  }
};

}  // namespace stopbit::market
