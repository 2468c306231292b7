#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "decoder/record/typed_view.hpp"
#include "host/ring/reader.hpp"

/// What the programs that read_test.py writes have in common: the values of views as JSON, and a ring read to its end.
namespace reader {

inline std::string number(auto value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

/// JSON, without a single line of the printers that are tested elsewhere.
class Json {
 public:
  std::string out;

  template <class T>
  void field(std::string_view name, const T& value) {
    key(name);
    put(value);
  }
  template <class T>
  void field(std::string_view name, const std::optional<T>& value) {
    if (value) field(name, *value);
  }

  /// A string of characters; field() takes each byte for one.
  void unicode(std::string_view name, const stopbit::view::Text& value) {
    key(name);
    quote(value.str(), true);
  }
  void unicode(std::string_view name, const std::optional<stopbit::view::Text>& value) {
    if (value) unicode(name, *value);
  }

  template <class Range, class Element>
  void sequence(std::string_view name, const Range& range, Element element) {
    key(name);
    out += '[';
    std::size_t count = 0;
    for (const auto& view : range) {
      if (count++ != 0) out += ',';
      object([&] { element(view); });
    }
    out += ']';
    if (count != range.size()) std::fprintf(stderr, "%zu elements of %zu\n", count, range.size());
  }
  template <class Range, class Element>
  void sequence(std::string_view name, const stopbit::view::OptionalRange<Range>& range, Element element) {
    if (range) sequence(name, static_cast<const Range&>(range), element);
  }

  template <class Group, class Body>
  void group(std::string_view name, const Group& view, Body body) {
    key(name);
    object([&] { body(view); });
  }
  template <class Group, class Body>
  void group(std::string_view name, const std::optional<Group>& view, Body body) {
    if (view) group(name, *view, body);
  }

  template <class Body>
  void object(Body body) {
    out += '{';
    body();
    out += '}';
  }

 private:
  void key(std::string_view name) {
    if (out.back() != '{') out += ',';
    quote(name, true);
    out += ':';
  }

  void quote(std::string_view text, bool is_utf8) {
    out += '"';
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || c == '"' || c == '\\' || (!is_utf8 && byte >= 0x80)) {
        char escaped[8];
        std::snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
        out += escaped;
      } else {
        out += c;
      }
    }
    out += '"';
  }

  template <class T>
  requires std::is_integral_v<T>
  void put(T value) { out += number(value); }
  void put(bool value) { out += value ? "true" : "false"; }
  void put(const stopbit::view::Decimal& value) {
    // Digits and point are set by hand: as a double the value would lose some.
    std::string digits = number(value.mantissa);
    const bool is_negative = digits.front() == '-';
    if (is_negative) digits.erase(0, 1);
    if (value.exponent < 0) {
      const auto fraction = static_cast<std::size_t>(-value.exponent);
      if (digits.size() <= fraction) digits.insert(0, fraction + 1 - digits.size(), '0');
      digits.insert(digits.size() - fraction, 1, '.');
    } else if (value.exponent > 0) {
      digits += 'e' + number(value.exponent);
    }
    out += (is_negative ? "-" : "") + digits;
  }
  void put(std::string_view value) { quote(value, false); }
  void put(const stopbit::view::Text& value) {
    stopbit::view::Text::Buffer buffer;
    quote(value.view(buffer), false);
  }
  void put(const stopbit::view::Bytes& value) {
    out += '"';
    stopbit::view::Bytes::Buffer buffer;
    for (const std::byte byte : value.view(buffer)) {
      char digits[3];
      std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned>(byte));
      out += digits;
    }
    out += '"';
  }
  template <class E>
  requires std::is_enum_v<E>
  void put(E value) { quote(text(value), true); }
};

/// Prints each message of the ring as a line: what replay prints. `Printer(Json&)` takes the views of Feed.
template <class Feed, class Printer>
int run(const char* name) {
  auto opened = stopbit::ring::Reader::open(name);
  if (!opened) return std::fprintf(stderr, "%s\n", opened.message().c_str()), 1;
  stopbit::ring::Reader& ring = opened.value();
  const auto feed = Feed::open(ring);
  if (!feed) return std::fprintf(stderr, "%s\n", feed.message().c_str()), 2;
  for (;;) {
    switch (ring.poll()) {
      case stopbit::ring::Poll::Nothing: return 0;
      case stopbit::ring::Poll::Lost:
      case stopbit::ring::Poll::Damaged: return std::fprintf(stderr, "the ring has lost records\n"), 3;
      case stopbit::ring::Poll::Record: break;
    }
    Json json;
    const auto error = feed.value().read(ring.record(), Printer{json});
    if (error != stopbit::record::ReadError::None || json.out.empty()) {
      return std::fprintf(stderr, "%s\n", std::string(stopbit::record::error_text(error)).c_str()), 4;
    }
    std::puts(json.out.c_str());
  }
}

}  // namespace reader
