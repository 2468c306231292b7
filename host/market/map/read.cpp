#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "host/market/map/source.hpp"
#include "host/os/config/keys.hpp"
#include "host/os/config/nearest.hpp"
#include "microcode/base/ascii.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::market {
namespace {

constexpr std::array<std::string_view, 8> kMessageKinds = {"none",  "incremental", "snapshot",  "definition",
                                                           "state", "reset",       "heartbeat", "other"};
constexpr std::array<std::string_view, 8> kRoles = {"book",      "trade", "bust",          "empty",
                                                    "statistic", "index", "quote_request", "other"};

Literal literal_of(const config::Scalar& scalar) {
  return {.is_text = scalar.is_text, .text = scalar.text, .number = scalar.integer, .range = scalar.range};
}

/// A key as a value: keys are texts, and one of digits is a number, too.
Literal literal_of_key(config::Table& table, const std::string& key) {
  Literal literal{.is_text = true, .text = key, .range = table.key_range(key)};
  const bool is_number = !key.empty() && key.size() <= 18 && std::all_of(key.begin(), key.end(), is_digit);
  if (is_number) {
    literal.is_text = false;
    for (const char c : key) literal.number = literal.number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return literal;
}

/// The value with this name in a list of named values.
template <class T>
std::optional<T> value_named(std::string_view name, std::span<const std::pair<std::string_view, T>> known) {
  for (const auto& [text, value] : known) {
    if (text == name) return value;
  }
  return std::nullopt;
}

constexpr std::pair<std::string_view, Kind> kOperations[] = {
    {"new", Kind::New},
    {"change", Kind::Change},
    {"delete", Kind::Delete},
    {"overlay", Kind::Overlay},
    {"delete_top", Kind::DeleteTop},
    {"delete_bottom", Kind::DeleteBottom},
    {"delete_side", Kind::DeleteSide},
};
constexpr std::pair<std::string_view, Side> kSides[] = {
    {"none", Side::None}, {"bid", Side::Bid}, {"ask", Side::Ask}, {"buy", Side::Bid}, {"sell", Side::Ask}};
constexpr std::pair<std::string_view, Kind> kOtherEvents[] = {
    {"other", Kind::Other}, {"quote_request", Kind::QuoteRequest}, {"index", Kind::Index}, {"news", Kind::News}};
constexpr std::pair<std::string_view, Statistic> kStatistics[] = {
#define STOPBIT_STATISTIC(enumerator, value, name, what) {name, Statistic::enumerator},
#include "host/market/event/statistics.def"
#undef STOPBIT_STATISTIC
};
constexpr std::pair<std::string_view, TradingState> kStates[] = {
#define STOPBIT_TRADING_STATE(enumerator, value, name, may_cross) {name, TradingState::enumerator},
#include "host/market/event/states.def"
#undef STOPBIT_TRADING_STATE
};

class Reader {
 public:
  Reader(MapSource& map, Diagnostics& diagnostics) : map_(map), diagnostics_(diagnostics) {}

  void read(config::Table root) {
    if (auto scales = root.table("scale")) read_scales(*scales);
    if (auto feed = root.table("feed")) {
      read_feed(*feed);
    } else {
      root.error("the table [feed] is missing");
    }
    if (auto sequence = root.table("sequence")) read_sequence(*sequence);
    if (auto instrument = root.table("instrument")) {
      map_.key = names(*instrument, "key");
      map_.product = name(*instrument, "product");
      map_.complex = name(*instrument, "complex");
      instrument->finish();
    } else {
      root.error("the table [instrument] with the key of an instrument is missing");
    }
    if (auto lists = root.table("names")) read_names(*lists);
    for (config::Table& table : root.tables("book")) read_book(table);
    for (config::Table& table : root.tables("message")) read_message(table);
    for (config::Table& table : root.tables("entry")) read_entry(table);
    for (std::size_t i = 0; i < map_.books.size(); ++i) check_book(map_.books[i], i);
    root.finish();
  }

 private:
  /// Refuses a book whose entries have no position, price or quantity.
  void check_book(const BookRule& book, std::size_t index) {
    // A book of one level needs no position.
    if (book.kind == BookKind::Level && !book.position && book.depth != 1) {
      error(book.range, "a book by level needs 'position', or 'depth = 1'");
    }
    // An entry may name its own; of a trade that changes a book these are the trade's.
    const auto is_said = [&](const Named& of_book, const Named EntryRule::*own) {
      return of_book || std::all_of(map_.entries.begin(), map_.entries.end(), [&](const EntryRule& rule) {
               if (rule.book != index || (rule.role != EntryRole::Book && !rule.also_book)) return true;
               return rule.role == EntryRole::Book && rule.*own;
             });
    };
    if (!is_said(book.price, &EntryRule::price))
      error(book.range, "the book needs 'price', or each of its entries does");
    if (!is_said(book.quantity, &EntryRule::quantity)) {
      error(book.range, "the book needs 'quantity', or each of its entries does");
    }
  }

  static Named name(config::Table& table, std::string_view key) {
    if (!table.has(key)) return {};
    std::string text = table.text(key);
    return {.text = std::move(text), .range = table.range(key)};
  }

  std::vector<Named> names(config::Table& table, std::string_view key) {
    std::vector<Named> found;
    for (const config::Scalar& scalar : table.scalars(key)) {
      if (!scalar.is_text || scalar.text.empty()) {
        error(scalar.range, "'" + std::string(key) + "' must be names");
        continue;
      }
      found.push_back({.text = scalar.text, .range = scalar.range});
    }
    return found;
  }

  std::vector<Literal> literals(config::Table& table, std::string_view key) {
    std::vector<Literal> found;
    for (const config::Scalar& scalar : table.scalars(key, {.least = 1, .most = kMaxValues})) {
      found.push_back(literal_of(scalar));
    }
    return found;
  }

  template <class T, std::size_t kCount>
  T word(const Named& text, const std::pair<std::string_view, T> (&known)[kCount], T otherwise) {
    if (const auto value = value_named<T>(text.text, known)) return *value;
    std::vector<std::string> all;
    std::string list;
    for (const auto& [known_text, value] : known) {
      all.emplace_back(known_text);
      list += (list.empty() ? "" : ", ") + std::string(known_text);
    }
    const std::string near = config::nearest(text.text, all);
    error(text.range,
          "'" + text.text + "' is not one of: " + list + (near.empty() ? "" : "; did you mean '" + near + "'?"));
    return otherwise;
  }

  /// key = { VALUE = "word", ... }
  template <class T, std::size_t kCount>
  Table<T> table_of(config::Table& table, std::string_view key, const std::pair<std::string_view, T> (&known)[kCount]) {
    Table<T> found;
    auto inner = table.table(key);
    if (!inner) return found;
    const std::vector<std::string> keys = inner->keys();
    if (keys.size() > kMaxValues) {
      inner->error("'" + std::string(key) + "' must have at most " + std::to_string(kMaxValues) + " values");
      return found;
    }
    for (const std::string& value : keys) {
      const Named text = name(*inner, value);
      found.emplace_back(literal_of_key(*inner, value), word(text, known, T{}));
    }
    return found;
  }

  Condition condition(config::Table& table, std::string_view key) {
    Condition tests;
    auto inner = table.table(key);
    if (!inner) return tests;
    const std::vector<std::string> fields = inner->keys();
    if (fields.size() > kMaxTests) {
      inner->error("'" + std::string(key) + "' must have at most " + std::to_string(kMaxTests) + " tests");
      return tests;
    }
    for (const std::string& field : fields) {
      Test test{.field = {.text = field, .range = inner->key_range(field)}};
      if (inner->kind(field) == config::Kind::Table) {
        auto details = *inner->table(field);
        if (details.has("is")) test.is = literals(details, "is");
        test.absent = details.flag("absent", false);
        if (details.has("any_of")) test.any_of = details.integer("any_of", {.least = 1, .most = kMaxInteger});
        if (details.has("none_of")) test.none_of = details.integer("none_of", {.least = 1, .most = kMaxInteger});
        if (details.has("above")) test.above = details.integer("above", {.least = 0, .most = kMaxInteger});
        details.finish();
        if (test.is.empty() && !test.absent && !test.any_of && !test.none_of && !test.above) {
          details.error("the test needs 'is', 'absent', 'any_of', 'none_of' or 'above'");
        }
        const int ways =
            (test.is.empty() ? 0 : 1) + (test.any_of ? 1 : 0) + (test.none_of ? 1 : 0) + (test.above ? 1 : 0);
        if (ways > 1) {
          error(test.field.range,
                "the test of '" + field + "' has more than one of 'is', 'any_of', 'none_of' and 'above'");
        }
      } else {
        test.is = literals(*inner, field);
      }
      tests.push_back(std::move(test));
    }
    return tests;
  }

  void read_feed(config::Table& table) {
    map_.name = table.text("name");
    if (table.kind("event") == config::Kind::Table) {
      map_.end = EndOfEvent::When;
      map_.end_when = condition(table, "event");
      if (map_.end_when.empty()) table.error("event", "'event' needs a test");
    } else {
      map_.end = static_cast<EndOfEvent>(table.choice("event", {"message", "packet"}, 0));
    }
    map_.quantity_decimals = static_cast<std::uint32_t>(table.integer("quantity_decimals"));
    map_.price_decimals = static_cast<std::uint32_t>(table.integer("price_decimals"));
    map_.optional = names(table, "optional");
    map_.time = name(table, "time");
    map_.time_format = static_cast<TimeFormat>(table.choice("time_format"));
    if (map_.time && map_.time_format == TimeFormat::None) table.error("time", "'time' needs a 'time_format'");
    read_offset(table);
    table.finish();
  }

  /// "+03:00"
  void read_offset(config::Table& table) {
    const std::string text = table.text("utc_offset");
    const auto digit = [&](std::size_t at) { return at < text.size() && is_digit(text[at]); };
    const auto number = [&](std::size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':' || !digit(1) || !digit(2) ||
        !digit(4) || !digit(5) || number(1) > 14 || number(4) > 59) {
      return table.error("utc_offset", "'utc_offset' must be as +03:00");
    }
    map_.utc_offset_s = (number(1) * 60 + number(4)) * 60 * (text[0] == '-' ? -1 : 1);
  }

  void read_sequence(config::Table& table) {
    map_.message_number = name(table, "message");
    map_.entry_number = name(table, "entry");
    map_.restarts_at_one = table.flag("restarts_at_one");
    map_.scope = names(table, "scope");
    table.finish();
  }

  void read_names(config::Table& table) {
    for (const std::string& field : table.keys()) {
      std::vector<std::string> list;
      for (const config::Scalar& scalar : table.scalars(field)) list.push_back(scalar.text);
      map_.names.emplace_back(literal_of_key(table, field), std::move(list));
    }
  }

  void read_scales(config::Table& table) {
    for (const std::string& scale_name : table.keys()) {
      if (map_.scales.size() == kMaxScales) {
        return table.error(scale_name, "a map has at most " + std::to_string(kMaxScales) + " scales");
      }
      Scale scale{.name = scale_name, .states = {}};
      if (auto inner = table.table(scale_name)) {
        for (const std::string& key : inner->keys()) {
          const Named text{.text = key, .range = inner->key_range(key)};
          const TradingState state = word(text, kStates, TradingState::Unknown);
          for (Literal& literal : literals(*inner, key)) scale.states.emplace_back(std::move(literal), state);
        }
      }
      map_.scales.push_back(std::move(scale));
    }
  }

  std::vector<StateField> states(config::Table& table, std::string_view key) {
    std::vector<StateField> found;
    std::vector<config::Table> tables;
    if (table.kind(key) == config::Kind::Table) {
      tables.push_back(*table.table(key));
    } else {
      tables = table.tables(key, {.least = 0, .most = kMaxStates});
    }
    for (config::Table& inner : tables) {
      StateField state{.field = {.text = inner.text("field"), .range = inner.range("field")}};
      if (inner.has("letters")) state.letters = static_cast<std::uint8_t>(inner.integer("letters"));
      const std::string scale_name = inner.text("scale");
      const auto scale = std::find_if(map_.scales.begin(), map_.scales.end(),
                                      [&](const Scale& one) { return one.name == scale_name; });
      if (scale == map_.scales.end()) {
        std::vector<std::string> all;
        for (const Scale& one : map_.scales) all.push_back(one.name);
        const std::string near = config::nearest(scale_name, all);
        inner.error("scale", "the map has no scale '" + scale_name + "'" +
                                 (near.empty() ? "" : "; did you mean '" + near + "'?"));
      } else {
        state.scale = static_cast<std::uint8_t>(scale - map_.scales.begin());
      }
      inner.finish();
      found.push_back(std::move(state));
    }
    return found;
  }

  /// Index of the book with this name; the first for none.
  std::uint8_t book_named(config::Table& table, std::string_view key, const std::string& text) {
    for (std::size_t i = 0; i < map_.books.size(); ++i) {
      if (name_of(map_.books[i].of) == text) return static_cast<std::uint8_t>(i);
    }
    table.error(key, "the map has no book '" + text + "'; a book is 'direct' or 'implied'");
    return 0;
  }

  void read_depth(config::Table& table, DepthSource& depth) {
    if (table.kind("depth") == config::Kind::Text) {
      depth.depth = name(table, "depth");
      return;
    }
    auto inner = table.table("depth");
    if (!inner) return;
    depth.entries = name(*inner, "entries");
    depth.type = name(*inner, "type");
    depth.depth = {.text = inner->text("depth"), .range = inner->range("depth")};
    if (auto books = inner->table("books")) {
      for (const std::string& value : books->keys()) {
        if (depth.books.size() == kMaxValues) break;
        const std::string book = books->text(value);
        depth.books.emplace_back(literal_of_key(*books, value), book_named(*books, value, book));
      }
    }
    inner->finish();
  }

  void read_message(config::Table& table) {
    MessageRule rule;
    rule.range = table.range();
    rule.kind = static_cast<MessageKind>(1 + table.choice("kind"));
    rule.templates = names(table, "templates");
    rule.entries = name(table, "entries");
    rule.key = names(table, "key");
    rule.scope = names(table, "scope");
    rule.group = name(table, "group");
    rule.within = name(table, "within");
    rule.simple = condition(table, "simple");
    rule.states = states(table, "state");
    rule.entry_states = states(table, "entry_state");
    rule.statistics_reset = condition(table, "statistics_reset");
    rule.number = name(table, "number");
    rule.processed = name(table, "processed");
    rule.first = condition(table, "first");
    rule.last = condition(table, "last");
    rule.replaces = table.flag("replaces");
    rule.refresh = condition(table, "refresh");
    rule.name = name(table, "name");
    rule.product = name(table, "product");
    rule.step = name(table, "step");
    read_depth(table, rule.depth);
    rule.removed = condition(table, "removed");
    rule.session = name(table, "session");
    rule.adds_rows = table.flag("adds_rows");
    if (table.has("event")) rule.event = word(name(table, "event"), kOtherEvents, Kind::Other);
    table.finish();
    map_.messages.push_back(std::move(rule));
  }

  void read_book(config::Table& table) {
    BookRule book;
    book.range = table.range();
    book.kind = static_cast<BookKind>(1 + table.choice("by"));
    book.of = static_cast<BookOf>(table.choice("name"));
    book.depth = static_cast<std::uint32_t>(table.integer("depth"));
    book.action = name(table, "action");
    book.actions = table_of(table, "actions", kOperations);
    if (book.action && book.actions.empty()) table.error("action", "'action' needs 'actions', a table of its values");
    book.position = name(table, "position");
    book.price = name(table, "price");
    book.quantity = name(table, "quantity");
    book.count = name(table, "count");
    book.id = name(table, "id");
    const bool needs_position = book.kind == BookKind::Position;
    if (needs_position && !book.position) table.error("a book by position needs 'position'");
    if (book.kind == BookKind::Order && !book.id) table.error("a book by order needs 'id'");
    for (const BookRule& other : map_.books) {
      if (other.of == book.of) table.error("there is another book '" + std::string(name_of(book.of)) + "'");
    }
    table.finish();
    map_.books.push_back(std::move(book));
  }

  void read_entry(config::Table& table) {
    EntryRule rule;
    rule.range = table.range();
    rule.when = condition(table, "when");
    rule.role = static_cast<EntryRole>(table.choice("role"));
    if (table.has("book")) rule.book = book_named(table, "book", table.text("book"));
    if (table.has("side")) rule.side = word(name(table, "side"), kSides, Side::None);
    rule.side_field = name(table, "side_field");
    rule.sides = table_of(table, "sides", kSides);
    if (rule.side_field && rule.sides.empty())
      table.error("side_field", "'side_field' needs 'sides', a table of its values");
    if (table.has("statistic")) rule.statistic = word(name(table, "statistic"), kStatistics, Statistic::Other);
    rule.statistic_field = name(table, "statistic_field");
    rule.statistics = table_of(table, "statistics", kStatistics);
    rule.price = name(table, "price");
    rule.quantity = name(table, "quantity");
    rule.id = name(table, "id");
    if (table.has("also_book")) {
      rule.also_book = true;
      rule.also_side = word(name(table, "also_book"), kSides, Side::None);
    }
    const bool changes_book = rule.role == EntryRole::Book || rule.also_book;
    if (changes_book && map_.books.empty()) table.error("the map has no [[book]]");
    if (rule.role == EntryRole::Book && rule.side == Side::None && !rule.side_field) {
      table.error("an entry of a book needs 'side' or 'side_field'");
    }
    table.finish();
    map_.entries.push_back(std::move(rule));
  }

  void error(const SourceRange& range, std::string message) {
    diagnostics_.error(ErrorCode::None, range, std::move(message));
  }

  static constexpr std::uint64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();

  MapSource& map_;
  Diagnostics& diagnostics_;
};

template <std::size_t kCount>
std::string_view at(const std::array<std::string_view, kCount>& names, std::size_t index) {
  return index < kCount ? names[index] : std::string_view();
}

}  // namespace

std::string_view name_of(MessageKind kind) noexcept {
  return at(kMessageKinds, static_cast<std::size_t>(kind));
}
std::string_view name_of(EntryRole role) noexcept {
  return at(kRoles, static_cast<std::size_t>(role));
}

std::optional<MapSource> read_map(std::string file, std::string text, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.errors();
  MapSource map;
  map.text_hash = fnv1a(text);
  const config::Document document = config::Document::parse(std::move(file), std::move(text), diagnostics);
  if (document.ok()) Reader(map, diagnostics).read(document.root(map_keys()));
  if (diagnostics.errors() != errors) return std::nullopt;
  return map;
}

}  // namespace stopbit::market
