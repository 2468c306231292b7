#include "host/market/map/source.hpp"
#include "host/os/config/keys.hpp"

/// The rows of a feed map.
namespace stopbit::market {
namespace {

using config::Count;
using config::Key;
using config::KeyType;
using config::TableKeys;

constexpr Count kNoneOrMore = {.least = 0, .most = kMaxKeyFields};

template <class Enum>
std::vector<std::string> names_from(Enum first, Enum last) {
  std::vector<std::string> names;
  for (auto i = static_cast<unsigned>(first); i <= static_cast<unsigned>(last); ++i) {
    names.emplace_back(name_of(static_cast<Enum>(i)));
  }
  return names;
}

/// The name of a field of the templates.
Key field(const char* name, const char* meaning) {
  return config::text_key(name, meaning).such_as("\"MDEntryPx\"");
}
Key fields(const char* name, Count count, const char* meaning) {
  return config::scalars_key(name, count, meaning).such_as("[\"SecurityID\"]");
}
/// A table of tests, whose keys are fields.
Key condition(const char* name, const char* meaning) {
  Key key = config::table_key(name, {}, std::string("Condition: ") + meaning);
  key.table = nullptr;
  return std::move(key).such_as("{ MDEntryType = [\"0\", \"1\"] }");
}
/// A table VALUE = "word".
Key translation(const char* name, const char* meaning, const char* example) {
  Key key = config::table_key(name, {}, meaning);
  key.table = nullptr;
  return std::move(key).such_as(example);
}

Key states(const char* name, const char* meaning) {
  Key key = config::table_key(name,
                              {.keys = {field("field", "The field with the state.").required(),
                                        config::text_key("scale", "A [scale.NAME].").required().such_as("\"phase\""),
                                        config::integer_key("letters", {1, 7},
                                                            "Number of letters at the beginning of a text that are the "
                                                            "state; the rest means something else.")
                                            .unless("the whole value")},
                               .any = {}},
                              meaning);
  key.type = KeyType::TableOrTables;
  key.count = {.least = 0, .most = kMaxStates};
  return std::move(key).such_as("{ field = \"SecurityTradingStatus\", scale = \"phase\" }");
}

Key depth() {
  Key key = config::table_key(
      "depth",
      {.keys = {field("entries", "Sequence with the depths."), field("type", "Field with the kind of a depth."),
                field("depth", "Field with the depth.").required(),
                translation("books", "The book of each kind.", "{ GBX = \"direct\" }")},
       .any = {}},
      "Definition: depth of the book, a field, or a list of depths, of which without `type` the greatest counts.");
  key.type = KeyType::TextOrTable;
  return std::move(key).such_as("\"MarketDepth\"");
}

Key feed_table() {
  Key event = config::choice_key("event", {"message", "packet"},
                                 "Where the exchange's event ends; or a condition on the message.")
                  .otherwise(0);
  event.type = KeyType::TextOrTable;
  return config::table_key(
             "feed",
             {.keys = {config::text_key("name", "Name of the map.").required().such_as("\"cme\""), std::move(event),
                       config::integer_key("quantity_decimals", {0, 18}, "Unit of quantities: 10^-n.").otherwise(0),
                       config::integer_key("price_decimals", {0, 9}, "Of prices that the feed sends as integers.")
                           .otherwise(0),
                       fields("optional", {.least = 0, .most = kMaxFields},
                              "Fields that some versions of the templates do not have."),
                       field("time", "Field with the exchange's time. Needs `time_format`."),
                       config::choice_key("time_format",
                                          {"none", "ns", "us", "datetime_ms", "datetime_us", "time_ms", "time_us"},
                                          "What its number means.")
                           .otherwise(0),
                       config::text_key("utc_offset", "The exchange's time zone.").otherwise("+00:00")},
              .any = {}},
             "The feed as a whole.")
      .required();
}

Key messages() {
  return config::tables_key(
      "message", {.least = 1, .most = kMaxMessageRules},
      {.keys = {config::choice_key("kind", names_from(MessageKind::Incremental, MessageKind::Other), "What it is.")
                    .required(),
                config::scalars_key("templates", {.least = 1, .most = 256},
                                    "Names of templates; * is any run of characters. The first rule that fits counts.")
                    .such_as("[\"MDIncRefresh_*\"]"),
                field("entries",
                      "The sequence of the entries, or a path A.B of sequences; without it the message is its "
                      "only entry."),
                fields("key", kNoneOrMore, "Key of an instrument, in place of the map's."),
                fields("scope", kNoneOrMore, "Scope of the message's number, in place of the map's."),
                field("group", "State: field with the group that is meant."),
                field("within", "State: field with the product complex."),
                condition("simple", "instruments of which no complex is known are meant."),
                states("state", "State: fields with states, of the instrument, group or all that the message names."),
                states("entry_state", "State: fields with states of each entry."),
                condition("statistics_reset", "the statistics of the day begin anew."),
                field("number", "Snapshot: number of its newest entry."),
                field("processed", "Snapshot: number of the newest message in it."),
                condition("first", "the first part of a snapshot."),
                condition("last", "the last part of a snapshot."),
                config::flag_key("replaces", false, "Snapshot: every message is the whole book."),
                condition("refresh", "snapshots for those that are in step."),
                field("name", "Definition: name of the instrument."),
                field("product", "Definition: group of the instrument."),
                field("step", "Definition: step of the price."),
                depth(),
                condition("removed", "the definition removes the instrument."),
                field("session", "Another value of this field ends all books."),
                config::flag_key("adds_rows", true, "Definition: false for additions to a definition."),
                config::text_key("event", "Other: becomes an event quote_request, index, news or other.")
                    .unless("no event")
                    .such_as("\"news\"")},
       .any = {}},
      "A rule for messages of templates.");
}

Key books() {
  return config::tables_key(
      "book", {.least = 0, .most = kMaxBooks},
      {.keys =
           {config::choice_key("by", names_from(BookKind::Level, BookKind::Position),
                               "What a row is: a position among prices, a price, an order, a position among "
                               "orders.")
                .required(),
            config::choice_key("name", {"direct", "implied"}, "One of the two books of an instrument.").otherwise(0),
            config::integer_key("depth", {0, 65'534}, "Depth of every book; 0: not known.").otherwise(0),
            field("action", "Field with what happens. Needs `actions`."),
            translation("actions",
                        "Its values: new, change, delete, overlay, delete_top, delete_bottom or delete_side.",
                        "{ 0 = \"new\", 1 = \"change\", 2 = \"delete\" }"),
            field("position", "Field with the position."), field("price", "Field with the price."),
            field("quantity", "Field with the quantity."), field("count", "Field with the number of orders."),
            field("id", "Field with the identifier of an order.")},
       .any = {}},
      "A book of each instrument.");
}

Key entries() {
  return config::tables_key(
      "entry", {.least = 0, .most = kMaxEntryRules},
      {.keys = {condition("when", "entries of this rule. The first rule whose condition holds counts."),
                config::choice_key("role", names_from(EntryRole::Book, EntryRole::Other), "What it is.").required(),
                config::text_key("book", "Name of the book: direct or implied.").unless("direct").such_as("\"direct\""),
                config::text_key("side", "bid, ask, buy, sell or none.").unless("`side_field`").such_as("\"bid\""),
                field("side_field", "Field with the side. Needs `sides`."),
                translation("sides", "Values of the field.", "{ 1 = \"bid\", 2 = \"ask\" }"),
                config::text_key("statistic", "Name of a statistic.").unless("none").such_as("\"open\""),
                field("statistic_field", "Field with the kind of a statistic."),
                translation("statistics", "Values of the field.", "{ 4 = \"open\" }"),
                field("price", "Field with the price, in place of the book's."),
                field("quantity", "Field with the quantity, in place of the book's."),
                field("id", "Field with the identifier, in place of the book's."),
                config::text_key("also_book", "Side of the book that a trade also changes.")
                    .unless("none")
                    .such_as("\"bid\"")},
       .any = {}},
      "A rule for entries of messages.");
}

}  // namespace

const TableKeys& map_keys() {
  static const TableKeys keys = {
      .keys = {feed_table(),
               config::table_key(
                   "sequence",
                   {.keys = {field("message", "Field with the number of a message."),
                             field("entry", "Field with a number that counts every entry of an instrument."),
                             config::flag_key("restarts_at_one", false,
                                              "An entry number of 1 is a reset of its instrument."),
                             fields("scope", kNoneOrMore,
                                    "Fields at the top that name the scope of the message's number.")},
                    .any = {}},
                   "Numbers by which losses are known."),
               config::table_key(
                   "instrument",
                   {.keys = {fields("key", {.least = 1, .most = kMaxKeyFields},
                                    "Fields, of the entry or the message, that name an instrument."),
                             field("product", "Field with its group."), field("complex", "Field with its kind.")},
                    .any = {}},
                   "What an instrument is.")
                   .required(),
               config::names_key("names",
                                 config::scalars_key("", {.least = 1, .most = 256},
                                                     "Names of the values 0, 1, ... of the field of this name.")
                                     .such_as("[\"bid\", \"ask\"]"),
                                 "Names where the feed has only numbers.")
                   .unless("none"),
               config::names_key("scale",
                                 config::names_key("",
                                                   config::scalars_key("", {.least = 1, .most = kMaxValues},
                                                                       "Values that mean this state.")
                                                       .such_as("[2, 17]"),
                                                   "States: closed, pre_open, auction, open, halted, ended."),
                                 "Scales of trading states, by name.")
                   .unless("none"),
               books(), messages(), entries()},
      .any = {}};
  return keys;
}

}  // namespace stopbit::market
