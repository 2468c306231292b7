#include "host/monitor/control/query.hpp"

#include <algorithm>

#include "microcode/base/hex.hpp"

namespace stopbit::control {

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), item.size() + 1));
    if (!item.starts_with(name) || item.substr(name.size(), 1) != "=") continue;
    const std::string_view text = item.substr(name.size() + 1);
    std::string value;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool is_escape =
          text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
      if (is_escape) {
        value += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
        i += 2;
      } else {
        value += text[i] == '+' ? ' ' : text[i];
      }
    }
    return value;
  }
  return {};
}

}  // namespace stopbit::control
