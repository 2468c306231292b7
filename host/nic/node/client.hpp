#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/nic/msg/combine.hpp"
#include "host/nic/msg/mailbox.hpp"
#include "host/nic/msg/segments.hpp"
#include "host/nic/node/broker_message.hpp"
#include "host/nic/node/shared_memory.hpp"
#include "host/nic/notify/ring.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// How a message is sent.
struct SendHow {
  Priority priority = Priority::Low;
  bool to_group = false;      ///< `vpid` is a group.
  bool acknowledges = false;  ///< A notification reports the result (Teller::Acknowledge).
  bool announces = false;     ///< The receiver gets a notification, too.
  std::uint8_t type = 0;      ///< 0 to 3, for the receiver.
  std::uint8_t tag = 0;       ///< For the receiver, and in notifications.
};

/// Memory shared with the node.
struct SharedRegion {
  SharedMemory memory;
  Nla address = 0;
};

/// A message sent in parts (Client::begin). Each part is sent at once. If the message is not complete within the node's
/// patience (10 ms), is aborted, or its process dies, the receiver gets it marked as erroneous. At most two messages of
/// a priority can be in progress, including those of Client::send of more than 40 bytes. One thread.
class PartSender {
 public:
  PartSender(const CommandQueue& queue, const Command& command, PartHead head) noexcept
      : queue_(queue), command_(command), head_(head) {}

  /// Sends the next bytes, at most those that are left. Full: the first `accepted` bytes were taken; call again with
  /// the rest, even if it is empty.
  struct Taken {
    Reply reply = Reply::NoError;
    std::size_t accepted = 0;
  };
  [[nodiscard]] Taken append(std::span<const std::byte> bytes) noexcept;
  /// Aborts the message. Full: call again later.
  [[nodiscard]] Reply abort() noexcept;
  /// Bytes not yet sent.
  [[nodiscard]] std::size_t left() const noexcept { return head_.total - head_.offset - buffered_; }

 private:
  [[nodiscard]] Reply send_part() noexcept;

  CommandQueue queue_;
  Command command_;
  PartHead head_;  ///< Of the next part.
  std::array<std::byte, kMaxFastBytes> buffer_;
  std::size_t buffered_ = 0;
};

/// A mailbox in segments of the client's memory.
struct SegmentHow {
  std::uint32_t slot_bytes = 64;  ///< 16, 32, 64 or 128.
  std::uint32_t places = 32;      ///< Maximum number of segments, 2 to kMaxSegments.
  std::uint32_t hold_us = 0;      ///< How long messages wait for a segment, if the client's entitlement allows it.
};

/// A feed: a window for Get, and the file for mapping.
struct AttachedFeed {
  NodeId node = 0;
  Vpid vpid = 0;
  WindowName window;
  std::uint64_t bytes = 0;
  os::Descriptor file;
};

/// The host API: a process's port at the node of its host.
///
/// Opening, sharing and attaching send a request to the broker and wait for its reply, at most `patience`. Sending and
/// receiving only access memory and never wait. Several threads may send; one thread may read a mailbox, and one the
/// notifications. The port ends with the process, however that ends.
class Client {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Client>> open(const std::string& socket, std::size_t slot_bytes = 64,
                                                            unsigned patience_ms = 5000);

  [[nodiscard]] NodeId node() const noexcept { return node_; }
  [[nodiscard]] Vpid vpid() const noexcept { return vpid_; }
  /// The user of the broker, from the kernel; nothing if unknown. A system call.
  [[nodiscard]] std::optional<std::uint32_t> broker_user() const noexcept;
  [[nodiscard]] Page page() const noexcept { return pages_.page(); }

