#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/limits.hpp"

namespace stopbit::record {

/// A JSON value of a JsonLine. The content of a container follows it: its first member or element is at the next index,
/// each next one at `end` of the value before it.
struct JsonValue {
  enum class Kind : std::uint8_t { Null, False, True, Number, String, Array, Object };
  Kind kind = Kind::Null;
  std::uint32_t end = 0;     ///< Index after the value.
  std::uint32_t offset = 0;  ///< First byte in the line.
  std::string_view text;     ///< Number: as written. String: unescaped, UTF-8.
  std::string_view key;      ///< Of a member.
  std::uint32_t key_offset = 0;
};

/// Bounds of a line: no record's text comes near them.
inline constexpr std::size_t kMaxJsonLine = std::size_t{64} << 20;
inline constexpr std::size_t kMaxJsonValues = std::size_t{1} << 21;
inline constexpr std::size_t kMaxJsonDepth = (limits::kMaxCallDepth + 1) * (2 + 2 * limits::kMaxNodeDepth);

/// A line of JSON as a flat list of values, in the order of the text. Numbers keep their digits: a decimal's exponent
/// is in them. The line must outlive it. Memory is in proportion to the line and bounded, and kept for the next line.
class JsonLine {
 public:
  /// False if the line is not JSON or exceeds a bound.
  [[nodiscard]] bool parse(std::string_view line);

  [[nodiscard]] const JsonValue& at(std::size_t index) const noexcept { return values_[index]; }
  /// The whole line is value 0.
  [[nodiscard]] const JsonValue& root() const noexcept { return values_.front(); }

  /// After parse gave false: one sentence without a full stop, and the byte of the line it is about.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] std::size_t problem_offset() const noexcept { return problem_offset_; }

 private:
  class Handler;

  std::vector<JsonValue> values_;
  std::string strings_;  ///< Unescaped strings and keys. Never longer than the line, so that views into it stay valid.
  std::string problem_;
  std::size_t problem_offset_ = 0;
};

}  // namespace stopbit::record
