#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace stopbit::refill {

/// A field of a FIX message in tag=value form.
struct FixField {
  std::uint32_t tag = 0;
  std::string_view value;
};

/// Whether the text can be the value of a field: printable ASCII, not empty, at most 64 bytes.
[[nodiscard]] bool is_fix_value(std::string_view text) noexcept;

/// Writes BeginString, BodyLength, the fields, and CheckSum. Returns the bytes written; 0: they do not fit.
[[nodiscard]] std::size_t write_fix(std::span<char> to, std::string_view begin_string,
                                    std::span<const FixField> fields) noexcept;

/// A number or a time as the value of a field, in memory of its own.
class FixText {
 public:
  [[nodiscard]] static FixText number(std::uint64_t value) noexcept;
  /// UTC, "20190404-08:36:00.123".
  [[nodiscard]] static FixText time(std::uint64_t wall_ns) noexcept;
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 32> text_{};
  std::size_t size_ = 0;
};

}  // namespace stopbit::refill
