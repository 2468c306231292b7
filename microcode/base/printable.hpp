#pragma once

#include <string>
#include <string_view>

namespace stopbit {

/// Whether a character moves the cursor, hides or reorders neighbouring characters, or is invisible: controls (C0, DEL,
/// C1), bidirectional and zero-width characters, line separators, tags.
[[nodiscard]] bool disturbs_terminal(char32_t character) noexcept;

/// Untrusted text (names, strings, paths) for people: one line of UTF-8 that a terminal shows as it is. Unsafe
/// characters become "\x1b" or "\u202e", a byte that is not UTF-8 becomes "\xff". For people only: JSON has
/// append_json_string.
[[nodiscard]] std::string printable(std::string_view text);
/// Likewise, for a text of several lines.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace stopbit
