#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "microcode/base/hex.hpp"

namespace stopbit::testing {

/// Two lower-case digits for each byte, with `between` between bytes.
[[nodiscard]] inline std::string hex(std::string_view bytes, std::string_view between = " ") {
  std::string text;
  for (const char byte : bytes) {
    if (!text.empty()) text += between;
    append_hex(text, static_cast<unsigned char>(byte), 2);
  }
  return text;
}
[[nodiscard]] inline std::string hex(std::span<const std::byte> bytes) {
  return hex(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace stopbit::testing
