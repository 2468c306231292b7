#include "host/nic/transport/udp/sockets.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "host/os/error_text.hpp"

namespace stopbit::nic {
namespace {

constexpr int kBacklog = 64;

Failure failed(const std::string& what) {
  return Failure{what + ": " + os::error_text()};
}

os::Descriptor make(const UdpEndpoint& at, int type) {
  return os::Descriptor(::socket(at.host.is_ipv4() ? AF_INET : AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

Result<os::Descriptor> bound(const UdpEndpoint& at, int type) {
  os::Descriptor socket = make(at, type);
  if (!socket.ok()) return failed("cannot create a socket");
  const int yes = 1;
  if (type == SOCK_STREAM) (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (!at.host.is_ipv4()) (void)::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
  const UdpSocketAddress address = to_socket_address(at);
  if (::bind(socket.get(), address.get(), address.bytes) != 0) return failed("cannot use '" + to_text(at) + "'");
  return socket;
}

}  // namespace

Result<os::Descriptor> bind_udp(const UdpEndpoint& at) {
  return bound(at, SOCK_DGRAM);
}

Result<os::Descriptor> listen_tcp(const UdpEndpoint& at) {
  Result<os::Descriptor> socket = bound(at, SOCK_STREAM);
  if (socket && ::listen(socket.value().get(), kBacklog) != 0) return failed("cannot listen at '" + to_text(at) + "'");
  return socket;
}

Result<os::Descriptor> connect_tcp(const HostAddress& from, const UdpEndpoint& to) {
  Result<os::Descriptor> socket = bound({from, 0}, SOCK_STREAM);
  if (!socket) return socket;
  const int yes = 1;
  (void)::setsockopt(socket.value().get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  const UdpSocketAddress address = to_socket_address(to);
  if (::connect(socket.value().get(), address.get(), address.bytes) != 0 && errno != EINPROGRESS) {
    return failed("cannot connect to '" + to_text(to) + "'");
  }
  return socket;
}

os::Descriptor accept_tcp(int listener, UdpEndpoint& from) {
  UdpSocketAddress address;
  address.bytes = sizeof(address.storage);
  os::Descriptor socket(::accept4(listener, address.get(), &address.bytes, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.ok()) return {};
  const std::optional<UdpEndpoint> peer = to_endpoint(address.storage, address.bytes);
  if (!peer) return {};
  from = *peer;
  const int yes = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  return socket;
}

Result<UdpEndpoint> own_endpoint(int socket) {
  UdpSocketAddress address;
  address.bytes = sizeof(address.storage);
  if (::getsockname(socket, address.get(), &address.bytes) != 0) return failed("a socket has no address");
  const std::optional<UdpEndpoint> own = to_endpoint(address.storage, address.bytes);
  if (!own) return Failure{"a socket has neither an IPv4 nor an IPv6 address"};
  return *own;
}

Result<HostAddress> own_host_towards(const UdpEndpoint& to) {
  const os::Descriptor probe = make(to, SOCK_DGRAM);  // which sends nothing
  const UdpSocketAddress address = to_socket_address(to);
  if (!probe.ok() || ::connect(probe.get(), address.get(), address.bytes) != 0) {
    return failed("no way to '" + to_text(to) + "'");
  }
  Result<UdpEndpoint> own = own_endpoint(probe.get());
  if (!own) return own.failure();
  return own.value().host;
}

}  // namespace stopbit::nic
