#pragma once

#include <string>
#include <string_view>

/// Manual pages: text as roff.
namespace stopbit::tools {

/// No character of the text is taken for markup.
[[nodiscard]] std::string roff(std::string_view text);
/// Paragraphs; lines that begin with a blank are shown as they are.
[[nodiscard]] std::string roff_paragraphs(std::string_view text);
/// Lines that are shown as they are, indented.
[[nodiscard]] std::string roff_literal(std::string_view text);
/// What a page begins with.
[[nodiscard]] std::string roff_head(std::string_view name, int section, std::string_view summary);

}  // namespace stopbit::tools
