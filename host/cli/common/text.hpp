#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/text.hpp"

namespace stopbit::tools {

/// With quotes, as JSON.
[[nodiscard]] inline std::string json(std::string_view text) {
  std::string out;
  record::append_json_string(out, text, false);
  return out;
}

/// Names come from untrusted files: they must not disturb a terminal or a line.
[[nodiscard]] inline std::string plain(std::string_view text) {
  const std::string quoted = json(text);
  return quoted.substr(1, quoted.size() - 2);
}

[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace stopbit::tools
