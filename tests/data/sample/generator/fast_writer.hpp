#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stopbit::sample {

/// A decimal number: mantissa * 10^exponent.
struct Decimal {
  std::int64_t mantissa = 0;
  std::int32_t exponent = 0;
};

/// Encodes messages field by field, as the operators of their template say, and writes down beside them what a decoder
/// has to find: one JSON line a message. Just enough of FAST for the templates of the sample.
///
/// Fields are written in template order. The method names the operator; `initial` is the template's value. Values are
/// remembered by field name (the global dictionary) until reset().
class FastWriter {
 public:
  /// Forgets all previous values: a new datagram.
  void reset() { previous_.clear(); }

  void begin_message(std::uint32_t id, std::string_view name, bool resets = false);
  /// The bytes of the message; `json()` is complete then.
  std::string end_message();
  [[nodiscard]] const std::string& json() const { return json_; }

  // A constant is not on the wire. Strings are ASCII unless said otherwise.
  void constant(std::string_view name, std::string_view value);
  void plain(std::string_view name, std::uint64_t value);
  void plain(std::string_view name, std::string_view value);
  void plain_unicode(std::string_view name, std::string_view value);
  void plain(std::string_view name, Decimal value);
  void plain_optional(std::string_view name, std::optional<std::uint64_t> value);
  void plain_optional(std::string_view name, std::optional<std::string_view> value);
  void plain_optional(std::string_view name, std::optional<Decimal> value);
  void with_default(std::string_view name, std::uint64_t value, std::uint64_t initial);
  void with_default(std::string_view name, std::string_view value, std::string_view initial);
  void with_default_optional(std::string_view name, std::optional<std::uint64_t> value, std::uint64_t initial);
  void with_default_optional(std::string_view name, std::optional<std::string_view> value, std::string_view initial);
  void copied(std::string_view name, std::uint64_t value, std::optional<std::uint64_t> initial = {});
  void copied_signed(std::string_view name, std::int64_t value, std::int64_t initial);
  void copied(std::string_view name, std::string_view value, std::optional<std::string_view> initial = {});
  void incremented(std::string_view name, std::uint64_t value);
  void delta(std::string_view name, std::uint64_t value);
  void delta_optional(std::string_view name, std::optional<std::uint64_t> value);
  void delta(std::string_view name, Decimal value);
  /// Exponent with default `initial_exponent`, mantissa with delta.
  void split_decimal(std::string_view name, Decimal value, std::int32_t initial_exponent);
  void tail(std::string_view name, std::string_view value);

  void begin_group(std::string_view name, bool present);  ///< Optional groups. If not present, end_group is not called.
  void end_group();
  void begin_sequence(std::string_view name, std::uint32_t count);
  void begin_optional_sequence(std::string_view name, std::optional<std::uint32_t> count);
  void end_sequence();
  void begin_element();
  void end_element();

 private:
  /// A presence map and what follows it. It has a map only if something in it takes a bit.
  struct Segment {
    std::vector<bool> bits;
    std::string body;
    [[nodiscard]] std::string bytes() const;
  };
  struct Previous {
    std::optional<std::int64_t> number;
    std::optional<std::string> text;
    std::optional<std::int32_t> exponent;
  };

  Segment& segment() { return segments_.back(); }
  void pop_segment();
  void put_unsigned(std::uint64_t value);
  void put_signed(std::int64_t value);
  void put_nullable(std::optional<std::uint64_t> value);
  void put_text(std::string_view value);
  void put_nullable_text(std::optional<std::string_view> value);
  Previous& previous(std::string_view name) { return previous_[std::string(name)]; }

  void json_name(std::string_view name);
  void json_number(std::string_view name, std::uint64_t value);
  void json_text(std::string_view name, std::string_view value);
  void json_decimal(std::string_view name, Decimal value);

  std::vector<Segment> segments_;
  std::map<std::string, Previous, std::less<>> previous_;
  std::string json_;
};

}  // namespace stopbit::sample
