#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What a sender would write, byte by byte. Made from the rules of the encoding and nothing else: it shares no line
/// with the decoder, so that a mistake in one of them shows. Written to be read, not to be fast.
namespace stopbit::cases {

__extension__ typedef __int128 Int128;  ///< Nullable and delta values need up to 66 bits.

using Bytes = std::vector<std::uint8_t>;

/// Stop-bit integer in two's complement, `redundant` sign bytes in front of the shortest form.
[[nodiscard]] Bytes encode_signed(Int128 value, std::size_t redundant = 0);

/// Stop-bit integer without sign; `value` must not be negative.
[[nodiscard]] Bytes encode_unsigned(Int128 value, std::size_t redundant = 0);

/// Moves a value to its nullable form: NULL is 0, what is not negative goes up by one.
[[nodiscard]] Int128 to_nullable(std::optional<Int128> value);

/// Shortest presence map with these bits ('0' and '1').
[[nodiscard]] Bytes encode_presence_map(std::string_view bits);

/// Nothing if the form cannot say it: a character above 0x7F, or a zero followed by more characters. `text` absent =
/// NULL.
[[nodiscard]] std::optional<Bytes> encode_ascii(std::optional<std::string_view> text, bool nullable);

/// Length and bytes: byte vectors and Unicode strings. `text` absent = NULL.
[[nodiscard]] Bytes encode_vector(std::optional<std::string_view> text, bool nullable);

/// A bit group: values with their widths, packed from the first data bit, zeros after the last.
[[nodiscard]] Bytes encode_bits(const std::vector<std::pair<unsigned, Int128>>& fields);

}  // namespace stopbit::cases
