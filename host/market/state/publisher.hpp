#pragma once

#include <cstdint>
#include <memory>

#include "decoder/record/sink.hpp"
#include "host/market/book/book_set.hpp"
#include "host/market/event/event.hpp"
#include "host/market/state/table.hpp"

namespace stopbit::market {

/// Events into books, and from there into a ring and a state table. One thread; no allocation after the start.
///
/// An event goes to the ring as it came, with the flag `best changed` where the books say so. If a fault makes
/// instruments stale, a stale event for each follows, and the end of the event moves to the last of them: a reader has
/// the appliance's books at every last-of-event, even if it has more room or joined later.
class Publisher {
 public:
  /// All must outlive it; ring and table may be null. A table has at least as many rows as the books.
  Publisher(BookSet& books, record::RecordSink* ring, state::Table* table)
      : books_(books),
        ring_(ring),
        table_(table),
        touched_(table != nullptr && table->levels() != 0
                     ? std::make_unique<std::uint32_t[]>(std::size_t{books.instruments()} + 1)
                     : nullptr) {}

  Applied take(Event event) noexcept {
    return take(event, [](std::uint32_t) {});
  }
  /// The same; sets the event's flags. Calls on_stale(row) for each instrument that a fault makes stale.
  template <class OnStale>
  Applied take(Event& event, const OnStale& on_stale) noexcept {
    const Applied applied = books_.apply(event);
    if (applied.best_changed) event.add_flags(kFlagBestChanged);
    const bool ends = event.last_of_event();
    const bool has_stale = books_.has_stale();
    if (has_stale) [[unlikely]]
      event.remove_flags(kFlagLastOfEvent);
    write(event);
    if (table_ != nullptr && (!applied.is_quiet || touched_ != nullptr)) show(event);
    if (has_stale) [[unlikely]]
      write_stales(event, ends, on_stale);
    if (ends && touched_ != nullptr) show_levels();
    return applied;
  }

 private:
  static constexpr std::uint32_t kEnd = 0xFFFF'FFFF;  ///< Ends the list; 0 is not in it.

  void write(const Event& event) noexcept {
    if (ring_ != nullptr) ring_->put(event.words);
  }

  template <class OnStale>
  [[gnu::noinline]] void write_stales(const Event& event, bool ends, const OnStale& on_stale) noexcept {
    for (BookSet::BecameStale stale = books_.take_stale(); stale.row != 0;) {
      on_stale(stale.row);
      const BookSet::BecameStale next = books_.take_stale();
      write_stale(event, stale, ends && next.row == 0);
      stale = next;
    }
  }
  void write_stale(const Event& event, const BookSet::BecameStale& stale, bool is_last) noexcept {
    Content content;
    content.arrival_ns = event.arrival_ns();
    content.sequence = event.sequence();
    content.channel = event.channel();
    content.flags = kFlagBestChanged;
    content.instrument = stale.row;
    content.kind = Kind::Stale;
    content.level = static_cast<std::uint16_t>(cause_of(stale.fault));
    content.id = event.sequence();
    Event made = Event::of(content);
    // As its readers do: since when it is stale is said by the event.
    (void)books_.apply(made);
    if (is_last) made.add_flags(kFlagLastOfEvent);
    write(made);
    if (table_ != nullptr) show_row(stale.row, made);
  }

  void show(const Event& event) noexcept {
    const std::uint32_t row = event.instrument();
    if (row == kAllInstruments) [[unlikely]]
      return show_all(event);
    if (row <= books_.instruments()) show_row(row, event);
  }
  [[gnu::noinline]] void show_all(const Event& event) noexcept {
    // Entries without a key and news must not cost time for each instrument.
    if (!changes_book(event.kind()) && !changes_day(event.kind())) return;
    for (std::uint32_t row = 1; row <= books_.instruments(); ++row) {
      if (books_.is_of_channel(row, event.channel())) show_row(row, event);
    }
  }
  void show_row(std::uint32_t row, const Event& event) noexcept {
    if (changes_day(event.kind())) table_->put_day(row, event);
    table_->put_book(row, books_, event);
    if (touched_ == nullptr || touched_[row] != 0) return;
    touched_[row] = first_touched_;
    first_touched_ = row;
  }
  void show_levels() noexcept {
    while (first_touched_ != kEnd) {
      const std::uint32_t row = first_touched_;
      first_touched_ = touched_[row];
      touched_[row] = 0;
      table_->put_levels(row, books_);
    }
  }

  BookSet& books_;
  record::RecordSink* ring_;
  state::Table* table_;
  std::unique_ptr<std::uint32_t[]> touched_;  ///< List of rows whose levels are to be published.
  std::uint32_t first_touched_ = kEnd;
};

}  // namespace stopbit::market
