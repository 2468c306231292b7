#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace stopbit::fix {

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

/// What every message has after BodyLength.
struct FixHeader {
  std::string_view type;  ///< MsgType.
  std::string_view sender;
  std::string_view target;
  std::uint64_t number = 0;  ///< MsgSeqNum.
  std::string_view time;     ///< SendingTime.
};
/// The same with a header, and at most 11 fields after it.
[[nodiscard]] std::size_t write_message(std::span<char> to, std::string_view begin_string, const FixHeader& header,
                                        std::span<const FixField> more) noexcept;

/// The bytes of the FIX message that is first in these; nothing: they do not show it yet; 0: no message with this
/// BeginString begins like this.
[[nodiscard]] std::optional<std::uint64_t> fix_frame(std::span<const std::byte> bytes,
                                                     std::string_view begin_string) noexcept;
/// Whether a whole frame ends with its CheckSum.
[[nodiscard]] bool has_right_sum(std::span<const std::byte> frame) noexcept;
/// MsgType of a whole frame, the first field after BodyLength; empty: it is not there.
[[nodiscard]] std::string_view type_of(std::span<const std::byte> frame) noexcept;
/// A value that is a number, without sign.
[[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view value) noexcept;

/// Reads the fields of a FIX message, one after the other. RawData (96) directly after RawDataLength (95) may have any
/// bytes.
class FixReader {
 public:
  explicit FixReader(std::span<const std::byte> frame, std::size_t at = 0) noexcept : frame_(frame), at_(at) {}
  /// Nothing: no field is left, or the rest is none.
  [[nodiscard]] std::optional<FixField> next() noexcept;
  /// Of the next field.
  [[nodiscard]] std::size_t at() const noexcept { return at_; }

 private:
  std::span<const std::byte> frame_;
  std::size_t at_;
  std::optional<std::uint64_t> data_bytes_;  ///< What the last field says, if it was RawDataLength.
};

/// A number or a time as the value of a field, in memory of its own.
class FixText {
 public:
  [[nodiscard]] static FixText number(std::uint64_t value) noexcept;
  /// UTC, "20190404-08:36:00.123".
  [[nodiscard]] static FixText time(std::uint64_t wall_ns) noexcept;
  /// The same without fractions of a second.
  [[nodiscard]] static FixText second(std::uint64_t wall_ns) noexcept;
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 32> text_{};
  std::size_t size_ = 0;
};

}  // namespace stopbit::fix
