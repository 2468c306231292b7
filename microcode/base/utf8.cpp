#include "microcode/base/utf8.hpp"

namespace stopbit {

std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : lead >= 0xE0 && lead <= 0xEF ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  // Overlong forms, surrogates and what lies above U+10FFFF show in the second byte.
  const unsigned low = lead == 0xE0 ? 0xA0U : lead == 0xF0 ? 0x90U : 0x80U;
  const unsigned high = lead == 0xED ? 0x9FU : lead == 0xF4 ? 0x8FU : 0xBFU;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  return length;
}

char32_t utf8_value(std::string_view character) noexcept {
  if (character.empty()) return 0;
  const auto lead = static_cast<unsigned char>(character.front());
  char32_t value = character.size() == 1 ? lead : lead & (0x7FU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) {
    value = value << 6 | (static_cast<unsigned char>(character[i]) & 0x3FU);
  }
  return value;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = static_cast<unsigned char>(text.front()) < 0x80 ? 1 : utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace stopbit
