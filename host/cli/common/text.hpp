#pragma once

#include <string>
#include <string_view>

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

}  // namespace stopbit::tools
