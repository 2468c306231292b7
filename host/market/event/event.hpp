#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <type_traits>

#include "decoder/record/layout.hpp"

/// Market events: what a record's entries mean for an instrument, in a layout that is the same for every feed. Books
/// are built from them, by the appliance and by its readers alike. event.md describes the layout; a test compares it.
namespace stopbit::market {

static_assert(std::endian::native == std::endian::little);

/// Changes when the layout or a meaning changes; event rings and state tables carry it.
inline constexpr std::uint32_t kEventSchemaVersion = 1;

/// Template index of the record of one slot that is an event.
inline constexpr std::uint16_t kEventIndex = record::kMarketEventIndex;

inline constexpr std::int64_t kNoPrice = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kPriceUnits = 1'000'000'000;  ///< A price of 1.
inline constexpr int kPriceDecimals = 9;

// Quantity and delay are signed 40-bit numbers, of which the lowest means none.
inline constexpr unsigned kShortBits = 40;
inline constexpr std::int64_t kNoQuantity = -(std::int64_t{1} << (kShortBits - 1));
inline constexpr std::int64_t kMaxQuantity = (std::int64_t{1} << (kShortBits - 1)) - 1;
inline constexpr std::int64_t kNoDelay = kNoQuantity;

inline constexpr std::uint64_t kNoCount = std::uint64_t{1} << 63;  ///< `id` of a level: orders not known.

inline constexpr std::uint32_t kAllInstruments = 0;  ///< Of the channel.
inline constexpr std::uint32_t kMaxInstrument = (1U << 24) - 1;

inline constexpr std::uint16_t kNoLevel = 0;           ///< Addressed by order or price.
inline constexpr std::uint16_t kLevelBehind = 0xFFFF;  ///< After the last position of 16 bits.

// Flags, beside those of records (record::kFlagLastOfPacket to kFlagPossibleDuplicate).
inline constexpr std::uint8_t kFlagLastOfEvent = 1U << 5;  ///< The exchange's event ends here: the book is whole.
inline constexpr std::uint8_t kFlagBestChanged = 1U << 6;  ///< Price or quantity of a best row is another one.
inline constexpr std::uint8_t kFlagWide = 1U << 7;  ///< A value did not fit and is none; the record has it whole.

enum class Kind : std::uint8_t {
#define STOPBIT_EVENT_KIND(enumerator, value, name, what) enumerator = (value),
#include "host/market/event/kinds.def"
#undef STOPBIT_EVENT_KIND
};

enum class Statistic : std::uint16_t {
#define STOPBIT_STATISTIC(enumerator, value, name, what) enumerator = (value),
#include "host/market/event/statistics.def"
#undef STOPBIT_STATISTIC
};

enum class Cause : std::uint8_t {
#define STOPBIT_EVENT_CAUSE(enumerator, value, name, what) enumerator = (value),
#include "host/market/event/causes.def"
#undef STOPBIT_EVENT_CAUSE
};

enum class TradingState : std::uint8_t {
#define STOPBIT_TRADING_STATE(enumerator, value, name, may_cross) enumerator = (value),
#include "host/market/event/states.def"
#undef STOPBIT_TRADING_STATE
};

enum class Side : std::uint8_t { None = 0, Bid = 1, Ask = 2 };
enum class BookOf : std::uint8_t { Direct = 0, Implied = 1 };

/// Names as in the .def lists; empty for an unknown value.
[[nodiscard]] constexpr std::string_view name_of(Kind kind) noexcept {
  switch (kind) {
#define STOPBIT_EVENT_KIND(enumerator, value, name, what) \
  case Kind::enumerator:                                  \
    return name;
#include "host/market/event/kinds.def"
#undef STOPBIT_EVENT_KIND
  }
  return {};
}
[[nodiscard]] constexpr std::string_view name_of(Statistic statistic) noexcept {
  switch (statistic) {
#define STOPBIT_STATISTIC(enumerator, value, name, what) \
  case Statistic::enumerator:                            \
    return name;
#include "host/market/event/statistics.def"
#undef STOPBIT_STATISTIC
  }
  return {};
}
[[nodiscard]] constexpr std::string_view name_of(Cause cause) noexcept {
  switch (cause) {
#define STOPBIT_EVENT_CAUSE(enumerator, value, name, what) \
  case Cause::enumerator:                                  \
    return name;
#include "host/market/event/causes.def"
#undef STOPBIT_EVENT_CAUSE
  }
  return {};
}
[[nodiscard]] constexpr std::string_view name_of(TradingState state) noexcept {
  switch (state) {
#define STOPBIT_TRADING_STATE(enumerator, value, name, may_cross) \
  case TradingState::enumerator:                                  \
    return name;
#include "host/market/event/states.def"
#undef STOPBIT_TRADING_STATE
  }
  return {};
}
[[nodiscard]] constexpr std::string_view name_of(Side side) noexcept {
  constexpr std::string_view kNames[] = {"none", "bid", "ask"};
  return static_cast<std::size_t>(side) < std::size(kNames) ? kNames[static_cast<std::size_t>(side)]
                                                            : std::string_view();
}
[[nodiscard]] constexpr std::string_view name_of(BookOf book) noexcept {
  return book == BookOf::Direct ? "direct" : "implied";
}

/// Kinds after which the book of an instrument, or its day so far, may be another.
[[nodiscard]] constexpr bool changes_book(Kind kind) noexcept {
  return kind <= Kind::Clear || kind == Kind::State || (kind >= Kind::Removed && kind <= Kind::SnapshotEnd);
}
[[nodiscard]] constexpr bool changes_day(Kind kind) noexcept {
  return kind >= Kind::Trade && kind <= Kind::State;
}
/// The same of its row in the table of instruments, which may change with other kinds, too.
[[nodiscard]] constexpr bool changes_instrument(Kind kind) noexcept {
  return kind >= Kind::State && kind <= Kind::Removed;
}

/// Kinds new to delete_side: they change rows or orders of a book.
[[nodiscard]] constexpr bool is_entry(Kind kind) noexcept {
  return kind >= Kind::New && kind <= Kind::DeleteSide;
}

/// Whether bid and ask may meet in this state; in others a crossed book is a contradiction.
[[nodiscard]] constexpr bool may_cross(TradingState state) noexcept {
  switch (state) {
#define STOPBIT_TRADING_STATE(enumerator, value, name, may_cross) \
  case TradingState::enumerator:                                  \
    return may_cross;
#include "host/market/event/states.def"
#undef STOPBIT_TRADING_STATE
  }
  return true;
}

/// `id` of a state event.
struct StateCode {
  TradingState state = TradingState::Unknown;
  std::uint32_t exchange_code = 0;  ///< As the feed has it.
  std::uint8_t scale = 0;           ///< The map's scale that the code belongs to.

