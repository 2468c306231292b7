#include "host/market/event/print.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <type_traits>

#include "host/market/event/fields.hpp"

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
/// Of visit_fields: the line, but for its ends.
class Line {
 public:
  Line(std::string& out, const EventNames& names) noexcept : out_(out), names_(names) {}

  void named(std::string_view key, std::string_view name, unsigned value) {
    if (name.empty()) {
      std::string number;
      append_number(value, number);
      append_name(key, number, out_);
    } else {
      append_name(key, name, out_);
    }
  }
  template <class Number>
  void number(std::string_view key, Number value) {
    append_key(key, value, out_);
  }
  void instrument(std::uint32_t row) {
    if (names_.instrument.empty()) return append_key("instrument", row, out_);
    out_ += ",\"instrument\":";
    out_ += names_.instrument;
  }
  void price(std::int64_t value) {
    out_ += ",\"price\":";
    append_price(value, out_);
  }
  void quantity(std::int64_t value) {
    out_ += ",\"quantity\":";
    append_fixed(value, names_.quantity_decimals, out_);
  }
  void flags(std::uint8_t bits) {
    out_ += ",\"flags\":[";
    bool is_first = true;
    for (const auto& [flag, name] : kFlagNames) {
      if ((bits & flag) == 0) continue;
      if (!is_first) out_ += ',';
      is_first = false;
      out_ += '"';
      out_ += name;
      out_ += '"';
    }
    out_ += ']';
  }

 private:
  std::string& out_;
  const EventNames& names_;
};

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
  const std::size_t begin = out.size();
  Line line(out, names);
  visit_fields(event, line);
  out[begin] = '{';  // where the first key has its comma
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
  if (!event.counts_messages()) out += name_of(event.book());
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