  /// Sends a command, usually a transfer.
  [[nodiscard]] CommandQueue queue(CommandRing ring) const noexcept { return CommandQueue(page(), ring); }
  /// Sends 1 to 2048 bytes: up to 40 in one command, more in several. Full: nothing was sent.
  [[nodiscard]] Reply send(NodeId node, Vpid vpid, std::span<const std::byte> bytes, const SendHow& how = {}) noexcept;
  /// Begins a message of `length` bytes, 1 to 2048, sent in parts.
  [[nodiscard]] PartSender begin(NodeId node, Vpid vpid, std::size_t length, const SendHow& how = {}) noexcept;
  /// Receives; high priority first.
  [[nodiscard]] std::optional<MessageHead> receive(std::span<std::byte, kMaxMessageBytes> into) noexcept;
  /// Receives later messages of this priority in segments instead of the port's page; messages in the page are received
  /// first. Call it again after the ring has ended (notification Teller::Supervisor): unread messages of the old ring
  /// are lost. To be called by the thread that reads the mailbox.
  [[nodiscard]] Status use_segments(Priority priority, const SegmentHow& how = {});
  /// Shares memory for `slots` slots and posts it. The mailbox accepts messages from the first segment on; more
  /// segments can be added at any time.
  [[nodiscard]] Status add_segment(Priority priority, std::uint32_t slots);
  /// Null: the mailbox is in the page.
  [[nodiscard]] const SegmentReader* segments(Priority priority) const noexcept;
  /// The mailbox in the page.
  [[nodiscard]] MailboxReader& mailbox(Priority priority) noexcept { return priority == Priority::High ? high_ : low_; }
  [[nodiscard]] NotificationReader& notifications() noexcept { return notifications_; }

  [[nodiscard]] Result<SharedRegion> share(std::size_t bytes, Access access);
  /// Shares the first `bytes` of a file as unpinned memory, with at most `resident_bytes` (whole pages) resident, and
  /// returns its address. The process keeps the file; it contains all changes once the memory is taken back and
  /// written. Writes by others in the meantime may or may not be seen.
  [[nodiscard]] Result<Nla> share_file(int file, std::uint64_t bytes, std::size_t resident_bytes, Access access);
  [[nodiscard]] Status unshare(Nla address);
  [[nodiscard]] Result<WindowName> open_window(Nla address, std::uint64_t bytes, Access access);
  [[nodiscard]] Status close_window(std::uint16_t window);
  [[nodiscard]] Result<AttachedFeed> attach(const std::string& name);
  [[nodiscard]] Status detach(std::uint16_t window);
  /// The port from which to request a copy of a feed (remote::Subscriber).
  struct PortName {
    NodeId node = 0;
    Vpid vpid = 0;
  };
  [[nodiscard]] Result<PortName> subscribe(const std::string& feed);
  /// False if the broker has closed the port or exited. A system call.
  [[nodiscard]] bool is_open() const noexcept;

 private:
  struct Opened {
    os::Descriptor socket;
    SharedMemory pages;
    BrokerReply reply;
  };
  Client(Opened opened, unsigned patience_ms);
  [[nodiscard]] Result<BrokerReply> ask(BrokerRequest request, int to_pass, os::Descriptor* passed);
  [[nodiscard]] Result<BrokerReply> ask_of_feed(BrokerCall call, const std::string& feed, os::Descriptor* passed);
  /// Like ask, for requests without a result: an empty string, or the reason of the failure.
  [[nodiscard]] Status tell(const BrokerRequest& request);
  [[nodiscard]] PartHead next_message(std::size_t length, const SendHow& how) noexcept;

  struct Segments {
    SharedRegion list;
    std::uint32_t slot_bytes = 0;
    std::optional<SegmentReader> reader;
    std::vector<SharedRegion> memory;
  };
  [[nodiscard]] std::optional<MessageHead> receive(Priority priority,
                                                   std::span<std::byte, kMaxMessageBytes> into) noexcept;

  os::Descriptor socket_;
  SharedMemory pages_;
  NodeId node_;
  Vpid vpid_;
  unsigned patience_ms_;
  MailboxReader high_;
  MailboxReader low_;
  std::unique_ptr<Segments> segments_[kPriorities];
  NotificationReader notifications_;
  std::atomic<std::uint8_t> next_message_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace stopbit::nic
