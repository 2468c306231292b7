#include "host/nic/transport/udp/endpoint.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

namespace stopbit::nic {
namespace {

constexpr std::size_t kIpv4At = 12;
constexpr std::uint8_t kLoopbackNet = 127;

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

}  // namespace

bool UdpEndpoint::is_loopback() const noexcept {
  if (host.is_ipv4()) return host.bytes[kIpv4At] == kLoopbackNet;
  return host.bytes.back() == 1 &&
         std::all_of(host.bytes.begin(), host.bytes.end() - 1, [](std::uint8_t byte) { return byte == 0; });
}

bool UdpEndpoint::is_link_local() const noexcept {
  constexpr std::uint8_t kFirst = 0xFE;
  constexpr std::uint8_t kSecond = 0x80;
  constexpr std::uint8_t kSecondBits = 0xC0;
  return host.bytes[0] == kFirst && (host.bytes[1] & kSecondBits) == kSecond;
}

UdpSocketAddress to_socket_address(const UdpEndpoint& endpoint) noexcept {
  UdpSocketAddress address;
  if (endpoint.host.is_ipv4()) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(endpoint.port);
    std::memcpy(&ipv4.sin_addr, endpoint.host.bytes.data() + kIpv4At, sizeof(ipv4.sin_addr));
    std::memcpy(&address.storage, &ipv4, sizeof(ipv4));
    address.bytes = sizeof(ipv4);
  } else {
    sockaddr_in6 ipv6{};
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(endpoint.port);
    std::memcpy(&ipv6.sin6_addr, endpoint.host.bytes.data(), endpoint.host.bytes.size());
    std::memcpy(&address.storage, &ipv6, sizeof(ipv6));
    address.bytes = sizeof(ipv6);
  }
  return address;
}

std::optional<UdpEndpoint> to_endpoint(const sockaddr_storage& storage, socklen_t bytes) noexcept {
  const auto known = std::min<std::size_t>(bytes, sizeof(storage));
  const std::optional<HostAddress> host = host_of(std::as_bytes(std::span(&storage, 1)).first(known));
  if (!host) return std::nullopt;
  // The port has the same place in both.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  sockaddr_in head{};
  std::memcpy(&head, &storage, sizeof(head));
  return UdpEndpoint{*host, ntohs(head.sin_port)};
}

std::string to_text(const UdpEndpoint& endpoint) {
  const std::string host = to_text(endpoint.host);
  return (endpoint.host.is_ipv4() ? host : "[" + host + "]") + ":" + std::to_string(endpoint.port);
}

Result<UdpEndpoint> resolve(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    host.clear();
  }
  if (colon == std::string::npos || host.empty()) return Failure{"'" + text + "' is not HOST:PORT or [HOST]:PORT"};
  const std::string port = text.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [end, error_code] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error_code != std::errc() || end != port.data() + port.size()) {
    return Failure{"'" + text + "': the port must be a number up to 65535"};
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return Failure{"'" + text + "' has no address: " + ::gai_strerror(error)};
  }
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  for (const addrinfo* each = list.get(); each != nullptr; each = each->ai_next) {
    sockaddr_storage storage{};
    std::memcpy(&storage, each->ai_addr, std::min<std::size_t>(each->ai_addrlen, sizeof(storage)));
    const std::optional<UdpEndpoint> endpoint = to_endpoint(storage, each->ai_addrlen);
    if (!endpoint) continue;
    if (endpoint->is_link_local()) {
      return Failure{"'" + text + "' is an IPv6 address of one link, which needs an interface: use another address"};
    }
    return *endpoint;
  }
  return Failure{"'" + text + "' has neither an IPv4 nor an IPv6 address"};
}

}  // namespace stopbit::nic
