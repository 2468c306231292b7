#pragma once

#include <sys/socket.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "host/nic/transport/address.hpp"

namespace stopbit::nic {

/// A host and a port, as a socket names them.
struct UdpEndpoint {
  HostAddress host;
  std::uint16_t port = 0;

  /// 127.0.0.0/8 or ::1.
  [[nodiscard]] bool is_loopback() const noexcept;
  /// fe80::/10, of which each interface has one.
  [[nodiscard]] bool is_link_local() const noexcept;
  [[nodiscard]] friend auto operator<=>(const UdpEndpoint&, const UdpEndpoint&) = default;
};

/// A socket address and its length, for system calls.
struct UdpSocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};
[[nodiscard]] UdpSocketAddress to_socket_address(const UdpEndpoint& endpoint) noexcept;
/// Nothing: neither IPv4 nor IPv6.
[[nodiscard]] std::optional<UdpEndpoint> to_endpoint(const sockaddr_storage& storage, socklen_t bytes) noexcept;
/// "10.1.2.3:5177", "[fd00::1]:5177"
[[nodiscard]] std::string to_text(const UdpEndpoint& endpoint);
/// Of HOST:PORT or [HOST]:PORT; asks the resolver, so it may wait.
[[nodiscard]] Result<UdpEndpoint> resolve(const std::string& text);

}  // namespace stopbit::nic
