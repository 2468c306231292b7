#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/market/book/any_book.hpp"
#include "host/market/event/event.hpp"
#include "microcode/base/diagnostic.hpp"

namespace stopbit::config {
struct TableKeys;
}

/// A feed map as its text says it, each name with its place; README.md describes the text. compile() turns it into the
/// tables that work on the records of one firmware image.
namespace stopbit::market {

// Bounds of a map: they bound the memory and the time of everything that is made from one.
inline constexpr std::size_t kMaxMessageRules = 64;
inline constexpr std::size_t kMaxEntryRules = 64;
inline constexpr std::size_t kMaxTests = 8;    ///< Of a condition.
inline constexpr std::size_t kMaxValues = 64;  ///< Of a test or a list of values.
inline constexpr std::size_t kMaxFields = 63;  ///< Different names in a map: a bit of a word for each, and for none.
inline constexpr std::size_t kMaxKeyFields = 4;
inline constexpr std::size_t kMaxScales = 16;
inline constexpr std::size_t kMaxStates = 4;  ///< Fields with states in one message.
inline constexpr std::size_t kMaxBooks = 2;   ///< Direct and implied.

/// A name, and where the map has it. Empty: not given.
struct Named {
  std::string text;
  SourceRange range;
  explicit operator bool() const noexcept { return !text.empty(); }
};

/// A value that a field is compared with. What it means depends on the field's type.
struct Literal {
  bool is_text = false;
  std::string text;  ///< Of a number: its digits.
  std::uint64_t number = 0;
  SourceRange range;
};

struct Test {
  Named field;
  std::vector<Literal> is = {};               ///< One of these.
  bool absent = false;                        ///< Or no value at all.
  std::optional<std::uint64_t> any_of = {};   ///< Or: one of these bits is set.
  std::optional<std::uint64_t> none_of = {};  ///< Or: none of these bits is set.
  std::optional<std::uint64_t> above = {};    ///< Or: greater.
};
/// All tests must hold. Empty: always true.
using Condition = std::vector<Test>;

template <class T>
using Table = std::vector<std::pair<Literal, T>>;

/// How the exchange writes times.
enum class TimeFormat : std::uint8_t {
  None,
  Nanoseconds,   ///< Since 1970.
  Microseconds,  ///< Since 1970.
  DateTimeMs,    ///< yyyymmddhhmmssmmm
  DateTimeUs,    ///< yymmddhhmmssuuuuuu
  TimeMs,        ///< hhmmssmmm, the date is the arrival's
  TimeUs,        ///< hhmmssuuuuuu, likewise
};

enum class EndOfEvent : std::uint8_t { Message, Packet, When };

enum class MessageKind : std::uint8_t {
  None,  ///< No rule; messages without a number only.
  Incremental,
  Snapshot,
  Definition,
  State,
  Reset,
  Heartbeat,
  Other,
};
[[nodiscard]] std::string_view name_of(MessageKind kind) noexcept;

struct StateField {
  Named field;
  std::uint8_t scale = 0;    ///< Index of MapSource::scales.
  std::uint8_t letters = 0;  ///< Number of those at the beginning of a text that are the state; 0: the whole value.
};

/// The depth of the books, in the instrument's definition: a field, or a list with one element per kind of book.
struct DepthSource {
  Named entries;  ///< The list; empty: `depth` is a field beside the others.
  Named type;
  Named depth;
  Table<std::uint8_t> books;  ///< Value of `type` -> book.
};

struct MessageRule {
  MessageKind kind = MessageKind::Other;
  std::vector<Named> templates = {};  ///< Names; * is any run of characters.
  SourceRange range = {};
  Named entries = {};             ///< Sequence of the entries, or path of sequences: "A.B".
  std::vector<Named> key = {};    ///< Instead of the map's.
  std::vector<Named> scope = {};  ///< Instead of the map's.
  Named group =
      {};  ///< Field with the product or group that the state is of; an instrument's key, if there, goes first.
  Named within = {};      ///< Field with the product complex to which the state of a group is limited.
  Condition simple = {};  ///< The limit is to instruments of which no complex is known.
  std::vector<StateField> states = {};
  std::vector<StateField> entry_states = {};
  Condition statistics_reset = {};
  Named number = {};  ///< Snapshot: number of the newest entry that is in it.
  Named processed = {};
  Condition first = {};    ///< Snapshot: the message begins one.
  Condition last = {};     ///< Snapshot: the message ends one.
  bool replaces = false;   ///< Snapshot: each one is the whole book; there are no increments.
  Condition refresh = {};  ///< Snapshot: to be applied by those that are in step, too.
  Named name = {};
  Named product = {};
  Named step = {};
  DepthSource depth = {};
  Condition removed = {};
  Named session = {};        ///< Another value than before: books of the old session are gone.
  bool adds_rows = true;     ///< Definition: false: only an addition to a definition.
  Kind event = Kind::Other;  ///< Other: what its entries, or it, are.
};

struct BookRule {
  BookKind kind = BookKind::Level;
  BookOf of = BookOf::Direct;
  std::uint32_t depth = 0;  ///< Until a definition says otherwise; 0: learned from the feed.
  Named action = {};
  Table<Kind> actions = {};
  Named position = {};
  Named price = {};
  Named quantity = {};
  Named count = {};
  Named id = {};
  SourceRange range = {};
};

enum class EntryRole : std::uint8_t { Book, Trade, Bust, Empty, Statistic, Index, QuoteRequest, Other };
[[nodiscard]] std::string_view name_of(EntryRole role) noexcept;

struct EntryRule {
  Condition when = {};
  EntryRole role = EntryRole::Other;
  std::uint8_t book = 0;  ///< Index of MapSource::books.
  Side side = Side::None;
  Named side_field = {};
  Table<Side> sides = {};
  Statistic statistic = Statistic::Other;
  Named statistic_field = {};
  Table<Statistic> statistics = {};
  Named price = {};
  Named quantity = {};
  Named id = {};
  bool also_book = false;  ///< The entry changes the book, too: of the same book, with side `also_side`.
  Side also_side = Side::None;
  SourceRange range = {};
};

struct Scale {
  std::string name;
  Table<TradingState> states;
};

struct MapSource {
  std::string name;
  std::uint64_t text_hash = 0;  ///< Of the whole text.
  EndOfEvent end = EndOfEvent::Message;
  Condition end_when;
  std::uint32_t quantity_decimals = 0;  ///< A quantity's unit is 10^-quantity_decimals.
  std::uint32_t price_decimals = 0;     ///< Of prices that the feed sends as integers.
  std::vector<Named> optional;          ///< Fields that some versions of the templates do not have.
  Named time;
  TimeFormat time_format = TimeFormat::None;
  std::int64_t utc_offset_s = 0;
  Named message_number;
  Named entry_number;
  bool restarts_at_one = false;  ///< An entry number of 1 is a reset of its instrument (Restarts).
  std::vector<Named> scope;  ///< Fields that name the numbers' scope; empty: the instrument, if entries have numbers.
  std::vector<Named> key;
  Named product;
  Named complex;
  std::vector<MessageRule> messages;
  std::vector<BookRule> books;
  std::vector<EntryRule> entries;
  std::vector<Scale> scales;
  Table<std::vector<std::string>> names;  ///< Field -> names of its values 0, 1, ... where the feed has only numbers.
};

/// The rows of a map (host/os/config/keys.hpp).
[[nodiscard]] const config::TableKeys& map_keys();

inline constexpr std::size_t kMaxMapBytes = 1U << 20;  ///< Larger files are no maps.

/// Reads the text of a map; `file` is its name in messages. Nothing after an error.
[[nodiscard]] std::optional<MapSource> read_map(std::string file, std::string text, Diagnostics& diagnostics);

}  // namespace stopbit::market
