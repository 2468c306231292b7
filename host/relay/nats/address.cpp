#include <algorithm>

#include "host/relay/nats/nats.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::relay {
namespace {

constexpr std::string_view kScheme = "nats://";
constexpr std::size_t kMaxName = 200;  ///< The server makes folders of these names.

bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// HOST, HOST:PORT, [V6] or [V6]:PORT
bool is_host(std::string_view text) noexcept {
  if (text.size() > kMaxName) return false;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    const std::string_view inner = text.substr(1, end - 1);
    port = text.substr(end + 1);
    const auto is_v6 = [](char c) { return is_word(c) || c == ':' || c == '.' || c == '%'; };
    if (inner.empty() || !std::all_of(inner.begin(), inner.end(), is_v6)) return false;
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view host = text.substr(0, colon);
    port = text.substr(colon);
    if (host.empty() || !std::all_of(host.begin(), host.end(), [](char c) { return is_word(c) || c == '.'; }))
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

}  // namespace

bool is_nats_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMaxName && std::all_of(text.begin(), text.end(), is_word);
}

bool is_nats_address(std::string_view text) noexcept {
  return text.starts_with(kScheme);
}

Result<NatsAddress> parse_nats_address(const std::string& text) {
  const std::string_view rest = is_nats_address(text) ? std::string_view(text).substr(kScheme.size()) : "";
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view host = rest.substr(0, slash);
  const std::string_view stream = slash < rest.size() ? rest.substr(slash + 1) : "";
  // A password in an address would be in the list of processes.
  if (host.find('@') != std::string_view::npos) {
    return Failure{
        "an address has no user and no password; use --nats-user and --password-file, --token-file "
        "or --credentials"};
  }
  if (!is_host(host) || !is_nats_name(stream)) {
    return Failure{"'" + printable(text) +
                   "' is not nats://HOST[:PORT]/STREAM, with letters, digits, '_' and '-' in the stream's name"};
  }
  return NatsAddress{std::string(kScheme) + std::string(host), std::string(stream)};
}

}  // namespace stopbit::relay
