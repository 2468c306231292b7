#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "host/market/book/any_book.hpp"
#include "host/market/book/fault.hpp"
#include "host/market/book/large_array.hpp"
#include "host/market/book/row.hpp"
#include "host/market/event/event.hpp"

namespace stopbit::market {

/// How far an instrument's book may be trusted.
enum class Standing : std::uint8_t {
  Stale = 0,    ///< It may be wrong or lack something; `cause` says why.
  Suspect = 1,  ///< It was right before a loss that may or may not concern it.
  Latest = 2,   ///< It is right.
};

[[nodiscard]] constexpr std::string_view name_of(Standing standing) noexcept {
  switch (standing) {
    case Standing::Stale: return "stale";
    case Standing::Suspect: return "suspect";
    case Standing::Latest: return "latest";
  }
  return {};
}

/// What an instrument's books are.
struct InstrumentShape {
  BookShape direct;
  BookShape implied;          ///< BookKind::None: no such book.
  std::uint16_t channel = 0;  ///< Whose events for all instruments concern it.
};

struct InstrumentStatus {
  Standing standing = Standing::Stale;
  Cause cause = Cause::Join;
  bool counts_messages = false;  ///< `since` is a message of the channel.
  std::uint64_t since = 0;       ///< The first number that is missing, or in doubt, as the event said.
  TradingState state = TradingState::Unknown;
  std::uint8_t scale = 0;           ///< Of `exchange_code`.
  std::uint32_t exchange_code = 0;  ///< The exchange's state.
};

/// The books of all instruments of an outlet, built from events. The appliance and its readers use the same code, so
/// that their books cannot differ: a reader that applies the events from any clear or snapshot_begin of an instrument
/// has its book at every last-of-event.
///
/// An event that a book rules out is a fault: it is counted, the instrument becomes stale, and nothing of its book is
/// known any more. A book is never knowingly wrong: while its instrument is stale after a loss it is that of the moment
/// of the loss. One thread. Allocates when constructed only.
class BookSet {
 public:
  explicit BookSet(const BookRoom& room)
      : count_(std::min(room.instruments, kMaxInstrument)),
        implied_count_(room.implied),
        instruments_(make_large_array<Instrument>(std::size_t{count_} + 1)),
        implied_(make_large_array<Implied>(room.implied)),
        details_(make_large_array<Detail>(std::size_t{count_} + 1)),
        pools_(room) {}

  [[nodiscard]] std::uint32_t instruments() const noexcept { return count_; }

  /// Says what books an instrument has. Another shape than before discards them; the same one changes nothing. Takes no
  /// memory before the first entry. Room if the row is beyond the table or no implied book is left.
  [[nodiscard]] Fault define(std::uint32_t row, const InstrumentShape& shape) noexcept {
    if (row == kAllInstruments || row > count_) return Fault::Room;
    Instrument& item = instruments_[row];
    Detail& detail = details_[row];
    move_to(item, row, shape.channel);
    if (detail.is_defined && detail.direct == shape.direct && detail.implied == shape.implied) return Fault::None;
    if (shape.implied.kind != BookKind::None && item.implied == kNoHandle) {
      item.implied = take_implied();
      if (item.implied == kNoHandle) return Fault::Room;
    }
    item.direct.release(pools_);
    item.direct.begin(shape.direct, row, pools_);
    if (item.implied != kNoHandle) {
      AnyBook& implied = implied_[item.implied].book;
      implied.release(pools_);
      implied.begin(shape.implied, row | kImpliedInstrument, pools_);
    }
    if (detail.is_defined) {
      mark_stale(item, Cause::Join);
    } else {
      ++defined_;
    }
    detail.is_defined = true;
    detail.direct = shape.direct;
    detail.implied = shape.implied;
    return Fault::None;
  }

  /// Applies an event; those without meaning for books change nothing. Instruments that a fault makes stale are in the
  /// list of take_stale(): that of the event, and at last-of-event those whose books are crossed.
  [[gnu::always_inline]] Applied apply(const Event& event) noexcept {
    const std::uint32_t row = event.instrument();
    const bool is_of_book = row - 1 < count_ && is_entry(event.kind());
    const Applied applied = is_of_book ? apply_entry(event, instruments_[row], row) : apply_rest(event, row);
    if (listed_ != 0 && event.last_of_event()) [[unlikely]]
      check_crossed(event.channel());
    return applied.as_word();
  }

