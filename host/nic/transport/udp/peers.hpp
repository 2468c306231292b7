#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/nic/transport/udp/control_message.hpp"
#include "host/nic/transport/udp/udp_options.hpp"

namespace stopbit::nic {

/// The other nodes, as datagrams need them: where they are, and the keys. `seal`, `open` and `allow` do not allocate.
class UdpPeers {
 public:
  UdpPeers(const UdpOptions& options, UdpCounters& counters);

  /// This node is a member, with this session; all others are unknown.
  void enter(NodeId self, std::uint32_t session, UdpCipher cipher);
  /// A line of the table. `endpoint`: where the node is. False: OpenSSL cannot use the keys.
  [[nodiscard]] bool set(const UdpPeerLine& line, const UdpEndpoint& endpoint, std::uint64_t now_ns);
  void remove(NodeId node) noexcept;
  /// What time brings.
  void step(std::uint64_t now_ns) noexcept;

  [[nodiscard]] bool has(NodeId node) const noexcept { return node < peers_.size() && peers_[node].session != 0; }
  [[nodiscard]] const UdpEndpoint& endpoint(NodeId node) const noexcept { return peers_[node].endpoint; }
  [[nodiscard]] const UdpSocketAddress& address(NodeId node) const noexcept { return peers_[node].address; }
  [[nodiscard]] UdpPeerKeys& keys(NodeId node) noexcept { return peers_[node].keys; }
  /// A key is used up soon.
  [[nodiscard]] bool wants_keys() const noexcept;

  /// The rate limit allows another frame of that length. It is spent if `seal` succeeds.
  [[nodiscard]] bool allows(NodeId to, std::size_t bytes) const noexcept {
    return options_.peer_bytes_per_second == 0 || peers_[to].allowance >= bytes;
  }
  /// Writes the datagram of a frame to a member. `into` has room for it. @returns its length; 0: no key.
  [[nodiscard]] std::size_t seal(NodeId to, std::span<const std::byte> frame, std::span<std::byte> into);

  struct Opened {
    NodeId from = 0;
    std::span<std::byte> frame;
  };
  /// Checks a datagram, and decrypts it in place. Nothing: it is not from a member; it has been counted.
  [[nodiscard]] std::optional<Opened> open(const sockaddr_storage& source, socklen_t source_bytes,
                                           std::span<std::byte> datagram, std::uint64_t now_ns);

 private:
  struct Peer {
    std::uint32_t session = 0;  ///< 0: no member.
    UdpEndpoint endpoint;
    UdpSocketAddress address;
    UdpPeerKeys keys;
    std::uint64_t allowance = 0;  ///< Bytes that may be sent now.
  };

  const UdpOptions& options_;
  UdpCounters& counters_;
  std::vector<Peer> peers_;
  NodeId self_ = 0;
  std::uint32_t session_ = 0;
  UdpCipher cipher_ = UdpCipher::None;
  std::uint64_t stepped_ns_ = 0;
};

}  // namespace stopbit::nic