  [[nodiscard]] constexpr std::uint64_t packed() const noexcept {
    return static_cast<std::uint64_t>(state) | std::uint64_t{exchange_code} << 8 | std::uint64_t{scale} << 40;
  }
  /// An unknown state is Unknown.
  [[nodiscard]] static constexpr StateCode of(std::uint64_t id) noexcept {
    const auto state = static_cast<TradingState>(id & 0xFF);
    return {.state = name_of(state).empty() ? TradingState::Unknown : state,
            .exchange_code = static_cast<std::uint32_t>(id >> 8),
            .scale = static_cast<std::uint8_t>(id >> 40)};
  }
};

/// Content of an event; none of it where a value is left out.
struct Content {
  std::uint64_t arrival_ns = 0;
  std::uint32_t sequence = 0;
  std::uint16_t channel = 0;
  std::uint8_t flags = 0;
  std::uint32_t instrument = kAllInstruments;  ///< Row of the instrument table, at most kMaxInstrument.
  std::int64_t delay_ns = kNoDelay;            ///< Arrival minus the exchange's time; beyond 40 bits: none.
  Kind kind = Kind::Other;
  Side side = Side::None;
  BookOf book = BookOf::Direct;  ///< Of stale and suspect: Implied if `id` is a message of the channel.
  std::uint16_t level = kNoLevel;
  std::int64_t price = kNoPrice;
  std::int64_t quantity = kNoQuantity;  ///< Beyond 40 bits: none, and the event is wide.
  std::uint64_t id = 0;
};

/// An event: a record of one slot.
struct alignas(record::kSlotBytes) Event {
  std::uint64_t words[record::kSlotWords];