  [[nodiscard]] bool has_stale() const noexcept { return stale_ != kNoHandle; }
  /// Takes an instrument that a fault has made stale since it was last taken; row 0 if there is none.
  struct BecameStale {
    std::uint32_t row = 0;
    Fault fault = Fault::None;
  };
  [[nodiscard]] BecameStale take_stale() noexcept {
    if (stale_ == kNoHandle) return {};
    const std::uint32_t row = stale_;
    Detail& detail = details_[row];
    stale_ = detail.next_stale;
    return {row, std::exchange(detail.fault, Fault::None)};
  }

  /// Loads what apply() will need, for callers that know events some steps ahead; only for speed. Each step takes what
  /// the one before it has loaded, so they are for events at decreasing distances.
  void prefetch(const Event& event) const noexcept {
    __builtin_prefetch(&instruments_[std::min(event.instrument(), count_)], 1);
  }
  void prefetch_rows(const Event& event) const noexcept {
    instruments_[std::min(event.instrument(), count_)].direct.prefetch(event, pools_);
  }
  void prefetch_order(const Event& event) const noexcept {
    instruments_[std::min(event.instrument(), count_)].direct.prefetch_order(event, pools_);
  }

  /// Instruments with books, all and by their trust.
  [[nodiscard]] std::uint32_t defined() const noexcept { return defined_; }
  [[nodiscard]] std::uint32_t count_of(Standing standing) const noexcept {
    const std::uint32_t count = standings_[static_cast<std::size_t>(standing)];
    const std::uint32_t undefined = standing == Standing::Stale ? count_ - defined_ : 0;
    return count - std::min(count, undefined);
  }

  // What the books hold. `row` must be 1 to instruments().

  [[nodiscard]] InstrumentStatus status(std::uint32_t row) const noexcept {
    const Instrument& item = instruments_[row];
    const Detail& detail = details_[row];
    return {.standing = item.standing,
            .cause = item.cause,
            .counts_messages = detail.counts_messages,
            .since = detail.since,
            .state = item.state,
            .scale = detail.scale,
            .exchange_code = detail.exchange_code};
  }
  [[nodiscard]] Standing standing(std::uint32_t row) const noexcept { return instruments_[row].standing; }
  [[nodiscard]] Cause cause(std::uint32_t row) const noexcept { return instruments_[row].cause; }
  [[nodiscard]] TradingState trading_state(std::uint32_t row) const noexcept { return instruments_[row].state; }
  /// The best row of a side; `is_known` 0: the side is empty, or its best is not known (extent()).
  [[nodiscard]] Row best(std::uint32_t row, Side side, BookOf of = BookOf::Direct) const noexcept {
    const AnyBook* const book = find(row, of);
    return book == nullptr ? Row() : book->best(side, pools_);
  }
  /// best() and extent() of both sides of the direct book, in one step: what is shown after each entry.
  struct Top {
    Row bid;
    Row ask;
    Extent of_bids;
    Extent of_asks;
  };
  [[nodiscard]] Top top(std::uint32_t row) const noexcept {
    const Instrument& item = instruments_[row];
    if (const LevelBook* const level = item.direct.as_level(); level != nullptr && !item.is_building) [[likely]] {
      return {level->row(Side::Bid, 0, pools_.rows), level->row(Side::Ask, 0, pools_.rows), level->extent(Side::Bid),
              level->extent(Side::Ask)};
    }
    return {best(row, Side::Bid), best(row, Side::Ask), extent(row, Side::Bid), extent(row, Side::Ask)};
  }
  /// The first rows of a side, best first; returns how many.
  std::size_t rows(std::uint32_t row, Side side, std::span<Row> out, BookOf of = BookOf::Direct) const noexcept {
    const AnyBook* const book = find(row, of);
    return book == nullptr ? 0 : book->rows(side, out, pools_);
  }
  /// Nothing is known of how many rows there are while a snapshot is under way.
  [[nodiscard]] Extent extent(std::uint32_t row, Side side, BookOf of = BookOf::Direct) const noexcept {
    const AnyBook* const book = find(row, of);
    return book == nullptr || instruments_[row].is_building ? Extent() : book->extent(side, pools_);
  }
  /// Whether a side may have rows beyond those that rows() gives: then they are not known, else there are none.
  [[nodiscard]] bool is_open(std::uint32_t row, Side side, BookOf of = BookOf::Direct) const noexcept {
    const AnyBook* const book = find(row, of);
    return book == nullptr || instruments_[row].is_building || book->is_open(side);
  }
  /// Direct and implied book as one: quantities at the same price are added; the number of orders is the direct one's.
  /// Ends before the first row that an unknown one of either book could change.
  std::size_t merged_rows(std::uint32_t row, Side side, std::span<Row> out) const noexcept;

