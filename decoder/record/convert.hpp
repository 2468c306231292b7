#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "decoder/wire/stop_bit.hpp"
#include "microcode/base/error_code.hpp"

/// Conversions between the types of an application and those of fields (FAST 1.1, section 6.3.9 and appendix 4): None,
/// or the code of the error.
namespace stopbit::record {

using wire::Int128;

/// A number as written: digits * 10^exponent.
struct NumberText {
  bool is_negative = false;
  std::string digits;         ///< Without leading zeros; empty is 0.
  std::int64_t exponent = 0;  ///< Saturates at +-10^6.
};

/// Reads -?digits, -?digits.digits, -?.digits, with e or E and an exponent if `may_have_exponent`. Returns false for
/// other text.
[[nodiscard]] bool read_number(std::string_view text, bool may_have_exponent, NumberText& out);

/// R5 if it has a fraction, R4 if it is outside [min, max].
[[nodiscard]] ErrorCode to_integer(const NumberText& number, Int128 min, Int128 max, Int128& out);

/// Digit by digit, so that 1.50 is 150 * 10^-2. R1 if the mantissa is not an int64 or the exponent is outside -63 to
/// 63.
[[nodiscard]] ErrorCode to_decimal(const NumberText& number, std::int64_t& mantissa, std::int32_t& exponent);

/// Hex digits, two a byte, white space anywhere between them. D11 otherwise.
[[nodiscard]] ErrorCode to_bytes(std::string_view hex, std::string& out);

/// A byte per character; R3 if one is above U+00FF. `utf8` must be well-formed. Characters from U+0080 on are bytes
/// that ASCII lacks; the encoder decides whether they may be sent.
[[nodiscard]] ErrorCode to_ascii(std::string_view utf8, std::string& out);

}  // namespace stopbit::record
