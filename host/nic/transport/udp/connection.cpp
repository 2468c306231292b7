#include "host/nic/transport/udp/connection.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace stopbit::nic {
namespace {

constexpr std::size_t kReadBytes = 4096;  ///< Per pump.
constexpr std::size_t kMessages = 64;     ///< Per pump.

}  // namespace

void UdpConnection::pump(std::uint64_t now_ns) {
  const bool is_behind = messages_left_ == 0;  // messages that have come are waiting, so no more are taken in
  messages_left_ = kMessages;
  if (!is_closed_) flush();
  if (is_closed_ || is_behind) return;
  std::array<std::byte, kReadBytes> bytes;
  const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got > 0) {
    has_connected_ = true;
    heard_ns_ = now_ns;
    stream_.take(std::span(bytes).first(static_cast<std::size_t>(got)));
    flush();  // the answer of a handshake, or why there is none
  } else if (got == 0) {
    close(0);
  } else if (errno != EAGAIN && errno != EINTR && errno != ENOTCONN) {
    close(errno);
  }
  wipe(bytes);
}

void UdpConnection::flush() {
  for (std::span<const std::byte> rest = stream_.waiting(); !rest.empty() && !is_closed_; rest = stream_.waiting()) {
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      has_connected_ = true;
      stream_.sent(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EINTR || errno == ENOTCONN) {
      return;  // later
    } else {
      close(errno);
    }
  }
}

std::optional<UdpMessage> UdpConnection::next() {
  while (messages_left_ > 0) {
    if (std::optional<UdpMessage> message = reader_.next()) {
      --messages_left_;
      return message;
    }
    if (reader_.is_malformed()) return std::nullopt;
    const std::size_t read = stream_.read(reader_.room());
    if (read == 0) return std::nullopt;
    reader_.filled(read);
  }
  return std::nullopt;
}

}  // namespace stopbit::nic