  [[nodiscard]] const AnyBook* find(std::uint32_t row, BookOf of = BookOf::Direct) const noexcept {
    const Instrument& item = instruments_[row];
    if (of == BookOf::Direct) return &item.direct;
    return item.implied == kNoHandle ? nullptr : &implied_[item.implied].book;
  }
  /// Whether a snapshot has begun and not ended.
  [[nodiscard]] bool is_building(std::uint32_t row) const noexcept { return instruments_[row].is_building; }
  /// Whether events for all instruments of the channel concern this one.
  [[nodiscard]] bool is_of_channel(std::uint32_t row, std::uint16_t channel) const noexcept {
    return details_[row].is_defined && instruments_[row].channel == channel;
  }
  /// What define() has said.
  [[nodiscard]] InstrumentShape shape(std::uint32_t row) const noexcept {
    return {details_[row].direct, details_[row].implied, instruments_[row].channel};
  }
  [[nodiscard]] const BookPools& pools() const noexcept { return pools_; }

  [[nodiscard]] std::uint64_t faults(Fault fault) const noexcept { return faults_[static_cast<std::size_t>(fault)]; }
  /// Memory taken at the start.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return (std::size_t{count_} + 1) * (sizeof(Instrument) + sizeof(Detail)) + implied_count_ * sizeof(Implied) +
           pools_.bytes();
  }

 private:
  static constexpr std::uint32_t kImpliedInstrument = 1U << 31;  ///< Tells the orders of both books.

  /// In books by level all that an entry touches is the first cache line.
  struct alignas(64) Instrument {
    std::uint32_t implied = kNoHandle;
    std::uint32_t next_crossed = kNoHandle;  ///< In the list of books to look at when their event ends.
    std::uint16_t channel = 0;
    Standing standing = Standing::Stale;
    Cause cause = Cause::Join;
    TradingState state = TradingState::Unknown;
    bool is_building = false;  ///< Between snapshot_begin and snapshot_end.
    bool is_listed = false;    ///< In the list of crossed books.
    AnyBook direct;
  };
  static_assert(sizeof(Instrument) == 128);
  struct Implied {
    AnyBook book;
  };
  struct Detail {
    BookShape direct;
    BookShape implied;
    std::uint32_t exchange_code = 0;
    std::uint32_t next_stale = kNoHandle;
    std::uint64_t since = 0;
    Fault fault = Fault::None;  ///< In the list of take_stale().
    std::uint8_t scale = 0;
    bool is_defined = false;
    bool counts_messages = false;
  };

  [[nodiscard]] static std::array<std::uint32_t, 64> empty_lists() noexcept {
    std::array<std::uint32_t, 64> lists;
    lists.fill(kNoHandle);
    return lists;
  }
  [[nodiscard]] std::uint32_t take_implied() noexcept {
    return implied_next_ < implied_count_ ? implied_next_++ : kNoHandle;
  }

  void stand(Instrument& item, Standing standing) noexcept {
    --standings_[static_cast<std::size_t>(item.standing)];
    ++standings_[static_cast<std::size_t>(standing)];
    item.standing = standing;
  }
  void mark_stale(Instrument& item, Cause cause) noexcept {
    stand(item, Standing::Stale);
    item.cause = cause;
    item.is_building = false;
  }
  void lose(Instrument& item, Cause cause) noexcept {
    mark_stale(item, cause);
    item.direct.lose(pools_);
    if (item.implied != kNoHandle) implied_[item.implied].book.lose(pools_);
  }
  /// Causes of a stale instrument whose book is right for the moment of the loss.
  [[nodiscard]] static constexpr bool keeps_rows(Cause cause) noexcept {
    return cause == Cause::Gap || cause == Cause::Join || cause == Cause::Queue || cause == Cause::Line;
  }
  void note_since(std::uint32_t row, const Event& event) noexcept {
    details_[row].since = event.id();
    details_[row].counts_messages = event.counts_messages();
  }
  void fail(std::uint32_t row, Fault fault) noexcept {
    ++faults_[static_cast<std::size_t>(fault)];
    if (cause_of(fault) == Cause::None) return;
    lose(instruments_[row], cause_of(fault));
    Detail& detail = details_[row];
    detail.since = 0;
    detail.counts_messages = false;
    if (detail.fault == Fault::None) {
      detail.next_stale = stale_;
      stale_ = row;
    }
    detail.fault = fault;
  }
  void clear(Instrument& item) noexcept {
    item.direct.clear(pools_);
    if (item.implied != kNoHandle) implied_[item.implied].book.clear(pools_);
  }