  /// Without stamp and phase, which the ring gives.
  [[nodiscard]] static constexpr Event of(const Content& content) noexcept {
    const bool has_delay = content.delay_ns >= kNoDelay && content.delay_ns <= kMaxQuantity;
    const std::int64_t delay = has_delay ? content.delay_ns : kNoDelay;
    Event event = {
        {kEventIndex | std::uint64_t{1} << 16, content.arrival_ns,
         std::uint64_t{content.sequence} | std::uint64_t{content.channel} << 32 | std::uint64_t{content.flags} << 56,
         std::uint64_t{content.instrument & kMaxInstrument} | static_cast<std::uint64_t>(delay) << 24, 0, 0, 0, kTags}};
    event.set_entry(content.kind, content.side, content.book, content.level, content.price, content.quantity,
                    content.id);
    return event;
  }
  [[nodiscard]] constexpr Content content() const noexcept {
    return {.arrival_ns = arrival_ns(),
            .sequence = sequence(),
            .channel = channel(),
            .flags = flags(),
            .instrument = instrument(),
            .delay_ns = delay_ns(),
            .kind = kind(),
            .side = side(),
            .book = book(),
            .level = level(),
            .price = price(),
            .quantity = quantity(),
            .id = id()};
  }

  [[nodiscard]] constexpr std::uint64_t arrival_ns() const noexcept { return words[1]; }
  [[nodiscard]] constexpr std::uint32_t sequence() const noexcept { return static_cast<std::uint32_t>(words[2]); }
  [[nodiscard]] constexpr std::uint16_t channel() const noexcept { return static_cast<std::uint16_t>(words[2] >> 32); }
  [[nodiscard]] constexpr std::uint8_t flags() const noexcept { return static_cast<std::uint8_t>(words[2] >> 56); }
  [[nodiscard]] constexpr bool has(std::uint8_t flag) const noexcept { return (flags() & flag) != 0; }
  [[nodiscard]] constexpr bool last_of_event() const noexcept { return has(kFlagLastOfEvent); }
  [[nodiscard]] constexpr std::uint32_t instrument() const noexcept {
    return static_cast<std::uint32_t>(words[3]) & kMaxInstrument;
  }
  [[nodiscard]] constexpr std::int64_t delay_ns() const noexcept { return static_cast<std::int64_t>(words[3]) >> 24; }
  /// The exchange's time, ns since 1970; the arrival where it is not known.
  [[nodiscard]] constexpr std::uint64_t exchange_ns() const noexcept {
    return delay_ns() == kNoDelay ? arrival_ns() : arrival_ns() - static_cast<std::uint64_t>(delay_ns());
  }
  [[nodiscard]] constexpr std::int64_t price() const noexcept { return static_cast<std::int64_t>(words[4]); }
  [[nodiscard]] constexpr Kind kind() const noexcept { return static_cast<Kind>(words[5] & 0x1F); }
  [[nodiscard]] constexpr Side side() const noexcept { return static_cast<Side>(words[5] >> 5 & 3); }
  [[nodiscard]] constexpr BookOf book() const noexcept { return static_cast<BookOf>(words[5] >> 7 & 1); }
  [[nodiscard]] constexpr std::uint16_t level() const noexcept { return static_cast<std::uint16_t>(words[5] >> 8); }
  [[nodiscard]] constexpr Statistic statistic() const noexcept { return static_cast<Statistic>(level()); }
  [[nodiscard]] constexpr std::int64_t quantity() const noexcept { return static_cast<std::int64_t>(words[5]) >> 24; }
  [[nodiscard]] constexpr std::uint64_t id() const noexcept { return words[6]; }
  [[nodiscard]] constexpr StateCode state() const noexcept { return StateCode::of(id()); }
  /// Of stale and suspect: `id` is a message of the channel, not a number of the instrument.
  [[nodiscard]] constexpr bool counts_messages() const noexcept {
    return (words[5] >> 7 & 1) != 0 && (kind() == Kind::Stale || kind() == Kind::Suspect);
  }
  /// Of clear, stale and suspect; None for an unknown value.
  [[nodiscard]] constexpr Cause cause() const noexcept {
    const std::uint64_t value = kind() == Kind::Clear ? id() : level();
    const auto cause = static_cast<Cause>(value & 0xFF);
    return value > 0xFF || name_of(cause).empty() ? Cause::None : cause;
  }

