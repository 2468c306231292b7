#include "host/market/event/print.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace stopbit::market {
namespace {

template <class Number>
void append_number(Number number, std::string& out) {
  std::array<char, 24> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  out.append(text.data(), end);
}

template <class Number>
void append_key(std::string_view key, Number number, std::string& out) {
  out += ",\"";
  out += key;
  out += "\":";
  append_number(number, out);
}
void append_name(std::string_view key, std::string_view name, std::string& out) {
  out += ",\"";
  out += key;
  out += "\":\"";
  out += name;
  out += '"';
}
/// The name, or the number of a value that has none.
template <class Enumerator>
void append_value(Enumerator value, std::string& out) {
  if (const std::string_view name = name_of(value); !name.empty()) {
    out += name;
  } else {
    append_number(static_cast<unsigned>(static_cast<std::underlying_type_t<Enumerator>>(value)), out);
  }
}
template <class Enumerator>
void append_named(std::string_view key, Enumerator value, std::string& out) {
  std::string text;
  append_value(value, text);
  append_name(key, text, out);
}

constexpr std::pair<std::uint8_t, std::string_view> kFlagNames[] = {
    {record::kFlagLastOfPacket, "last_of_packet"},
    {record::kFlagSnapshot, "snapshot"},
    {record::kFlagStale, "stale"},
    {record::kFlagRecovered, "recovered"},
    {record::kFlagPossibleDuplicate, "possible_duplicate"},
    {kFlagLastOfEvent, "last_of_event"},
    {kFlagBestChanged, "best_changed"},
    {kFlagWide, "wide"},
};

/// What `id` is, by kind.
void append_id(const Event& event, std::string& out) {
  switch (event.kind()) {
    case Kind::State: {
      const StateCode code = event.state();
      append_name("state", name_of(code.state), out);
      append_key("code", code.exchange_code, out);
      append_key("scale", static_cast<unsigned>(code.scale), out);
      return;
    }
    case Kind::Clear: append_named("cause", event.cause(), out); return;
    case Kind::Stale:
    case Kind::Suspect: append_named("cause", event.cause(), out); [[fallthrough]];
    case Kind::Latest:
    case Kind::SnapshotEnd: append_key("number", event.id(), out); return;
    default: break;
  }
  if (event.id() == 0) return;
  // Entries addressed by a level may carry how many orders it has; whether they do is the map's to say.
  if (is_entry(event.kind()) && event.id() == kNoCount) return;
  append_key("id", event.id(), out);
}

}  // namespace

void append_fixed(std::int64_t value, std::uint32_t decimals, std::string& out) {
  const bool is_negative = value < 0;
  const std::uint64_t size =
      is_negative ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  std::uint64_t units = 1;
  for (std::uint32_t i = 0; i < decimals; ++i) units *= 10;
  if (is_negative) out += '-';
  append_number(size / units, out);
  std::uint64_t rest = size % units;
  if (rest == 0) return;
  out += '.';
  for (std::uint64_t digit = units / 10; rest != 0; rest %= digit, digit /= 10) {
    out += static_cast<char>('0' + rest / digit);
  }
}

void append_price(std::int64_t price, std::string& out) {
  if (price != kNoPrice) append_fixed(price, kPriceDecimals, out);
}

void append_json(const Event& event, std::string& out, const EventNames& names) {
  out += "{\"event\":\"";
  append_value(event.kind(), out);
  out += '"';
  append_key("channel", static_cast<unsigned>(event.channel()), out);
  append_key("sequence", event.sequence(), out);
  if (names.instrument.empty()) {
    append_key("instrument", event.instrument(), out);
  } else {
    out += ",\"instrument\":";
    out += names.instrument;
  }
  if (event.side() != Side::None) append_named("side", event.side(), out);
  if (event.book() == BookOf::Implied) append_name("book", name_of(event.book()), out);
  if (event.kind() == Kind::Statistic) {
    append_named("statistic", event.statistic(), out);
  } else if (event.level() != kNoLevel && event.kind() != Kind::Stale && event.kind() != Kind::Suspect) {
    append_key("level", static_cast<unsigned>(event.level()), out);
  }
  if (event.price() != kNoPrice) {
    out += ",\"price\":";
    append_price(event.price(), out);
  }
  if (event.quantity() != kNoQuantity) {
    out += ",\"quantity\":";
    append_fixed(event.quantity(), names.quantity_decimals, out);
  }
  append_id(event, out);
  append_key("time", event.arrival_ns(), out);
  if (event.delay_ns() != kNoDelay) append_key("delay", event.delay_ns(), out);
  if (event.flags() != 0) {
    out += ",\"flags\":[";
    bool is_first = true;
    for (const auto& [flag, name] : kFlagNames) {
      if (!event.has(flag)) continue;
      if (!is_first) out += ',';
      is_first = false;
      out += '"';
      out += name;
      out += '"';
    }
    out += ']';
  }
  out += "}\n";
}

void append_csv(const Event& event, std::string& out, const EventNames& names) {
  append_number(static_cast<unsigned>(event.channel()), out);
  out += ',';
  append_number(event.sequence(), out);
  out += ',';
  append_number(event.arrival_ns(), out);
  out += ',';
  if (event.delay_ns() != kNoDelay) append_number(event.delay_ns(), out);
  out += ',';
  if (names.instrument.empty()) {
    append_number(event.instrument(), out);
  } else {
    out += names.instrument;
  }
  out += ',';
  append_value(event.kind(), out);
  out += ',';
  if (event.side() != Side::None) append_value(event.side(), out);
  out += ',';
  out += name_of(event.book());
  out += ',';
  if (event.kind() == Kind::Statistic) {
    append_value(event.statistic(), out);
  } else if (event.kind() == Kind::Stale || event.kind() == Kind::Suspect) {
    append_value(event.cause(), out);
  } else if (event.level() != kNoLevel) {
    append_number(static_cast<unsigned>(event.level()), out);
  }
  out += ',';
  append_price(event.price(), out);
  out += ',';
  if (event.quantity() != kNoQuantity) append_fixed(event.quantity(), names.quantity_decimals, out);
  out += ',';
  append_number(event.id(), out);
  out += ',';
  bool is_first = true;
  for (const auto& [flag, name] : kFlagNames) {
    if (!event.has(flag)) continue;
    if (!is_first) out += ' ';
    is_first = false;
    out += name;
  }
  out += '\n';
}

}  // namespace stopbit::market
