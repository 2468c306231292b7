#pragma once

#include <string_view>

namespace stopbit::relay {

/// Whether the text is HOST, HOST:PORT, [V6] or [V6]:PORT.
[[nodiscard]] bool is_server_name(std::string_view text) noexcept;
/// Letters, digits, '_' and '-'.
[[nodiscard]] bool is_name_character(char c) noexcept;

}  // namespace stopbit::relay
