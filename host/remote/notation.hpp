#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/remote/protocol.hpp"
#include "microcode/base/result.hpp"

/// Published rings and filters as people write them.
namespace stopbit::remote {

/// Where a ring is published: fabric://HOST:PORT/RING, shm://NETWORK/RING for one of this host and user, or
/// broker:SOCKET/RING for one of this host that its broker's entitlements give.
struct RingAddress {
  enum class Carrier : std::uint8_t { Fabric, Shm, Broker };
  Carrier carrier = Carrier::Fabric;
  std::string place;  ///< HOST:PORT, the network, or the socket.
  std::string ring;
};
/// Whether this is an address, and no name of a local ring.
[[nodiscard]] bool is_ring_address(std::string_view text) noexcept;
[[nodiscard]] Result<RingAddress> parse_ring_address(const std::string& text);

/// Each is a list "channel=7,template=30,FIELD=VALUE" of which all have to fit; one of the lists has to.
[[nodiscard]] Result<Filter> parse_filter(const std::vector<std::string>& patterns);

}  // namespace stopbit::remote
