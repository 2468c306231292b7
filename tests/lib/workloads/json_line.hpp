#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "decoder/record/text.hpp"

namespace stopbit::bench {

/// A message as the line that a decoder has to print of it. Fields in template order, constants included, absent ones
/// left out.
class JsonLine {
 public:
  void begin(std::string_view template_name, std::uint32_t id) {
    text_ = R"({"template":")";
    text_ += template_name;
    text_ += R"(","id":)";
    record::append_unsigned(text_, id);
    text_ += R"(,"fields":{)";
  }
  /// The line, without its line end; valid until begin.
  [[nodiscard]] std::string_view end() {
    text_ += "}}";
    return text_;
  }

  void number(std::string_view key, std::optional<std::int64_t> value) {
    if (!value) return;
    name(key);
    record::append_signed(text_, *value);
  }
  void unsigned_number(std::string_view key, std::optional<std::uint64_t> value) {
    if (!value) return;
    name(key);
    record::append_unsigned(text_, *value);
  }
  void decimal(std::string_view key, std::int64_t mantissa, std::int32_t exponent) {
    name(key);
    record::append_decimal(text_, mantissa, exponent);
  }
  void text(std::string_view key, std::optional<std::string_view> value) {
    if (!value) return;
    name(key);
    record::append_json_string(text_, *value, true);
  }

  void begin_sequence(std::string_view key) {
    name(key);
    text_ += '[';
  }
  void end_sequence() { text_ += ']'; }
  void begin_element() {
    if (text_.back() != '[') text_ += ',';
    text_ += '{';
  }
  void end_element() { text_ += '}'; }

 private:
  void name(std::string_view key) {
    if (text_.back() != '{') text_ += ',';
    text_ += '"';
    text_ += key;
    text_ += "\":";
  }

  std::string text_;
};

}  // namespace stopbit::bench
