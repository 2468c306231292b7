#include "microcode/base/printable.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "microcode/base/hex.hpp"
#include "microcode/base/utf8.hpp"

namespace stopbit {
namespace {

/// First and last, in order.
constexpr std::array<std::pair<char32_t, char32_t>, 17> kDisturbing = {{
    {0x00, 0x1F},        // C0
    {0x7F, 0x9F},        // DEL, C1
    {0xAD, 0xAD},        // soft hyphen
    {0x34F, 0x34F},      // combining grapheme joiner
    {0x61C, 0x61C},      // Arabic letter mark
    {0x115F, 0x1160},    // fillers
    {0x17B4, 0x17B5},    // inherent vowels, not seen
    {0x180B, 0x180F},    // Mongolian selectors and separator
    {0x200B, 0x200F},    // zero width, directional marks
    {0x2028, 0x202E},    // line and paragraph separator, embeddings and overrides
    {0x2060, 0x206F},    // joiner, invisible operators, isolates
    {0x3164, 0x3164},    // filler
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // filler
    {0xFFF9, 0xFFFB},    // interlinear annotation
    {0x1D173, 0x1D17A},  // musical controls
    {0xE0000, 0xE0FFF},  // tags, selectors
}};

std::string printable(std::string_view text, bool keeps_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(bytes, 1));
    text.remove_prefix(character.size());
    if (bytes == 0) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(character.front()), 2);
      continue;
    }
    const char32_t value = utf8_value(character);
    if (!disturbs_terminal(value) || (keeps_lines && value == '\n')) {
      out += character;
      continue;
    }
    constexpr char32_t kLastAscii = 0x7F;
    constexpr char32_t kLastShort = 0xFFFF;
    out += value <= kLastAscii ? "\\x" : value <= kLastShort ? "\\u" : "\\U";
    append_hex(out, value, value <= kLastAscii ? 2 : value <= kLastShort ? 4 : 8);
  }
  return out;
}

}  // namespace

bool disturbs_terminal(char32_t character) noexcept {
  const auto* const range = std::lower_bound(kDisturbing.begin(), kDisturbing.end(), character,
                                             [](const auto& each, char32_t value) { return each.second < value; });
  return range != kDisturbing.end() && range->first <= character;
}

std::string printable(std::string_view text) {
  return printable(text, false);
}

std::string printable_lines(std::string_view text) {
  return printable(text, true);
}

}  // namespace stopbit
