#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/nic/transport/udp/connection.hpp"
#include "host/nic/transport/udp/peers.hpp"
#include "host/nic/transport/udp/sockets.hpp"

namespace stopbit::nic {

/// Membership at node 0: lets nodes in, hands out numbers, sessions and keys, and notices when one leaves.
///
/// Each member has its control connection. A line of the table goes to a member when it has changed; one flag per line
/// says that it is still to be sent, so a member that does not read costs no memory. Keys are derived, when a line
/// is written, from a secret of the epoch, which is drawn at random and overwritten when the next epoch begins.
class UdpHost {
 public:
  /// `peers`, `tls`, `options` and `counters` must outlive it.
  UdpHost(const UdpOptions& options, const UdpTls& tls, UdpPeers& peers, UdpCounters& counters);
  /// `listener`: a TCP socket that listens.
  [[nodiscard]] Status open(os::Descriptor listener, std::uint64_t now_ns);
  /// What time brings, and what connections bring; a bounded piece of it.
  void step(std::uint64_t now_ns);

  /// Where the last handshake with another token came from, and the last node that was not let in.
  [[nodiscard]] const std::optional<HostAddress>& wrong_token_from() const noexcept { return wrong_token_from_; }
  [[nodiscard]] const std::optional<HostAddress>& refused_from() const noexcept { return refused_from_; }

 private:
  struct Place {
    std::unique_ptr<UdpConnection> connection;  ///< None: free.
    std::uint64_t incarnation = 0;
    std::uint32_t session = 0;
    UdpEndpoint endpoint;
    std::uint64_t said_ns = 0;
    std::vector<bool> due;  ///< Lines that are still to be sent to it.
    std::size_t due_count = 0;
    std::size_t next_due = 0;
    bool is_complete = false;
  };

  void accept(std::uint64_t now_ns);
  void step_pending(std::uint64_t now_ns);
  void greet(std::unique_ptr<UdpConnection> connection, const UdpHello& hello, std::uint64_t now_ns);
  [[nodiscard]] UdpRefusal judge(const UdpHello& hello) const noexcept;
  [[nodiscard]] Place* place_for(const UdpHello& hello) noexcept;
  void step_member(Place& place, std::uint64_t now_ns);
  void tell(Place& place, std::uint64_t now_ns);
  void remove(Place& place);
  void change(NodeId node);
  void mark(Place& place, std::size_t line) noexcept;
  [[nodiscard]] bool begin_epoch(std::uint64_t now_ns);
  [[nodiscard]] std::uint32_t new_session() const noexcept;
  /// What `to` has to know about `about`.
  [[nodiscard]] UdpPeerLine line(NodeId about, NodeId to) const;
  [[nodiscard]] UdpKey key(NodeId from, NodeId to) const;
  [[nodiscard]] NodeId number_of(const Place& place) const noexcept {
    return static_cast<NodeId>(&place - places_.data());
  }

  const UdpOptions& options_;
  const UdpTls& tls_;
  UdpPeers& peers_;
  UdpCounters& counters_;
  UdpCipher cipher_ = UdpCipher::None;
  os::Descriptor listener_;
  std::vector<Place> places_;
  std::vector<std::unique_ptr<UdpConnection>> pending_;  ///< The oldest one first.
  UdpKey secret_{};
  std::uint32_t epoch_ = 0;
  std::uint64_t epoch_ns_ = 0;
  bool is_epoch_wanted_ = false;
  std::optional<HostAddress> wrong_token_from_;
  std::optional<HostAddress> refused_from_;
};

}  // namespace stopbit::nic
