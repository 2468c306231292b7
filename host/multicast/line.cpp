#include "host/multicast/line.hpp"

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "host/feed/packet/socket_address.hpp"
#include "host/os/shm/segment.hpp"

namespace stopbit::multicast {
namespace {

class SocketLine final : public Line {
 public:
  explicit SocketLine(os::Descriptor socket) noexcept : socket_(std::move(socket)) {}

  Outcome send(std::span<const std::byte> packet) noexcept override {
    for (;;) {
      if (::send(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return Outcome::Sent;
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == ENOBUFS) return Outcome::Full;
      error_ = errno;
      return Outcome::Refused;
    }
  }
  [[nodiscard]] int error() const noexcept override { return error_; }

 private:
  os::Descriptor socket_;
  int error_ = 0;
};

}  // namespace

Result<std::unique_ptr<Line>> open_line(const LineOptions& options) {
  const auto failure = [&](const std::string& what) {
    return Failure{"multicast to " + net::to_text(options.group) +
                   (options.interface.empty() ? "" : " through " + options.interface) + ": " + what + ": " +
                   std::strerror(errno)};
  };
  os::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return failure("socket");
  const auto set = [&](int level, int option, const auto& value) {
    return ::setsockopt(socket.get(), level, option, &value, sizeof(value)) == 0;
  };
  // The unprivileged call is limited by net.core.wmem_max: a smaller buffer is full earlier, which is counted.
  const int buffer = static_cast<int>(std::min<std::uint64_t>(options.buffer_bytes, INT_MAX / 2));
  if (!set(SOL_SOCKET, SO_SNDBUFFORCE, buffer) && !set(SOL_SOCKET, SO_SNDBUF, buffer)) return failure("buffer");
  if (!set(IPPROTO_IP, IP_MULTICAST_TTL, int{options.ttl})) return failure("ttl");
  if (!set(IPPROTO_IP, IP_MULTICAST_LOOP, static_cast<int>(options.loop))) return failure("loop");
  constexpr unsigned kDscpShift = 2;
  if (options.dscp != 0 && !set(IPPROTO_IP, IP_TOS, options.dscp << kDscpShift)) return failure("dscp");
  // Each router would send the parts of a longer datagram on their own, and the loss of one loses all.
  if (!set(IPPROTO_IP, IP_MTU_DISCOVER, int{IP_PMTUDISC_DO})) return failure("no fragments");
  if (!options.interface.empty()) {
    ip_mreqn request{};
    request.imr_ifindex = static_cast<int>(::if_nametoindex(options.interface.c_str()));
    if (request.imr_ifindex == 0 || !set(IPPROTO_IP, IP_MULTICAST_IF, request)) return failure("interface");
  }
  const sockaddr_in group = net::socket_address(options.group);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&group), sizeof(group)) != 0) return failure("connect");
  return std::unique_ptr<Line>(std::make_unique<SocketLine>(std::move(socket)));
}

}  // namespace stopbit::multicast
