#pragma once

#include <cstddef>
#include <string_view>

namespace stopbit {

/// Bytes of the character at the front of the text; 0 if there is none, or it is not UTF-8: overlong forms, surrogates
/// and values above U+10FFFF are not.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;
/// The character that the text is, of which utf8_length has said the size.
[[nodiscard]] char32_t utf8_value(std::string_view character) noexcept;
/// True if the text is UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace stopbit
