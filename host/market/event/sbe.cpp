#include "host/market/event/sbe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "host/market/event/fields.hpp"

namespace stopbit::market {
namespace {

/// Writes the schema line by line.
class Schema {
 public:
  void line(std::size_t depth, std::string_view text) {
    text_.append(2 * depth, ' ');
    text_ += text;
    text_ += '\n';
  }
  void begin(std::size_t depth, std::string_view element, std::string_view attributes) {
    line(depth, "<" + std::string(element) + std::string(attributes) + ">");
  }
  void end(std::size_t depth, std::string_view element) { line(depth, "</" + std::string(element) + ">"); }
  void empty(std::size_t depth, std::string_view element, std::string_view attributes) {
    line(depth, "<" + std::string(element) + std::string(attributes) + "/>");
  }
  void choice(std::string_view name, unsigned number, std::string_view what = {});
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Our texts have no character that XML would take for its own, but for quotes.
std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + std::string(value) + "\"";
}
template <class Number>
std::string attribute(std::string_view name, Number value) requires std::is_integral_v<Number> {
  return attribute(name, std::to_string(value));
}

void Schema::choice(std::string_view name, unsigned number, std::string_view what) {
  const std::string description = what.empty() ? std::string() : attribute("description", what);
  line(3, "<validValue" + attribute("name", name) + description + ">" + std::to_string(number) + "</validValue>");
}

std::string primitive(const EventColumn& column) {
  return (column.type == ColumnType::Signed ? "int" : "uint") + std::to_string(column.bytes * 8);
}

/// A column whose numbers include one that means none has a type of its own, of its name.
std::string type_of(const EventColumn& column) {
  switch (column.type) {
    case ColumnType::Bool: return "Bool";
    case ColumnType::Kind: return "Kind";
    case ColumnType::Side: return "Side";
    case ColumnType::Flags: return "Flags";
    case ColumnType::Unsigned:
    case ColumnType::Signed: break;
  }
  return column.none ? std::string(column.name) : primitive(column);
}

void add_header(Schema& schema) {
  schema.begin(2, "composite", attribute("name", "messageHeader"));
  for (const std::string_view name : {"blockLength", "templateId", "schemaId", "version"}) {
    schema.empty(3, "type", attribute("name", name) + attribute("primitiveType", "uint16"));
  }
  schema.end(2, "composite");
}

void begin_enum(Schema& schema, std::string_view name, std::string_view encoding) {
  schema.begin(2, "enum", attribute("name", name) + attribute("encodingType", encoding));
}

void add_lists(Schema& schema) {
  begin_enum(schema, "Bool", "uint8");
  schema.choice("False", 0);
  schema.choice("True", 1);
  schema.end(2, "enum");
  begin_enum(schema, "Side", "uint8");
  schema.choice("NoSide", static_cast<unsigned>(Side::None));
  schema.choice("Bid", static_cast<unsigned>(Side::Bid));
  schema.choice("Ask", static_cast<unsigned>(Side::Ask));
  schema.end(2, "enum");
  begin_enum(schema, "Kind", "uint8");
#define STOPBIT_EVENT_KIND(enumerator, value, name, what) schema.choice(#enumerator, value, what);
#include "host/market/event/kinds.def"
#undef STOPBIT_EVENT_KIND
  schema.end(2, "enum");
  begin_enum(schema, "Statistic", "uint16");
#define STOPBIT_STATISTIC(enumerator, value, name, what) schema.choice(#enumerator, value, what);
#include "host/market/event/statistics.def"
#undef STOPBIT_STATISTIC
  schema.end(2, "enum");
  begin_enum(schema, "Cause", "uint8");
#define STOPBIT_EVENT_CAUSE(enumerator, value, name, what) schema.choice(#enumerator, value, what);
#include "host/market/event/causes.def"
#undef STOPBIT_EVENT_CAUSE
  schema.end(2, "enum");
  begin_enum(schema, "TradingState", "uint8");
#define STOPBIT_TRADING_STATE(enumerator, value, name, may_cross) schema.choice(#enumerator, value);
#include "host/market/event/states.def"
#undef STOPBIT_TRADING_STATE
  schema.end(2, "enum");
  schema.begin(2, "set", attribute("name", "Flags") + attribute("encodingType", "uint8"));
  for (const auto& [flag, name] : kFlagNames) {
    schema.line(3, "<choice" + attribute("name", name) + ">" + std::to_string(std::countr_zero(flag)) + "</choice>");
  }
  schema.end(2, "set");
}

void add_types(Schema& schema) {
  for (const EventColumn& column : kEventColumns) {
    if (!column.none) continue;
    schema.empty(2, "type",
                 attribute("name", column.name) + attribute("primitiveType", primitive(column)) +
                     attribute("presence", "optional") + attribute("nullValue", *column.none));
  }
  schema.empty(2, "type",
               attribute("name", "Key") + attribute("primitiveType", "char") + attribute("length", kSbeKeyBytes) +
                   attribute("characterEncoding", "UTF-8"));
}

void add_fields(Schema& schema) {
  std::size_t id = 0;
  const auto add = [&](std::string_view name, std::string_view type, std::string_view what) {
    schema.empty(
        2, "field",
        attribute("name", name) + attribute("id", ++id) + attribute("type", type) + attribute("description", what));
  };
  for (const EventColumn& column : kEventColumns) add(column.name, type_of(column), column.what);
  add("quantity_decimals", "uint8", "decimals of quantity, the same in all messages of a stream");
  add("key", "Key", "of the instrument, as the feed has it; shorter ones end with zeros");
}

void append_bytes(std::string& out, std::uint64_t value, std::size_t bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::array<char, sizeof(value)> raw{};
  std::memcpy(raw.data(), &value, sizeof(value));
  out.append(raw.data(), bytes);
}

}  // namespace

void append_sbe(const Event& event, std::string& out, const EventNames& names) {
  for (const std::uint16_t head : {kSbeBlockBytes, kSbeTemplateId, kSbeSchemaId, std::uint16_t{kEventSchemaVersion}}) {
    append_bytes(out, head, sizeof(head));
  }
  const auto values = column_values(event);
  for (std::size_t i = 0; i < values.size(); ++i) append_bytes(out, values[i], kEventColumns[i].bytes);
  append_bytes(out, names.quantity_decimals, 1);
  const std::size_t size = std::min(names.instrument.size(), kSbeKeyBytes);
  out += names.instrument.substr(0, size);
  out.append(kSbeKeyBytes - size, '\0');
}

std::optional<SbeEvent> read_sbe(std::span<const std::byte> message) noexcept {
  std::uint16_t head[kSbeHeaderBytes / sizeof(std::uint16_t)] = {};
  if (message.size() < kSbeHeaderBytes + kSbeBlockBytes) return std::nullopt;
  std::memcpy(head, message.data(), kSbeHeaderBytes);
  if (head[0] != kSbeBlockBytes || head[1] != kSbeTemplateId || head[2] != kSbeSchemaId) return std::nullopt;
  const std::byte* at = message.data() + kSbeHeaderBytes;
  const auto take = [&at](auto& value) {
    std::memcpy(&value, at, sizeof(value));
    at += sizeof(value);
  };
#define STOPBIT_EVENT_COLUMN(name, type, none, value, what) \
  Stored<type> name{};                                      \
  take(name);
#include "host/market/event/columns.def"
#undef STOPBIT_EVENT_COLUMN
  SbeEvent read;
  read.event = Event::of({.arrival_ns = arrival_ns,
                          .sequence = sequence,
                          .channel = channel,
                          .flags = flags,
                          .instrument = instrument,
                          .delay_ns = delay_ns,
                          .kind = static_cast<Kind>(kind),
                          .side = static_cast<Side>(side),
                          .book = is_implied != 0 ? BookOf::Implied : BookOf::Direct,
                          .level = level,
                          .price = price,
                          .quantity = quantity,
                          .id = id});
  take(read.quantity_decimals);
  const std::string_view key(reinterpret_cast<const char*>(at), kSbeKeyBytes);
  read.key = key.substr(0, key.find('\0'));
  return read;
}

std::string sbe_schema() {
  Schema schema;
  schema.line(0, R"(<?xml version="1.0" encoding="UTF-8"?>)");
  schema.begin(0, "sbe:messageSchema",
               attribute("xmlns:sbe", "http://fixprotocol.io/2016/sbe") + attribute("package", "stopbit.market") +
                   attribute("id", kSbeSchemaId) + attribute("version", kEventSchemaVersion) +
                   attribute("byteOrder", "littleEndian") + attribute("description", "Market events of Stopbit"));
  schema.begin(1, "types", "");
  add_header(schema);
  add_types(schema);
  add_lists(schema);
  schema.end(1, "types");
  schema.begin(
      1, "sbe:message",
      attribute("name", "MarketEvent") + attribute("id", kSbeTemplateId) + attribute("blockLength", kSbeBlockBytes));
  add_fields(schema);
  schema.end(1, "sbe:message");
  schema.end(0, "sbe:messageSchema");
  return schema.take();
}

}  // namespace stopbit::market
