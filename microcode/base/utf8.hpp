#pragma once

#include <cstddef>
#include <string_view>

namespace stopbit {

/// Bytes of the character at the front of the text; 0 if the text is empty or not UTF-8. Overlong forms, surrogates and
/// values above U+10FFFF are not UTF-8.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;
/// Decodes one character, whose size is known from utf8_length.
[[nodiscard]] char32_t utf8_value(std::string_view character) noexcept;
/// True if the text is UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace stopbit
