#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "host/market/book/book_set.hpp"

namespace stopbit::market {

/// The books of one instrument, for readers that want no other. They must see the events of others, too: those say when
/// the exchange's event ends.
///
///   for (const Event& event : events) {
///     if (book.apply(event) && event.last_of_event()) quote(book.bid(0), book.ask(0));
///   }
///
/// One thread. Allocates when constructed only. `room` is for this instrument alone; its `instruments` are ignored.
class Book {
 public:
  Book(std::uint32_t instrument, const InstrumentShape& shape, BookRoom room = {})
      : instrument_(instrument), channel_(shape.channel), set_(of_one(room, shape)) {
    (void)set_.define(kRow, shape);  // there is room for it
  }

  /// Whether the best of a side changed. At the end of an event, which may be about another instrument: whether it
  /// changed within the event.
  bool apply(const Event& given) noexcept {
    Event event = given;
    bool changes = false;
    const bool is_own =
        event.instrument() == instrument_ || (event.instrument() == kAllInstruments && event.channel() == channel_);
    if (is_own) {
      event.set_instrument(kRow);
      const Applied applied = set_.apply(event);
      const BookSet::BecameStale stale = set_.take_stale();
      fault_ = stale.row != 0 ? stale.fault : applied.fault;
      changes = applied.best_changed || stale.row != 0;
      if (changes) changed_channel_ = event.channel();
      has_changed_ = has_changed_ || changes;
    }
    if (!event.last_of_event() || event.channel() != changed_channel_) return changes;
    return std::exchange(has_changed_, false);
  }
  /// Of the last event that was applied.
  [[nodiscard]] Fault fault() const noexcept { return fault_; }

  /// Row `index` of a side, from 0 for the best to kMaxIndex; `is_known` 0: there is none, or it is not known. For more
  /// rows at a time use set().rows().
  static constexpr std::size_t kMaxIndex = 63;
  [[nodiscard]] Row bid(std::size_t index) const noexcept { return row(Side::Bid, index); }
  [[nodiscard]] Row ask(std::size_t index) const noexcept { return row(Side::Ask, index); }
  /// How much of a side is known.
  [[nodiscard]] Extent known(Side side) const noexcept { return set_.extent(kRow, side); }
  [[nodiscard]] InstrumentStatus status() const noexcept { return set_.status(kRow); }
  /// Everything else; the instrument's row is 1.
  [[nodiscard]] const BookSet& set() const noexcept { return set_; }

 private:
  static constexpr std::uint32_t kRow = 1;

  [[nodiscard]] static BookRoom of_one(BookRoom room, const InstrumentShape& shape) noexcept {
    room.instruments = kRow;
    room.implied = shape.implied.kind == BookKind::None ? 0 : 1;
    return room;
  }
  [[nodiscard]] Row row(Side side, std::size_t index) const noexcept {
    if (index == 0) return set_.best(kRow, side);
    std::array<Row, kMaxIndex + 1> rows;
    if (index > kMaxIndex) return {};
    return set_.rows(kRow, side, std::span(rows).first(index + 1)) > index ? rows[index] : Row();
  }

  std::uint32_t instrument_;
  std::uint16_t channel_;
  std::uint16_t changed_channel_ = 0;  ///< On which the best has changed.
  bool has_changed_ = false;
  Fault fault_ = Fault::None;
  BookSet set_;
};

}  // namespace stopbit::market
