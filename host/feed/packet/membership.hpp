#pragma once

#include <cstdint>
#include <optional>

#include "host/feed/packet/packet.hpp"

namespace stopbit::net {

/// Requirements of a channel's line.
struct Membership {
  Endpoint group;                       ///< Multicast group, or an address of this machine, and the UDP port.
  std::optional<std::uint32_t> source;  ///< Only from this address (IGMPv3); nothing = from any (IGMPv2 style).
  friend bool operator==(const Membership&, const Membership&) = default;
};

}  // namespace stopbit::net
