#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stopbit::feed {

inline constexpr std::size_t kMaxNameBytes = 200;

/// A name from an exchange's file as a TOML string may hold it: ASCII, cut at kMaxNameBytes.
[[nodiscard]] inline std::string name_text(std::string_view text) {
  std::string out(text.substr(0, kMaxNameBytes));
  for (char& c : out) c = c < ' ' || c > '~' ? '?' : c;
  return out;
}

}  // namespace stopbit::feed
