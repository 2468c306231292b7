#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/market/event/event.hpp"
#include "host/market/stage/counts.hpp"
#include "host/market/stage/healing.hpp"
#include "host/market/stage/message.hpp"
#include "host/market/state/publisher.hpp"

namespace stopbit::market {

/// Writes events in order, and says of each whether its exchange's event ends with it: so an event waits for the next
/// one. Keeps the list of instruments that a fault of their book has made stale. One thread; allocates when it is made
/// only.
class EventWriter {
 public:
  /// The books are the publisher's. All must outlive it; `message` is the record that is read.
  EventWriter(Publisher& publisher, const BookSet& books, const Message& message, MarketCounts& counts)
      : publisher_(publisher),
        message_(message),
        counts_(counts),
        healing_(books, counts),
        faulty_(std::make_unique<std::uint32_t[]>(std::size_t{books.instruments()} + 1)),
        is_open_(std::make_unique<bool[]>(kChannels)) {}

  /// Before a record is read: the packet of an event that waits may have ended without saying so.
  void begin_record() noexcept {
    if (has_pending_ && (packet_ != message_.sequence || channel_ != message_.channel)) flush(true);
  }
  [[gnu::noinline]] void emit(const Content& content) noexcept { emit(Event::of(content)); }
  /// The event waits for the next one, which may say that it was not the last.
  [[gnu::always_inline]] void emit(const Event& event) noexcept {
    if (has_pending_) [[likely]] {
      is_open_[channel_] = true;
      write(pending_);
    }
    pending_.assign(event);
    has_pending_ = true;
    channel_ = message_.channel;
    packet_ = message_.sequence;
    if (on_emit_ != nullptr) on_emit_(on_emit_of_);
  }
  /// Writes the event that waits. `is_last`: the exchange's event ends.
  void flush(bool is_last) noexcept;
  /// The packet ends with the event that waits, if there is one.
  void end_packet() noexcept {
    if (has_pending_) pending_.add_flags(record::kFlagLastOfPacket);
  }
  /// What waits, or null.
  [[nodiscard]] const Event* pending() const noexcept { return has_pending_ ? &pending_ : nullptr; }

  /// Takes a row that a fault made stale out of the list; 0: it is empty.
  [[nodiscard]] std::uint32_t take_faulty() noexcept {
    const std::uint32_t row = first_faulty_;
    if (row == kEnd) return 0;
    first_faulty_ = faulty_[row];
    faulty_[row] = 0;
    return row;
  }
  [[nodiscard]] bool has_faulty() const noexcept { return first_faulty_ != kEnd; }

  [[nodiscard]] LossEffects& losses() noexcept { return healing_.losses(); }
  [[nodiscard]] Healing& healing() noexcept { return healing_; }
  [[nodiscard]] const Healing& healing() const noexcept { return healing_; }

  /// For explanations: call(of) with each event that is made.
  void trace(void (*call)(void*), void* of) noexcept {
    on_emit_ = call;
    on_emit_of_ = of;
  }

 private:
  static constexpr std::size_t kChannels = 65'536;
  static constexpr std::uint32_t kEnd = 0xFFFF'FFFF;

  void write(Event& event) noexcept;

  Publisher& publisher_;
  const Message& message_;
  MarketCounts& counts_;
  Healing healing_;
  std::unique_ptr<std::uint32_t[]> faulty_;  ///< By row: the next one in the list; 0: not in it.
  std::uint32_t first_faulty_ = kEnd;
  std::unique_ptr<bool[]> is_open_;  ///< By channel: an exchange's event has begun, and its end was not written.
  Event pending_{};
  bool has_pending_ = false;
  std::uint16_t channel_ = 0;  ///< Of the record that made it: a kept event has a channel and packet of its own.
  std::uint32_t packet_ = 0;
  void (*on_emit_)(void*) = nullptr;
  void* on_emit_of_ = nullptr;
};

}  // namespace stopbit::market
