#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/nic/msg/message_unit.hpp"

namespace stopbit::nic {

/// Requester and completer of a message unit, in the place of its own: the unit in hardware (fpga/rtl/velo).
///
/// The message unit keeps the packets on their way, acknowledgements, notifications and counters. It reports each
/// change of its ports and groups. One thread.
class MessageEngine {
 public:
  MessageEngine() = default;
  MessageEngine(const MessageEngine&) = delete;
  MessageEngine& operator=(const MessageEngine&) = delete;
  virtual ~MessageEngine() = default;

  virtual void open(Vpid vpid, Pdid domain, const Page& page, const MessagePort& port) = 0;
  virtual void close(Vpid vpid) = 0;
  virtual void enable(Vpid vpid, bool on) = 0;
  /// `ring` has passed VrbhQueue::check.
  virtual void start_ring(Vpid vpid, Priority priority, const SegmentRing& ring, Atu& atu) = 0;
  virtual void stop_ring(Vpid vpid, Priority priority) = 0;
  virtual void set_group(GroupId id, const MessageGroup& group) = 0;

  /// The packet of a message, with its sender and domain, and its bytes; or why it is refused.
  [[nodiscard]] virtual Error request(Vpid origin, const MessageUnit::Message& message,
                                      std::span<const std::byte> payload, MessagePacket& packet,
                                      std::vector<std::byte>& bytes) = 0;

  /// A copy of a message at a port.
  struct Copy {
    Vpid target = 0;
    Error error = Error::None;
  };
  /// A ring of segments that has ended.
  struct End {
    Vpid vpid = 0;
    Error error = Error::None;
    std::uint64_t culprit = 0;  ///< Number of the descriptor at fault.
  };
  struct Delivered {
    std::vector<Copy> copies;  ///< Of a message for a group, one for each member on this node.
    std::vector<End> ends;
  };
  /// Delivers a message. Nothing: it is held, and comes again.
  [[nodiscard]] virtual std::optional<Delivered> deliver(NodeId from, Priority priority, const MessagePacket& packet,
                                                         std::span<const std::byte> payload, std::uint64_t now_ns) = 0;
};

}  // namespace stopbit::nic
