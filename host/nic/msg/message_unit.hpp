#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "host/nic/error.hpp"
#include "host/nic/link/services.hpp"
#include "host/nic/msg/mailbox.hpp"
#include "host/nic/msg/segments.hpp"
#include "host/nic/notify/ports.hpp"

namespace stopbit::nic {

/// In front of the bytes of a message, and alone as the answer to one. Little-endian.
struct MessagePacket {
  // Flags.
  static constexpr std::uint8_t kIsAnswer = 1;
  static constexpr std::uint8_t kToGroup = 2;
  static constexpr std::uint8_t kAsksAnswer = 4;
  static constexpr std::uint8_t kIsErroneous = 8;
  static constexpr std::uint8_t kAnnounces = 16;
  static constexpr std::uint8_t kAllFlags = 31;

  Service service = Service::Message;
  std::uint8_t flags = 0;
  std::uint8_t tag = 0;
  std::uint8_t type = 0;  ///< 0 to 3; of an answer, the error.
  Vpid source_vpid = 0;
  std::uint16_t target = 0;     ///< Port, or group.
  Pdid domain = 0;              ///< The sender's; its node writes it.
  std::uint16_t length = 0;     ///< Of the message, minus 1; 11 bits.
  std::uint32_t reference = 0;  ///< What the sender's node knows the message by; back in the answer.
};
static_assert(sizeof(MessagePacket) == 16);

using GroupId = std::uint16_t;
class MessageEngine;

struct MessageCounters {
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;   ///< Copies put into mailboxes.
  std::uint64_t dropped = 0;     ///< No room in the mailbox.
  std::uint64_t held = 0;        ///< Messages that began to wait for a segment.
  std::uint64_t refused = 0;     ///< A check of the completer failed.
  std::uint64_t foreign = 0;     ///< Packets that are none.
  std::uint64_t unanswered = 0;  ///< A node asked for more answers at once than it can wait for.
};

/// How a port takes messages.
struct MessagePort {
  std::size_t slot_bytes = 64;
  /// A port that listens to one sender alone (ULTRA's pre-configured path): others are refused.
  struct Origin {
    NodeId node = 0;
    Vpid vpid = 0;
    friend bool operator==(const Origin&, const Origin&) = default;
  };
  std::optional<Origin> only_from;
};

/// Members of a group: ports of this node, and other nodes with members. A message is sent once to each node, which
/// copies it for its own ports. Only nodes with members are listed; messages are not forwarded.
struct MessageGroup {
  Pdid domain = 0;
  std::vector<Vpid> ports;
  std::vector<NodeId> nodes;
};

/// The message unit of a node: requester and completer of EXTOLL's VELO.
///
/// Two priorities, on the two channels of the links: high messages never wait for low ones. A message for a full
/// mailbox is dropped, counted and reported to the supervisor: no sender waits for a port that does not read. The node
/// writes the sender's identity and domain; a completer checks, in this order, whether the packet is for this unit,
/// whether its port exists, whether the domains are the same, whether the port may hear the sender, and whether it is
/// enabled. One thread. Allocates when ports and groups are set up, never per message.
class MessageUnit final : public PacketSink {
 public:
  /// Both must outlive it. It has to be attached as Service::Message.
  MessageUnit(Links& links, Ports& ports, NodeId node, std::size_t nodes);

  /// Port that is notified of dropped and refused messages (Teller::Supervisor).
  void set_supervisor(Vpid vpid) noexcept { supervisor_ = vpid; }
  /// Requester and completer from now on, instead of its own; before the first port opens. It must outlive the unit.
  void set_engine(MessageEngine& engine) noexcept { engine_ = &engine; }
  /// Opens a port that is open in Ports, before its first notification. False if it is not open there, or already open
  /// here.
  [[nodiscard]] bool open(Vpid vpid, const Page& page, const MessagePort& port);
  /// The port gets no more notifications.
  void close(Vpid vpid);
  /// Sends messages of this priority to segments that the port posts (segments.hpp) from now on, instead of its page; a
  /// previous ring has ended. ERR_OVPID_INV: no such port; else as VrbhQueue::check. `atu` must outlive the port. When
  /// a ring ends by itself, its port gets a notification (Teller::Supervisor) with the number of the descriptor; later
  /// messages are refused with the ring's error until this is called again. The port's count of descriptors must be 0
  /// before (SegmentReader makes it so). Allocates.
  [[nodiscard]] Error start_ring(Vpid vpid, Priority priority, const SegmentRing& ring, Atu& atu);
  /// Returns to the page. Unread messages stay where they are.
  void stop_ring(Vpid vpid, Priority priority) noexcept;
  /// Null: the mailbox has none.
  [[nodiscard]] const SegmentWriter* ring(Vpid vpid, Priority priority) const noexcept;
  /// Nothing is sent to or from a port that is not enabled.
  void enable(Vpid vpid, bool on) noexcept;
  /// Replaces the group; an empty one is none.
  void set_group(GroupId id, MessageGroup group);

