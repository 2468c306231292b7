#include "host/device/sim/feed.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace stopbit::sim {

Result<Feed> Feed::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return Failure{"the path of the feed's socket is too long"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Feed feed;
  feed.socket_ = os::Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!feed.socket_.ok() ||
      ::connect(feed.socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Failure{os::system_error("connect to", path)};
  }
  return feed;
}

bool Feed::send(std::span<const std::byte> packet, std::uint16_t socket, std::uint64_t arrival_ns) {
  if (packet.size() > kMaxFeedBytes) {
    errno = EMSGSIZE;
    return false;
  }
  FeedHeader header{.arrival_ns = arrival_ns, .socket = socket, .zero = {}};
  iovec parts[2] = {{&header, sizeof(header)}, {const_cast<std::byte*>(packet.data()), packet.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof(header) + packet.size());
}

std::vector<std::byte> Feed::receive() {
  std::vector<std::byte> message(sizeof(FeedHeader) + kMaxFeedBytes);
  const ssize_t got = ::recv(socket_.get(), message.data(), message.size(), MSG_DONTWAIT);
  if (got <= static_cast<ssize_t>(sizeof(FeedHeader))) return {};
  return {message.begin() + sizeof(FeedHeader), message.begin() + got};
}

}  // namespace stopbit::sim
