#pragma once

#include <string_view>

namespace stopbit {

/// True if the text is UTF-8, without overlong forms, surrogates and values above U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace stopbit
