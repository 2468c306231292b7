#include "host/monitor/control/host_rule.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "host/feed/packet/packet.hpp"

namespace stopbit::control {
namespace {

constexpr std::string_view kHostCharacters = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
constexpr std::uint32_t kLoopback = 127;

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && rest == end;
}

bool is_local(const std::string& host) {
  if (host == "localhost" || host == "[::1]") return true;
  const auto endpoint = net::parse_endpoint(host + ":1");
  return endpoint && endpoint.value().address >> 24 == kLoopback;
}

}  // namespace

std::string host_of(std::string_view authority) {
  std::string host = lower(authority);
  // A colon within brackets belongs to the address.
  const std::size_t colon = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  if (colon != std::string::npos) {
    if (!is_port(std::string_view(host).substr(colon + 1))) return {};
    host.resize(colon);
  }
  if (host.starts_with('[')) {
    if (host.size() < 2 || host.find_first_not_of("0123456789abcdef:.", 1) != host.size() - 1) return {};
    return host.back() == ']' ? host : std::string();
  }
  if (host.ends_with('.')) host.pop_back();
  return host.find_first_not_of(kHostCharacters) == std::string::npos ? host : std::string();
}

HostRule::HostRule(std::uint32_t address, std::vector<std::string> allowed, bool is_open)
    : allowed_(std::move(allowed)), is_open_(is_open && allowed_.empty()) {
  address_ = net::to_text(net::Endpoint{.address = address, .port = 0});
  address_.resize(address_.find(':'));
  for (std::string& host : allowed_) host = host_of(host);
}

bool HostRule::answers(std::string_view authority) const {
  const std::string host = host_of(authority);
  if (host.empty()) return false;
  return is_open_ || is_local(host) || host == address_ ||
         std::find(allowed_.begin(), allowed_.end(), host) != allowed_.end();
}

bool HostRule::accepts(std::string_view origin, std::string_view authority) const {
  const std::size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return false;  // "null": a page that hides where it comes from
  const std::string_view from = origin.substr(scheme + 3);
  const std::string host = host_of(from);
  if (host.empty()) return false;
  return lower(from) == lower(authority) || std::find(allowed_.begin(), allowed_.end(), host) != allowed_.end();
}

}  // namespace stopbit::control
