#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "host/nic/link/links.hpp"
#include "host/nic/transport/transport.hpp"
#include "host/nic/transport/udp/udp_options.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// Times that fit a carrier whose frames are lost now and then, between processes that are paused now and then.
[[nodiscard]] LinkOptions udp_link_options() noexcept;

/// The carrier over UDP: each frame is one datagram, from node to node, sealed with keys of that pair.
///
/// One node is 0 and listens; others join it over a TCP connection (TLS 1.3 with the token as pre-shared key) and get
/// their NodeId, the addresses of the others, and keys. A node that dies and comes back joins again and has other keys.
/// The sender of a frame is known from its keys; without encryption from its source address.
///
/// `send` copies a frame into a batch; `receive` and `progress` give the batch to the kernel, so call them soon. No
/// call waits, no thread is started, and frames allocate nothing; the control connection does. One thread.
class UdpTransport final : public Transport {
 public:
  /// Node 0. At once.
  [[nodiscard]] static Result<std::unique_ptr<UdpTransport>> listen(const UdpOptions& options);
  /// Another node. Returns when it is a member and knows all others, or with the reason why not.
  [[nodiscard]] static Result<std::unique_ptr<UdpTransport>> join(const UdpOptions& options,
                                                                  const std::string& address);
  /// The same, but returns at once: call `progress` until is_joined(), or until there is a problem().
  [[nodiscard]] static Result<std::unique_ptr<UdpTransport>> start(const UdpOptions& options,
                                                                   const std::string& address);
  /// Says goodbye.
  ~UdpTransport() override;

  [[nodiscard]] NodeId node() const noexcept override;
  [[nodiscard]] std::size_t nodes() const noexcept override;
  [[nodiscard]] std::size_t frame_bytes() const noexcept override;
  /// A sealed frame that arrives is the one that was sent.
  [[nodiscard]] bool is_exact() const noexcept override;
  /// False: no room, over the rate limit, or no member.
  [[nodiscard]] bool send(NodeId to, std::span<const std::byte> frame) override;
  /// Also does what progress() does.
  [[nodiscard]] std::size_t receive(std::span<std::byte> into) override;
  [[nodiscard]] std::optional<NodeId> sender() const noexcept override;
  [[nodiscard]] std::optional<HostAddress> address_of(NodeId node) const noexcept override;

  /// Sends what waits, and serves the control connections. Must be called several times per lease.
  void progress();
  [[nodiscard]] bool is_joined() const noexcept;
  /// Why this node cannot join any more: it has to be opened anew. Empty: it need not.
  [[nodiscard]] std::string problem() const;
  [[nodiscard]] bool is_member(NodeId node) const noexcept;
  /// Why it is not joined yet, or why it cannot be.
  [[nodiscard]] std::string why_not_joined() const;
  /// What to give to `join`: HOST:PORT.
  [[nodiscard]] const std::string& address() const noexcept;
  [[nodiscard]] const UdpCounters& counters() const noexcept;
  /// Nodes that are members now, without this one.
  [[nodiscard]] std::size_t members() const noexcept;
  /// At a node that joins: there is a problem() because the token is another one, or one side has none.
  [[nodiscard]] bool is_token_refused() const noexcept;
  /// At a node that joins: the frame size of node 0, which refused this node's; 0: it has not. A problem(), too.
  [[nodiscard]] std::size_t frame_bytes_of_host() const noexcept;
  /// At node 0: where the last handshake with another token came from, and the last node that was not let in.
  [[nodiscard]] std::optional<HostAddress> wrong_token_from() const noexcept;
  [[nodiscard]] std::optional<HostAddress> refused_from() const noexcept;
  /// The longest packet of a path, as a router or the own interface has reported it last; 0: none has. Not
  /// authenticated: a hint when frames do not arrive.
  [[nodiscard]] std::uint32_t reported_mtu() const noexcept;
  /// Frames of one length to one node leave in one system call and as one packet (UDP GSO).
  [[nodiscard]] bool has_segmentation() const noexcept;

 private:
  class Parts;
  explicit UdpTransport(std::unique_ptr<Parts> parts);
  [[nodiscard]] static Result<std::unique_ptr<UdpTransport>> open(const UdpOptions& options, const std::string& host);

  std::unique_ptr<Parts> parts_;
};

}  // namespace stopbit::nic