  /// What to send; the bytes come separately.
  struct Message {
    NodeId node = 0;
    std::uint16_t target = 0;
    bool is_group = false;
    Priority priority = Priority::Low;
    bool acknowledges = false;  ///< The sender is notified of how it went; never for a group.
    bool announces = false;     ///< The receiver is notified.
    bool is_erroneous = false;  ///< It was cut short: the receiver leaves it out.
    std::uint8_t type = 0;
    std::uint64_t tag = 0;  ///< Comes back to the sender; its low byte is the receiver's.
  };
  enum class Outcome : std::uint8_t { Sent, Busy, Refused };
  struct Sending {
    Outcome outcome = Outcome::Sent;
    Error error = Error::None;  ///< Why it was refused.
  };
  /// Busy: no room towards one of its nodes, nothing was sent; again later. `payload`: 1 to max_bytes().
  [[nodiscard]] Sending send(Vpid origin, const Message& message, std::span<const std::byte> payload,
                             std::uint64_t now_ns);
  /// The longest message: 2048, or what fits into a packet.
  [[nodiscard]] std::size_t max_bytes() const noexcept;

  [[nodiscard]] std::uint8_t early(NodeId, VirtualChannel, std::span<const std::byte>) override { return 0; }
  /// True: whatever comes is put into a mailbox or dropped. False only for a mailbox that holds what finds no segment.
  [[nodiscard]] bool ordered(NodeId from, VirtualChannel channel, std::span<const std::byte> packet,
                             std::uint8_t early_status) override;
  /// Messages that wait for the node's acknowledgement have failed.
  void lost(NodeId peer) override;
  void rejoined(NodeId peer) override { is_lost_[peer] = false; }
  /// Sends answers that found no room. Returns how many.
  std::size_t step(std::uint64_t now_ns);
  /// Nothing waits for an acknowledgement, no answer is left.
  [[nodiscard]] bool is_idle() const noexcept { return waiting_ == 0 && answers_ == 0; }

  [[nodiscard]] const MessageCounters& counters() const noexcept { return counters_; }

 private:
  static constexpr std::size_t kWaiting =
      1024;  ///< To all nodes together; also the maximum of answers a node owes another.
  static constexpr std::size_t kAsked =
      kWaiting / 4;  ///< To one node: a node that never answers stops only messages to itself.

  struct ReceivingPort {
    ReceivingPort(const Page& memory, const MessagePort& how)
        : page(memory),
          only_from(how.only_from),
          boxes{MailboxWriter(memory, Priority::Low, how.slot_bytes),
                MailboxWriter(memory, Priority::High, how.slot_bytes)} {}
    Page page;
    std::optional<MessagePort::Origin> only_from;
    bool is_enabled = true;
    MailboxWriter boxes[kPriorities];
    struct Ring {
      std::unique_ptr<SegmentWriter> writer;
      std::optional<std::uint64_t> held_since_ns;
      bool has_dropped = false;  ///< It has held long enough: no more before it takes something again.
    };
    Ring rings[kPriorities];
  };
  /// What became of a message: an error, or it has to come again.
  struct Delivery {
    Error error = Error::None;
    bool is_held = false;
  };
  /// A message that waits for its acknowledgement.
  struct Waiting {
    bool is_used = false;
    bool is_orphan = false;  ///< Its port is closed.
    Vpid origin = 0;
    NodeId node = 0;
    std::uint16_t use = 0;  ///< How often the place has been used: an old answer does not fit.
    std::uint64_t tag = 0;
  };
  struct Answer {
    NodeId to = 0;
    std::uint32_t reference = 0;
    Error error = Error::None;
  };

  [[nodiscard]] Delivery deliver(Vpid target, NodeId from, Priority priority, const MessagePacket& packet,
                                 std::span<const std::byte> payload, bool may_hold);
  /// Whether the port may have it.
  [[nodiscard]] Error check(Vpid target, NodeId from, const MessagePacket& packet) const noexcept;
  /// Counts and announces what has become of a copy at a port that may have it.
  void account(Vpid target, Error error, NodeId from, const MessagePacket& packet);
  [[nodiscard]] Delivery deliver_by_engine(NodeId from, Priority priority, const MessagePacket& packet,
                                           std::span<const std::byte> payload);
  void tell_end(Vpid target, Error error, std::uint64_t culprit) noexcept;
  [[nodiscard]] Delivery put(Vpid target, Priority priority, const MessageHead& head,
                             std::span<const std::byte> payload, bool may_hold);
  void deliver_to_group(NodeId from, Priority priority, const MessagePacket& packet,
                        std::span<const std::byte> payload);
  void complete(const MessagePacket& answer, NodeId from);
  void tell_sender(Vpid origin, NodeId node, std::uint64_t tag, Error error) noexcept;
  void supervise(Error error, NodeId node, const MessagePacket& packet) noexcept;
  [[nodiscard]] bool send_packet(NodeId to, Priority priority, const MessagePacket& packet,
                                 std::span<const std::byte> payload, std::uint64_t now_ns);

  Links& links_;
  Ports& ports_;
  NodeId node_;
  std::size_t nodes_;
  MessageEngine* engine_ = nullptr;  ///< Null: none.
  std::optional<Vpid> supervisor_;
  std::vector<std::unique_ptr<ReceivingPort>> boxes_;
  std::unordered_map<GroupId, MessageGroup> groups_;
  std::vector<bool> is_lost_;
  std::vector<Waiting> table_;
  std::size_t waiting_ = 0;
  std::size_t search_from_ = 0;
  std::vector<Answer> pending_;
  std::size_t answers_ = 0;
  std::vector<std::size_t> owed_;   ///< Answers to each node,
  std::vector<std::size_t> asked_;  ///< and from each that are waited for.
  std::uint64_t now_ns_ = 0;        ///< Of the last step.
  MessageCounters counters_;
};

}  // namespace stopbit::nic
