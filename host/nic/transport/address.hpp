#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// Of a host: IPv6, or IPv4 as IPv6 maps it (::ffff:a.b.c.d), so that each has one form.
struct HostAddress {
  std::array<std::uint8_t, 16> bytes{};

  [[nodiscard]] bool is_ipv4() const noexcept;
  /// What one customer has: an IPv4 address, or an IPv6 network of 64 bits, of which any host may take any address.
  [[nodiscard]] HostAddress customer() const noexcept;
  [[nodiscard]] friend auto operator<=>(const HostAddress&, const HostAddress&) = default;
};
/// "10.1.2.3", "fd00::1"
[[nodiscard]] std::string to_text(const HostAddress& address);
/// Of a sockaddr_in or sockaddr_in6, byte for byte; nothing: it is neither.
[[nodiscard]] std::optional<HostAddress> host_of(std::span<const std::byte> socket_address) noexcept;

/// All addresses that begin like one.
struct AddressPrefix {
  HostAddress address;
  unsigned bits = 128;  ///< That count; of IPv4 96 more.

  /// An IPv6 prefix never covers an IPv4 address.
  [[nodiscard]] bool covers(const HostAddress& other) const noexcept;
};
/// "10.1.2.3", "10.1.0.0/16", "fd00::/8". Bits after the prefix are 0.
[[nodiscard]] Result<AddressPrefix> parse_prefix(std::string_view text);

}  // namespace stopbit::nic
