#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "host/nic/transport/udp/connection.hpp"
#include "host/nic/transport/udp/peers.hpp"

namespace stopbit::nic {

/// Membership of a node that joins: asks node 0, takes over its table, and asks again when the control connection has
/// ended. It keeps what it knows of the others meanwhile, so frames between members travel on without node 0.
class UdpMember {
 public:
  /// All must outlive it. `host`: node 0. `own`: of the UDP socket.
  UdpMember(const UdpOptions& options, const UdpTls& tls, UdpPeers& peers, UdpCounters& counters,
            const UdpEndpoint& host, const UdpEndpoint& own);

  void step(std::uint64_t now_ns);
  /// Says goodbye, without waiting.
  void leave(std::uint64_t now_ns);

  [[nodiscard]] NodeId node() const noexcept { return node_; }
  [[nodiscard]] bool is_joined() const noexcept { return is_joined_; }
  /// Why it cannot join any more.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  /// Why it has not joined yet, though it may still.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  /// The handshake failed: the token is another one, or one side has none.
  [[nodiscard]] bool is_token_refused() const noexcept { return is_token_refused_; }
  /// Frame size of node 0, which refused that of this node; 0: it has not.
  [[nodiscard]] std::size_t frame_bytes_of_host() const noexcept { return frame_bytes_of_host_; }

 private:
  void connect(std::uint64_t now_ns);
  void take(const UdpMessage& message, std::uint64_t now_ns);
  void take_welcome(const UdpWelcome& welcome);
  void take_refused(const UdpRefused& refused);
  void take_line(const UdpPeerLine& line, std::uint64_t now_ns);
  void lose(std::uint64_t now_ns);
  void lose_number() { problem_ = "node 0 has given the number of this node to another"; }
  void check_path();
  /// The other side breaks the protocol.
  void wrong() noexcept { is_wrong_ = true; }

  const UdpOptions& options_;
  const UdpTls& tls_;
  UdpPeers& peers_;
  UdpCounters& counters_;
  UdpEndpoint host_;
  UdpEndpoint own_;
  std::uint64_t incarnation_ = 0;
  std::unique_ptr<UdpConnection> connection_;
  bool has_asked_ = false;
  bool is_welcome_ = false;
  bool is_joined_ = false;
  bool is_wrong_ = false;
  NodeId node_ = kUdpNoNode;  ///< Its own from its first membership on: links and rings go by it.
  bool has_been_in_ = false;
  UdpCipher cipher_ = UdpCipher::None;
  std::uint64_t said_ns_ = 0;
  std::uint64_t asked_for_keys_ns_ = 0;
  std::uint64_t retry_ns_ = 0;  ///< Not before.
  std::uint64_t pause_ns_ = 0;
  bool is_token_refused_ = false;
  std::size_t frame_bytes_of_host_ = 0;
  std::string problem_;
  std::string reason_ = "no answer from that address";
};

}  // namespace stopbit::nic