  /// What an entry says. A quantity beyond 40 bits makes the event wide.
  constexpr void set_entry(Kind kind, Side side, BookOf book, std::uint16_t level, std::int64_t price,
                           std::int64_t quantity, std::uint64_t id) noexcept {
    const bool is_wide = quantity < kNoQuantity || quantity > kMaxQuantity;
    if (is_wide) add_flags(kFlagWide);
    words[4] = static_cast<std::uint64_t>(price);
    words[5] = (static_cast<std::uint64_t>(kind) & 0x1F) | (static_cast<std::uint64_t>(side) & 3) << 5 |
               (static_cast<std::uint64_t>(book) & 1) << 7 | std::uint64_t{level} << 8 |
               static_cast<std::uint64_t>(is_wide ? kNoQuantity : quantity) << 24;
    words[6] = id;
  }
  /// At most kMaxInstrument.
  constexpr void set_instrument(std::uint32_t row) noexcept {
    words[3] = (words[3] & ~std::uint64_t{kMaxInstrument}) | row;
  }
  constexpr void add_flags(std::uint8_t flags) noexcept { words[2] |= std::uint64_t{flags} << 56; }
  constexpr void remove_flags(std::uint8_t flags) noexcept { words[2] &= ~(std::uint64_t{flags} << 56); }

  /// The same event.
  void assign(const Event& event) noexcept { record::copy_words(words, event.words); }

  /// As a slot of a ring: `place` is what the ring's sink gave.
  [[nodiscard]] record::Slot slot(std::uint32_t stamp, bool phase) const noexcept {
    return record::in_place(words, stamp, phase);
  }
  /// The event in a slot that record::check_frame accepted and whose template index is kEventIndex.
  [[nodiscard]] static constexpr Event from(const record::Slot& slot) noexcept {
    Event event{};
    for (std::size_t i = 0; i < record::kSlotWords; ++i) event.words[i] = slot.words[i];
    return event;
  }

  static constexpr std::uint64_t kTags =
      record::kHeaderTag | (record::kHeaderTag + 1ULL) << 8 | (record::kHeaderTag + 2ULL) << 16 |
      (record::kHeaderTag + 3ULL) << 24 | std::uint64_t{record::kEventTag} << 32 |
      std::uint64_t{record::kEventTag} << 40 | std::uint64_t{record::kEventTag} << 48;
};
static_assert(sizeof(Event) == record::kSlotBytes);
static_assert(alignof(Event) == record::kSlotBytes);
static_assert(std::is_trivially_copyable_v<Event>);

[[nodiscard]] constexpr bool is_event(const record::Slot& slot) noexcept {
  return (slot.words[0] & 0xFFFF) == kEventIndex;
}

// The layout, bit by bit: a value in each field and nothing in the others.
static_assert(Event::of({.instrument = kMaxInstrument, .delay_ns = 0}).words[3] == 0xFF'FFFF);
static_assert(Event::of({.delay_ns = 1}).words[3] == std::uint64_t{1} << 24);
static_assert(Event::of({.delay_ns = kNoDelay}).words[3] == std::uint64_t{1} << 63);
static_assert(Event::of({.kind = Kind::Other, .quantity = 0}).words[5] == 31);
static_assert(Event::of({.kind = Kind::New, .side = Side::Ask, .book = BookOf::Implied, .level = 3, .quantity = -1})
                  .words[5] == 0xFFFF'FFFF'FF00'03C1);
static_assert(Event::of({.quantity = kMaxQuantity + 1}).has(kFlagWide));
static_assert(Event::of({.quantity = kMaxQuantity + 1}).quantity() == kNoQuantity);
static_assert(StateCode::of(StateCode{TradingState::Halted, 0xFFFF'FFFF, 255}.packed()).exchange_code == 0xFFFF'FFFF);

}  // namespace stopbit::market
