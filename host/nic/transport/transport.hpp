#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "host/nic/names.hpp"
#include "host/nic/transport/address.hpp"

namespace stopbit::nic {

/// A carrier: takes frames of this node to others, as well as it can. Frames may be lost, doubled, damaged, delayed and
/// overtaken; `Links` makes up for it. A frame to the own node comes back like any other. One thread per node.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual NodeId node() const noexcept = 0;
  /// Nodes are 0 up to this, without it.
  [[nodiscard]] virtual std::size_t nodes() const noexcept = 0;
  /// The longest frame.
  [[nodiscard]] virtual std::size_t frame_bytes() const noexcept = 0;
  /// Frames arrive unchanged, so no checksum is needed. The same on all nodes of a network.
  [[nodiscard]] virtual bool is_exact() const noexcept { return false; }
  /// Whether processes of that node see the files of this host's memory (/dev/shm), as a carrier can know.
  [[nodiscard]] virtual bool shares_memory(NodeId other) const noexcept { return other == node(); }
  /// Never waits. False: the carrier has no room now.
  [[nodiscard]] virtual bool send(NodeId to, std::span<const std::byte> frame) = 0;
  /// Copies the next frame for this node, cut to the room there is, and returns its length; 0 if there is none.
  [[nodiscard]] virtual std::size_t receive(std::span<std::byte> into) = 0;
  /// Sender of the last frame returned by `receive`, if the carrier identifies it.
  [[nodiscard]] virtual std::optional<NodeId> sender() const noexcept { return std::nullopt; }
  /// Where a node is, as its connection says, not the node. Nothing: there is no such node now, or the carrier has no
  /// addresses, or cannot vouch for them.
  [[nodiscard]] virtual std::optional<HostAddress> address_of(NodeId /*node*/) const noexcept { return std::nullopt; }
};

}  // namespace stopbit::nic