  [[gnu::noinline]] Applied apply_rest(const Event& event, std::uint32_t row) noexcept {
    Applied applied;
    if (row == kAllInstruments) {
      applied = apply_to_all(event);
    } else if (row > count_) {
      applied.fault = Fault::NoBook;
      ++faults_[static_cast<std::size_t>(Fault::NoBook)];
    } else if (event.kind() != Kind::Trade && event.kind() != Kind::Statistic) {
      applied.best_changed = apply_other(event, row);
    }
    return applied;
  }

  [[gnu::always_inline]] Applied apply_entry(const Event& event, Instrument& item, std::uint32_t row) noexcept {
    AnyBook* book = &item.direct;
    if (event.book() == BookOf::Implied) {
      if (item.implied == kNoHandle) {
        ++faults_[static_cast<std::size_t>(Fault::NoBook)];
        return {.fault = Fault::NoBook};
      }
      book = &implied_[item.implied].book;
    }
    // A row without the price or quantity that it has would be wrong.
    if (event.has(kFlagWide) && tells_row(event.kind()) &&
        (event.price() == kNoPrice || event.quantity() == kNoQuantity)) [[unlikely]] {
      fail(row, Fault::Wide);
      return {.best_changed = true, .fault = Fault::Wide};
    }
    if (event.quantity() < 0 && event.quantity() != kNoQuantity && tells_row(event.kind())) [[unlikely]] {
      fail(row, Fault::Negative);
      return {.best_changed = true, .fault = Fault::Negative};
    }
    // A snapshot says what each position holds, in any order; nothing is inserted.
    const bool sets = item.is_building && event.has(record::kFlagSnapshot) &&
                      (event.kind() == Kind::New || event.kind() == Kind::Change);
    if (const LevelBook::Moved moved = sets ? LevelBook::Moved() : book->move(event, pools_); moved.is_done)
        [[likely]] {
      // No other entry of this kind can cross a book that was not.
      if (moved.is_better && event.book() == BookOf::Direct) list_if_crossed(item, row);
      return {moved.best_changed, Fault::None, moved.is_quiet};
    }
    if (book->may_be_best(event)) return apply_to_best(event, item, row, *book, sets);
    const Fault fault = book->apply(event, sets, pools_);
    if (fault != Fault::None) [[unlikely]] {
      fail(row, fault);
      return {.best_changed = cause_of(fault) != Cause::None, .fault = fault};
    }
    return {};
  }

  /// Applies an entry that may change the best row.
  [[gnu::noinline]] Applied apply_to_best(const Event& event, Instrument& item, std::uint32_t row, AnyBook& book,
                                          bool sets) noexcept {
    const Applied applied = book.apply_to_best(event, sets, pools_);
    if (applied.fault != Fault::None) [[unlikely]] {
      fail(row, applied.fault);
      return {.best_changed = cause_of(applied.fault) != Cause::None, .fault = applied.fault};
    }
    // Rows of a side that is not whole cross, too, though the best of it may not be known.
    if (!applied.is_quiet && event.book() == BookOf::Direct) list_if_crossed(item, row);
    return applied.as_word();
  }

