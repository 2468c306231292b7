#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/remote/protocol.hpp"
#include "microcode/base/result.hpp"

/// Notation of published rings and filters, as on the command line.
namespace stopbit::remote {

/// Address of a published ring: udp://HOST:PORT/RING or fabric://HOST:PORT/RING of any host, shm://NETWORK/RING for a
/// ring of this host and user, or broker:SOCKET/RING for a ring of this host that the broker's entitlements allow.
struct RingAddress {
  enum class Carrier : std::uint8_t { Fabric, Udp, Shm, Broker };
  Carrier carrier = Carrier::Fabric;
  std::string place;  ///< HOST:PORT, the network, or the socket.
  std::string ring;
};
/// Whether the text is an address, not the name of a local ring.
[[nodiscard]] bool is_ring_address(std::string_view text) noexcept;
[[nodiscard]] Result<RingAddress> parse_ring_address(const std::string& text);

/// Each text is a list "channel=7,template=30,FIELD=VALUE" whose conditions all have to match; one of the lists has to
/// match.
[[nodiscard]] Result<Filter> parse_filter(const std::vector<std::string>& patterns);

}  // namespace stopbit::remote
