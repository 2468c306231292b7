#include "host/appliance/listening.hpp"

#include "host/nic/transport/udp/sockets.hpp"

namespace stopbit::appliance {

Listening look_at(const std::string& listen) {
  Listening found;
  const Result<nic::UdpEndpoint> at = nic::resolve(listen);
  if (!at) {
    found.why = at.message();
    return found;
  }
  if (const auto any_port = nic::bind_udp({at.value().host, 0}); !any_port) {
    found.why = any_port.message();
    return found;
  }
  found.is_here = true;
  const auto datagrams = nic::bind_udp(at.value());
  const auto connections = nic::listen_tcp(at.value());
  found.is_free = datagrams && connections;
  if (!found.is_free) found.why = datagrams ? connections.message() : datagrams.message();
  return found;
}

}  // namespace stopbit::appliance
