#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/market/event/event.hpp"

namespace stopbit::market {

/// Events that wait, of all instruments, from one pool: a list for each, ordered by number, and the instruments in the
/// order in which they began to wait. One thread.
class Queues {
 public:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

  Queues(std::uint32_t instruments, std::uint32_t room)
      : lists_(std::make_unique<List[]>(std::size_t{instruments} + 1)),
        events_(std::make_unique<Event[]>(room)),
        places_(std::make_unique<Place[]>(room)),
        instruments_(instruments),
        room_(room) {
    clear();
  }

  [[nodiscard]] bool is_empty(std::uint32_t row) const noexcept { return lists_[row].count == 0; }
  [[nodiscard]] std::uint32_t count(std::uint32_t row) const noexcept { return lists_[row].count; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] bool is_full() const noexcept { return free_ == kNone; }
  /// The oldest number of a row that waits.
  [[nodiscard]] std::uint64_t oldest(std::uint32_t row) const noexcept { return places_[lists_[row].first].number; }

  /// After those with the same number. The pool must not be full.
  void push(std::uint32_t row, std::uint64_t number, const Event& event) noexcept {
    const std::uint32_t at = free_;
    free_ = places_[at].next;
    events_[at] = event;
    List& list = lists_[row];
    if (list.count == 0) begin(row);
    // Replayed events come in order: the next place is after the last one.
    std::uint32_t before = list.last;
    if (before != kNone && places_[before].number > number) {
      before = list.cursor != kNone && places_[list.cursor].number <= number ? list.cursor : kNone;
      for (std::uint32_t i = next(list, before); places_[i].number <= number; i = next(list, before)) before = i;
    }
    places_[at] = {number, next(list, before)};
    (before == kNone ? list.first : places_[before].next) = at;
    if (places_[at].next == kNone) list.last = at;
    list.cursor = at;
    ++list.count;
    ++count_;
  }

  /// Takes the events with numbers up to `last` out, in order: take(event, number).
  template <class Take>
  void take(std::uint32_t row, std::uint64_t last, const Take& take) noexcept {
    List& list = lists_[row];
    while (list.count != 0 && places_[list.first].number <= last) {
      const std::uint32_t at = list.first;
      take(events_[at], places_[at].number);
      pop(row);
    }
  }
  void drop(std::uint32_t row, std::uint64_t last) noexcept {
    take(row, last, [](const Event&, std::uint64_t) {});
  }
  /// Calls see(event) for those with numbers after `first`.
  template <class See>
  void for_each_after(std::uint32_t row, std::uint64_t first, const See& see) const noexcept {
    for (std::uint32_t i = lists_[row].first; i != kNone; i = places_[i].next) {
      if (places_[i].number > first) see(events_[i]);
    }
  }

  /// The row that has waited longest, and the one after a row; 0: none.
  [[nodiscard]] std::uint32_t first_row() const noexcept { return lists_[0].after; }
  [[nodiscard]] std::uint32_t row_after(std::uint32_t row) const noexcept { return lists_[row].after; }

  void clear() noexcept {
    for (std::uint32_t row = 0; row <= instruments_; ++row) lists_[row] = {};
    free_ = kNone;
    for (std::uint32_t i = room_; i-- > 0;) {
      places_[i].next = free_;
      free_ = i;
    }
    count_ = 0;
  }

 private:
  struct List {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t cursor = kNone;  ///< The newest one.
    std::uint32_t count = 0;
    std::uint32_t before = 0;  ///< Rows that wait, in a ring through row 0.
    std::uint32_t after = 0;
  };
  struct Place {
    std::uint64_t number;
    std::uint32_t next;
  };

  [[nodiscard]] std::uint32_t next(const List& list, std::uint32_t before) const noexcept {
    return before == kNone ? list.first : places_[before].next;
  }
  void begin(std::uint32_t row) noexcept {
    List& list = lists_[row];
    list.before = lists_[0].before;
    list.after = 0;
    lists_[list.before].after = row;
    lists_[0].before = row;
  }
  void pop(std::uint32_t row) noexcept {
    List& list = lists_[row];
    const std::uint32_t at = list.first;
    list.first = places_[at].next;
    if (list.first == kNone) list.last = kNone;
    if (list.cursor == at) list.cursor = kNone;
    places_[at].next = free_;
    free_ = at;
    --count_;
    if (--list.count != 0) return;
    lists_[list.before].after = list.after;
    lists_[list.after].before = list.before;
  }

  std::unique_ptr<List[]> lists_;
  std::unique_ptr<Event[]> events_;
  std::unique_ptr<Place[]> places_;
  std::uint32_t instruments_;
  std::uint32_t room_;
  std::uint32_t free_ = kNone;
  std::uint32_t count_ = 0;
};

}  // namespace stopbit::market