  /// A crossed book is looked at again when its event ends.
  void list_if_crossed(Instrument& item, std::uint32_t row) noexcept {
    if (item.is_listed || !is_crossed(item.direct)) [[likely]] {
      return;
    }
    item.is_listed = true;
    ++listed_;
    item.next_crossed = std::exchange(crossed_of(item.channel), row);
  }
  /// Changes the channel, and with it the list that the instrument may be in.
  void move_to(Instrument& item, std::uint32_t row, std::uint16_t channel) noexcept {
    if (item.is_listed && channel != item.channel) {
      std::uint32_t* link = &crossed_of(item.channel);
      while (*link != row) link = &instruments_[*link].next_crossed;
      *link = item.next_crossed;
      item.next_crossed = std::exchange(crossed_of(channel), row);
    }
    item.channel = channel;
  }
  /// The first of the list with a channel's crossed books. Few channels share a list.
  [[nodiscard]] std::uint32_t& crossed_of(std::uint16_t channel) noexcept {
    return crossed_[channel % crossed_.size()];
  }

  /// Kinds from clear on, for one instrument. Returns whether the best changed.
  bool apply_other(const Event& event, std::uint32_t row) noexcept {
    Instrument& item = instruments_[row];
    switch (event.kind()) {
      case Kind::Clear: {
        const bool had = has_best(item);
        switch (event.cause()) {
          case Cause::Exchange:
          case Cause::Reset:
          case Cause::Session: clear(item); break;
          default: {
            // It goes on from nothing. Why it is stale, a stale event has said.
            const Cause cause = item.standing == Standing::Stale ? item.cause : event.cause();
            lose(item, cause);
            break;
          }
        }
        item.is_building = false;
        return had;
      }
      case Kind::Removed: {
        const bool had = has_best(item);
        clear(item);
        item.is_building = false;
        item.state = TradingState::Ended;
        return had;
      }
      case Kind::SnapshotBegin: {
        const bool had = has_best(item);
        clear(item);
        item.is_building = true;
        return had;
      }
      case Kind::SnapshotEnd: item.is_building = false; return false;
      case Kind::Stale: {
        note_since(row, event);
        if (keeps_rows(event.cause()) && !item.is_building) {
          mark_stale(item, event.cause());
          return false;
        }
        const bool had = has_best(item);
        lose(item, event.cause());
        return had;
      }
      case Kind::Suspect:
        note_since(row, event);
        stand(item, Standing::Suspect);
        item.cause = event.cause();
        return false;
      case Kind::Latest:
        note_since(row, event);
        stand(item, Standing::Latest);
        item.cause = Cause::None;
        return false;
      case Kind::State: {
        const StateCode code = event.state();
        item.state = code.state;
        details_[row].exchange_code = code.exchange_code;
        details_[row].scale = code.scale;
        // A book that an auction left crossed may not stay so.
        if (!may_cross(item.state)) list_if_crossed(item, row);
        return false;
      }
      default: return false;
    }
  }

  /// For every instrument of the event's channel.
  Applied apply_to_all(const Event& event) noexcept {
    if (is_entry(event.kind())) {
      ++faults_[static_cast<std::size_t>(Fault::NoBook)];
      return {.fault = Fault::NoBook};
    }
    const bool is_plain = event.kind() >= Kind::Trade && event.kind() <= Kind::Statistic;
    if (is_plain || event.kind() == Kind::Definition || event.kind() > Kind::SnapshotEnd) return {};
    Applied applied;
    for (std::uint32_t row = 1; row <= count_; ++row) {
      if (!is_of_channel(row, event.channel()) || !is_concerned(event, row)) continue;
      applied.best_changed |= apply_other(event, row);
      // Not a loss of some messages: nothing is known of any book.
      if (event.kind() == Kind::Stale && !event.counts_messages()) lose(instruments_[row], event.cause());
      // The exchange says that each book of the channel is empty, so nothing of it can be missing.
      if (event.kind() == Kind::Clear && !keeps_rows(event.cause())) {
        stand(instruments_[row], Standing::Latest);
        instruments_[row].cause = Cause::None;
      }
    }
    return applied;
  }
  /// Of an event for all instruments of a channel. A loss says nothing of those that it does not make worse; what has
  /// healed is the loss of messages after `id`.
  [[nodiscard]] bool is_concerned(const Event& event, std::uint32_t row) const noexcept {
    const Detail& detail = details_[row];
    const Standing standing = instruments_[row].standing;
    switch (event.kind()) {
      case Kind::Suspect: return standing == Standing::Latest;
      case Kind::Stale: return standing == Standing::Latest || !event.counts_messages();
      case Kind::Latest: return standing != Standing::Latest && detail.counts_messages && detail.since > event.id();
      default: return true;
    }
  }

