#include "host/nic/transport/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace stopbit::nic {
namespace {

constexpr std::size_t kIpv4At = 12;
constexpr std::array<std::uint8_t, kIpv4At> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

HostAddress from_ipv4(const in_addr& address) noexcept {
  HostAddress host;
  std::copy(kMapped.begin(), kMapped.end(), host.bytes.begin());
  std::memcpy(host.bytes.data() + kIpv4At, &address, sizeof(address));
  return host;
}

/// The first `bits` of it.
HostAddress cut(HostAddress address, unsigned bits) noexcept {
  for (std::size_t i = 0; i < address.bytes.size(); ++i) {
    const unsigned kept = std::min(8U, bits - std::min(bits, static_cast<unsigned>(8 * i)));
    address.bytes[i] = static_cast<std::uint8_t>(address.bytes[i] & (0xFF00U >> kept));
  }
  return address;
}

}  // namespace

bool HostAddress::is_ipv4() const noexcept {
  return std::equal(kMapped.begin(), kMapped.end(), bytes.begin());
}

HostAddress HostAddress::customer() const noexcept {
  constexpr unsigned kNetworkBits = 64;
  return is_ipv4() ? *this : cut(*this, kNetworkBits);
}

std::string to_text(const HostAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_ipv4 = address.is_ipv4();
  (void)::inet_ntop(is_ipv4 ? AF_INET : AF_INET6, address.bytes.data() + (is_ipv4 ? kIpv4At : 0), text.data(),
                    static_cast<socklen_t>(text.size()));
  return text.data();
}

std::optional<HostAddress> host_of(std::span<const std::byte> socket_address) noexcept {
  sockaddr_storage storage{};
  std::copy_n(socket_address.begin(), std::min(socket_address.size(), sizeof(storage)),
              std::as_writable_bytes(std::span(&storage, 1)).begin());
  if (storage.ss_family == AF_INET && socket_address.size() >= sizeof(sockaddr_in)) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &storage, sizeof(ipv4));
    return from_ipv4(ipv4.sin_addr);
  }
  if (storage.ss_family == AF_INET6 && socket_address.size() >= sizeof(sockaddr_in6)) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &storage, sizeof(ipv6));
    HostAddress host;
    std::memcpy(host.bytes.data(), &ipv6.sin6_addr, host.bytes.size());
    return host;
  }
  return std::nullopt;
}

bool AddressPrefix::covers(const HostAddress& other) const noexcept {
  return address.is_ipv4() == other.is_ipv4() && cut(other, bits) == address;
}

Result<AddressPrefix> parse_prefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string host(text.substr(0, slash));
  AddressPrefix prefix;
  in_addr ipv4{};
  in6_addr ipv6{};
  if (::inet_pton(AF_INET, host.c_str(), &ipv4) == 1) {
    prefix.address = from_ipv4(ipv4);
  } else if (::inet_pton(AF_INET6, host.c_str(), &ipv6) == 1) {
    std::memcpy(prefix.address.bytes.data(), &ipv6, prefix.address.bytes.size());
  } else {
    return Failure{"'" + std::string(text) + "' is not an address or a prefix, like 10.1.2.3, 10.1.0.0/16 or fd00::/8"};
  }
  if (slash == std::string_view::npos) return prefix;
  const std::string_view number = text.substr(slash + 1);
  // A prefix written as IPv6 counts bits as IPv6, even if the address is mapped IPv4.
  const bool is_ipv4 = host.find(':') == std::string::npos;
  const unsigned most = is_ipv4 ? 32 : 128;
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bits);
  if (error != std::errc() || end != number.data() + number.size() || bits > most) {
    return Failure{"'" + std::string(text) + "': the length after the / must be 0 to " + std::to_string(most) +
                   " bits"};
  }
  prefix.bits = is_ipv4 ? bits + 8 * kIpv4At : bits;
  if (const HostAddress first = cut(prefix.address, prefix.bits); first != prefix.address) {
    return Failure{"'" + std::string(text) + "' has bits after its prefix, which begins at " + to_text(first)};
  }
  return prefix;
}

}  // namespace stopbit::nic
