#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "host/nic/transport/udp/control_message.hpp"
#include "host/nic/transport/udp/secure_stream.hpp"
#include "host/os/shm/segment.hpp"

namespace stopbit::nic {

/// One end of a control connection: a TCP socket that never waits, its stream, and its messages.
class UdpConnection {
 public:
  /// `socket`: connected, or connecting; non-blocking.
  UdpConnection(os::Descriptor socket, const UdpTls& tls, UdpStream::Role role, const UdpEndpoint& peer,
                std::uint64_t now_ns)
      : socket_(std::move(socket)), stream_(tls, role), peer_(peer), begun_ns_(now_ns), heard_ns_(now_ns) {}

  /// Moves bytes between the socket and the stream, a bounded number.
  void pump(std::uint64_t now_ns);
  /// The next message that has come; at most a few per `pump`, so that one node cannot keep another waiting.
  [[nodiscard]] std::optional<UdpMessage> next();
  /// There is room for a message. Everything that was written goes with the next `pump`.
  [[nodiscard]] bool has_room() const noexcept { return stream_.waiting().size() < kWaitingBytes; }
  template <class... Body>
  void say(UdpMessageKind kind, const Body&... body) {
    UdpMessageBuffer buffer;
    const std::span<std::byte> message = write_message(buffer, kind, body...);
    stream_.write(message);
    wipe(message);
  }

  /// Messages can be written.
  [[nodiscard]] bool is_open() const noexcept { return !is_over() && stream_.is_open(); }
  /// It has ended, or cannot go on.
  [[nodiscard]] bool is_over() const noexcept { return is_closed_ || reader_.is_malformed() || !stream_.is_good(); }
  /// Over, because the handshake failed.
  [[nodiscard]] bool was_refused() const noexcept { return stream_.was_refused(); }
  [[nodiscard]] bool is_malformed() const noexcept { return reader_.is_malformed(); }
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] bool has_connected() const noexcept { return has_connected_; }

  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  [[nodiscard]] const UdpEndpoint& peer() const noexcept { return peer_; }
  [[nodiscard]] std::uint64_t begun_ns() const noexcept { return begun_ns_; }
  [[nodiscard]] std::uint64_t heard_ns() const noexcept { return heard_ns_; }

 private:
  static constexpr std::size_t kWaitingBytes = 16'384;

  void flush();
  void close(int error) noexcept {
    is_closed_ = true;
    error_ = error;
  }

  os::Descriptor socket_;
  UdpStream stream_;
  UdpMessageReader reader_;
  UdpEndpoint peer_;
  std::uint64_t begun_ns_ = 0;
  std::uint64_t heard_ns_ = 0;
  std::size_t messages_left_ = 1;  ///< Until the next pump.
  bool has_connected_ = false;
  bool is_closed_ = false;
  int error_ = 0;  ///< errno; 0: the other side closed it.
};

}  // namespace stopbit::nic
