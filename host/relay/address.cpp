#include "host/relay/address.hpp"

#include <algorithm>
#include <cstddef>

namespace stopbit::relay {
namespace {

constexpr std::size_t kMaxServerName = 200;

}  // namespace

bool is_name_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool is_server_name(std::string_view text) noexcept {
  if (text.size() > kMaxServerName) return false;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    const std::string_view inner = text.substr(1, end - 1);
    port = text.substr(end + 1);
    const auto is_v6 = [](char c) { return is_name_character(c) || c == ':' || c == '.' || c == '%'; };
    if (inner.empty() || !std::all_of(inner.begin(), inner.end(), is_v6)) return false;
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view host = text.substr(0, colon);
    port = text.substr(colon);
    if (host.empty() || !std::all_of(host.begin(), host.end(), [](char c) { return is_name_character(c) || c == '.'; }))
      return false;
  }
  if (port.empty()) return true;
  port.remove_prefix(1);
  unsigned number = 0;
  for (const char c : port) {
    if (c < '0' || c > '9' || (number = number * 10 + static_cast<unsigned>(c - '0')) > 65'535) return false;
  }
  return number != 0;
}

}  // namespace stopbit::relay
