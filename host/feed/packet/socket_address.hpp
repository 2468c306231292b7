#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include "host/feed/packet/packet.hpp"

namespace stopbit::net {

/// An endpoint as the kernel's calls take it.
[[nodiscard]] inline sockaddr_in socket_address(Endpoint endpoint) noexcept {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  address.sin_addr.s_addr = htonl(endpoint.address);
  return address;
}

}  // namespace stopbit::net