  [[nodiscard]] bool has_best(const Instrument& item) const noexcept {
    return item.direct.best(Side::Bid, pools_).is_known != 0 || item.direct.best(Side::Ask, pools_).is_known != 0;
  }

  [[nodiscard]] static bool tells_row(Kind kind) noexcept {
    return kind == Kind::New || kind == Kind::Change || kind == Kind::Overlay;
  }
  [[nodiscard]] bool is_crossed(const AnyBook& book) const noexcept {
    const Row bid = book.first(Side::Bid, pools_);
    const Row ask = book.first(Side::Ask, pools_);
    return bid.is_known != 0 && ask.is_known != 0 && bid.price != kNoPrice && ask.price != kNoPrice &&
           bid.price > ask.price;
  }

  /// Looks at the books that were crossed within the event that ends, those of its channel.
  void check_crossed(std::uint16_t channel) noexcept {
    std::uint32_t* link = &crossed_of(channel);
    while (*link != kNoHandle) {
      const std::uint32_t row = *link;
      Instrument& item = instruments_[row];
      if (item.channel != channel) {
        link = &item.next_crossed;
        continue;
      }
      *link = item.next_crossed;
      item.is_listed = false;
      --listed_;
      if (may_cross(item.state) || !is_crossed(item.direct)) continue;
      fail(row, Fault::Crossed);
    }
  }

  std::uint32_t count_;
  std::uint32_t implied_count_;
  std::uint32_t implied_next_ = 0;
  std::uint32_t listed_ = 0;  ///< In all lists of crossed books.
  std::array<std::uint32_t, 64> crossed_ = empty_lists();
  std::uint32_t stale_ = kNoHandle;  ///< First in the list of take_stale().
  LargeArray<Instrument> instruments_;
  LargeArray<Implied> implied_;
  LargeArray<Detail> details_;
  std::array<std::uint64_t, kFaults> faults_{};
  std::uint32_t defined_ = 0;
  std::array<std::uint32_t, 3> standings_ = {count_, 0, 0};  ///< Number of rows by enumerator.
  BookPools pools_;
};

inline std::size_t BookSet::merged_rows(std::uint32_t row, Side side, std::span<Row> out) const noexcept {
  // Of a side that is not whole nothing is known after its last known row.
  const auto limit_of = [&](BookOf of, std::span<Row> rows_of) {
    const Extent known = extent(row, side, of);
    const std::size_t count = std::min<std::size_t>(rows(row, side, rows_of, of), known.known_to);
    const bool is_all = known.is_whole && count < rows_of.size();
    const std::uint64_t lowest = is_all ? 0 : count == 0 ? ~std::uint64_t{0} : rank_of(side, rows_of[count - 1].price);
    return std::pair(count, lowest);
  };
  if (out.empty()) return 0;
  auto [count, lowest] = limit_of(BookOf::Direct, out);
  const AnyBook* const other = find(row, BookOf::Implied);
  if (other == nullptr || other->kind() == BookKind::None) return count;
  std::array<Row, LevelBook::kMaxDepth> implied{};
  const auto [implied_count, implied_lowest] = limit_of(BookOf::Implied, implied);
  if ((count == 0 && lowest != 0) || (implied_count == 0 && implied_lowest != 0)) return 0;
  std::size_t at = 0;
  for (const Row& add : std::span(implied).first(implied_count)) {
    const std::uint64_t rank = rank_of(side, add.price);
    if (rank < lowest) break;
    while (at < count && rank_of(side, out[at].price) > rank) ++at;
    if (at == out.size()) break;
    if (at < count && out[at].price == add.price) {
      out[at].quantity = summand(out[at].quantity) + summand(add.quantity);
      continue;
    }
    const std::size_t kept = std::min(count, out.size() - 1);
    std::copy_backward(out.begin() + static_cast<std::ptrdiff_t>(at), out.begin() + static_cast<std::ptrdiff_t>(kept),
                       out.begin() + static_cast<std::ptrdiff_t>(kept + 1));
    out[at] = add;
    out[at].orders = kOrdersUnknown;
    count = kept + 1;
  }
  while (count != 0 && rank_of(side, out[count - 1].price) < implied_lowest) --count;
  return count;
}

}  // namespace stopbit::market
