#include "host/market/state/followed_books.hpp"

#include "host/market/book/entries.hpp"
#include "host/market/state/shape.hpp"
#include "host/os/random.hpp"

namespace stopbit::market {
namespace {

constexpr BookOf kBooks[] = {BookOf::Direct, BookOf::Implied};
constexpr Side kSides[] = {Side::Bid, Side::Ask};

/// Whether the table may say something else of the instrument since the event before.
bool may_have_changed(Kind kind) noexcept {
  return !is_entry(kind) && kind != Kind::Trade && kind != Kind::Statistic;
}

}  // namespace

void FollowedBooks::begin(const InstrumentView* instruments, bool has_all) noexcept {
  instruments_ = instruments;
  forget(has_all);
}

void FollowedBooks::forget(bool has_all) noexcept {
  books_.reset();
  rows_.clear();
  has_all_ = has_all;
}

void FollowedBooks::look(std::uint32_t row) {
  InstrumentRow from;
  if (!instruments_->read(row, from)) return;
  const InstrumentShape shape = shape_of(from);
  if (books_ == nullptr) {
    // All instruments of a ring are of one map, so they have books of the same kinds.
    BookRoom room{.instruments = room_.instruments, .salt = os::random_word()};
    room.add(shape.direct.kind, room_.orders);
    room.add(shape.implied.kind, room_.orders);
    if (shape.implied.kind != BookKind::None) room.implied = room.instruments;
    books_ = std::make_unique<BookSet>(room);
    rows_.assign(std::size_t{room.instruments} + 1, 0);
  }
  if (row > books_->instruments() || books_->define(row, shape) != Fault::None) return;
  if ((rows_[row] & kDefined) == 0) rows_[row] = static_cast<std::uint8_t>(kDefined | (has_all_ ? kRight : 0U));
}

void FollowedBooks::take(const Event& event) {
  if (instruments_ == nullptr) return;
  arrival_ns_ = event.arrival_ns();
  const std::uint32_t row = event.instrument();
  const bool is_known = row < rows_.size() && (rows_[row] & kDefined) != 0;
  if (row != kAllInstruments && (!is_known || may_have_changed(event.kind()))) look(row);
  if (books_ == nullptr) return;
  (void)books_->apply(event);
  // The ring has a stale event for each of them.
  while (books_->take_stale().row != 0) {
  }
  follow_from(event);
}

/// From these events on a book does not depend on what was before them.
void FollowedBooks::follow_from(const Event& event) noexcept {
  if (event.kind() != Kind::SnapshotBegin && event.kind() != Kind::Clear) return;
  if (const std::uint32_t row = event.instrument(); row != kAllInstruments) {
    if (row < rows_.size()) rows_[row] |= kRight;
    return;
  }
  for (std::uint32_t row = 1; row < rows_.size(); ++row) {
    if (books_->is_of_channel(row, event.channel())) rows_[row] |= kRight;
  }
}

bool FollowedBooks::is_pictured(std::uint32_t row) const noexcept {
  if ((rows_[row] & kRight) == 0) return false;
  for (const BookOf of : kBooks) {
    for (const Side side : kSides) {
      if (!market::is_pictured(*books_, row, side, of)) return false;
    }
  }
  return true;
}

void FollowedBooks::picture(std::uint32_t row, const std::function<void(const Event&)>& take) const {
  const InstrumentStatus status = books_->status(row);
  const Content about{.arrival_ns = arrival_ns_,
                      .channel = books_->shape(row).channel,
                      .flags = record::kFlagSnapshot,
                      .instrument = row};
  const auto put = [&](Content content) {
    content.arrival_ns = about.arrival_ns;
    content.channel = about.channel;
    content.flags |= about.flags;
    content.instrument = row;
    take(Event::of(content));
  };
  const bool has_book = is_pictured(row);
  const bool is_latest = status.standing == Standing::Latest && has_book;
  if (!is_latest) {
    // Before the book: stale with most causes empties it.
    const bool is_suspect = status.standing == Standing::Suspect && has_book;
    const Cause cause = status.standing == Standing::Latest ? Cause::Join : status.cause;
    put({.kind = is_suspect ? Kind::Suspect : Kind::Stale,
         .book = status.counts_messages ? BookOf::Implied : BookOf::Direct,
         .level = static_cast<std::uint16_t>(cause),
         .id = status.since});
  }
  if (status.state != TradingState::Unknown || status.exchange_code != 0) {
    put({.kind = Kind::State, .id = StateCode{status.state, status.exchange_code, status.scale}.packed()});
  }
  if (has_book) put_book(row, put);
  if (is_latest) put({.kind = Kind::Latest, .id = status.since});
}

template <class Put>
void FollowedBooks::put_book(std::uint32_t row, const Put& put) const {
  put({.kind = Kind::SnapshotBegin});
  for (const BookOf of : kBooks) {
    for (const Side side : kSides) {
      for_each_entry(*books_, row, side, of, [&](const Event& entry) { put(entry.content()); });
    }
  }
  // One that comes in just now goes on with the next events.
  if (books_->is_building(row)) return;
  const InstrumentStatus status = books_->status(row);
  put({.kind = Kind::SnapshotEnd, .id = status.standing == Standing::Latest ? status.since : 0});
}

void FollowedBooks::for_each_event(const std::function<void(const Event&)>& take) const {
  for (std::uint32_t row = 1; row < rows_.size(); ++row) {
    if ((rows_[row] & kDefined) != 0) picture(row, take);
  }
}

}  // namespace stopbit::market
