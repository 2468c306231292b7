#pragma once

#include "host/nic/transport/udp/endpoint.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// Sockets that never wait.
[[nodiscard]] Result<os::Descriptor> bind_udp(const UdpEndpoint& at);
[[nodiscard]] Result<os::Descriptor> listen_tcp(const UdpEndpoint& at);
/// Connecting, from that host.
[[nodiscard]] Result<os::Descriptor> connect_tcp(const HostAddress& from, const UdpEndpoint& to);
/// A connection that has come, and its other end. No descriptor: there is none now.
[[nodiscard]] os::Descriptor accept_tcp(int listener, UdpEndpoint& from);
[[nodiscard]] Result<UdpEndpoint> own_endpoint(int socket);
/// The address from which this host reaches another.
[[nodiscard]] Result<HostAddress> own_host_towards(const UdpEndpoint& to);

}  // namespace stopbit::nic
