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
  bool acknowledges = false;  ///< A notification says how it went (Teller::Acknowledge).
  bool announces = false;     ///< The receiver gets a notification, too.
  std::uint8_t type = 0;      ///< 0 to 3, for the receiver.
  std::uint8_t tag = 0;       ///< For the receiver, and in notifications.
};

/// Memory that the node may reach, too.
struct SharedRegion {
  SharedMemory memory;
  Nla address = 0;
};

/// A message whose bytes are not all there yet (Client::begin). Its parts leave as they are given; what is not whole
/// within the node's patience, 10 ms, or is aborted, or whose process dies, reaches its receiver as erroneous. Two of a
/// priority may be under way at once, those of Client::send of more than 40 bytes included. One thread.
class PartSender {
 public:
  PartSender(const CommandQueue& queue, const Command& command, PartHead head) noexcept
      : queue_(queue), command_(command), head_(head) {}

  /// The next bytes, as many as are left or less. Full: the first `accepted` of them were taken; again with the others,
  /// even if there are none.
  struct Taken {
    Reply reply = Reply::NoError;
    std::size_t accepted = 0;
  };
  [[nodiscard]] Taken append(std::span<const std::byte> bytes) noexcept;
  /// Cuts it short. Nothing of it is left here. Full: again later.
  [[nodiscard]] Reply abort() noexcept;
  /// Bytes that are still to come.
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
  std::uint32_t places = 32;      ///< As many segments at most, 2 to kMaxSegments.
  std::uint32_t hold_us = 0;      ///< How long messages wait for a segment, if the client is entitled to that.
};

/// A feed: a window for Get, and the file, for those who map it instead.
struct AttachedFeed {
  NodeId node = 0;
  Vpid vpid = 0;
  WindowName window;
  std::uint64_t bytes = 0;
  os::Descriptor file;
};

/// A process's port at the node of its host: the host API.
///
/// Opening, sharing and attaching ask the broker and wait for its reply, at most `patience`. Sending and receiving are
/// memory alone, and never wait. Several threads may send; one thread each may read a mailbox and the notifications.
/// When the process ends, by whatever death, the port ends.
class Client {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Client>> open(const std::string& socket, std::size_t slot_bytes = 64,
                                                            unsigned patience_ms = 5000);

  [[nodiscard]] NodeId node() const noexcept { return node_; }
  [[nodiscard]] Vpid vpid() const noexcept { return vpid_; }
  /// The user of the broker, as the kernel says. A system call; nothing if it does not say.
  [[nodiscard]] std::optional<std::uint32_t> broker_user() const noexcept;
  [[nodiscard]] Page page() const noexcept { return pages_.page(); }

  /// Commands of one's own making, mostly transfers.
  [[nodiscard]] CommandQueue queue(CommandRing ring) const noexcept { return CommandQueue(page(), ring); }
  /// 1 to 2048 bytes: up to 40 in one command, more in several. Full: nothing was sent.
  [[nodiscard]] Reply send(NodeId node, Vpid vpid, std::span<const std::byte> bytes, const SendHow& how = {}) noexcept;
  /// A message of `length` bytes, 1 to 2048, that are given bit by bit.
  [[nodiscard]] PartSender begin(NodeId node, Vpid vpid, std::size_t length, const SendHow& how = {}) noexcept;
  /// High ones first.
  [[nodiscard]] std::optional<MessageHead> receive(std::span<std::byte, kMaxMessageBytes> into) noexcept;
  /// From now on messages of this priority come into segments instead of the port's page: what lies in the page is
  /// received first. Again after the ring has ended (Teller::Supervisor among the notifications): a new one, and what
  /// was not read in the old one is lost. By the thread that reads the mailbox. Empty on success, else why not.
  [[nodiscard]] std::string use_segments(Priority priority, const SegmentHow& how = {});
  /// Shares memory for so many slots and posts it. The first one makes the mailbox take messages; one more makes it
  /// larger, at any time. Empty on success, else why not.
  [[nodiscard]] std::string add_segment(Priority priority, std::uint32_t slots);
  /// Null: the mailbox lies in the page.
  [[nodiscard]] const SegmentReader* segments(Priority priority) const noexcept;
  /// The mailbox in the page.
  [[nodiscard]] MailboxReader& mailbox(Priority priority) noexcept { return priority == Priority::High ? high_ : low_; }
  [[nodiscard]] NotificationReader& notifications() noexcept { return notifications_; }

  [[nodiscard]] Result<SharedRegion> share(std::size_t bytes, Access access);
  /// The first `bytes` of a file as unpinned memory, of which at most `resident_bytes`, whole pages, are here at once:
  /// its address. The file stays this process's, and has all changes when the memory is taken back and its end was
  /// written. What others write into it meanwhile may be seen or not.
  [[nodiscard]] Result<Nla> share_file(int file, std::uint64_t bytes, std::size_t resident_bytes, Access access);
  /// Empty on success, else why not.
  [[nodiscard]] std::string unshare(Nla address);
  [[nodiscard]] Result<WindowName> open_window(Nla address, std::uint64_t bytes, Access access);
  [[nodiscard]] std::string close_window(std::uint16_t window);
  [[nodiscard]] Result<AttachedFeed> attach(const std::string& name);
  [[nodiscard]] std::string detach(std::uint16_t window);
  /// The port to ask for a copy of a feed (remote::Subscriber).
  struct PortName {
    NodeId node = 0;
    Vpid vpid = 0;
  };
  [[nodiscard]] Result<PortName> subscribe(const std::string& feed);
  /// False: the broker has closed the port, or is gone. A system call.
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
  /// As ask, where a yes has no more to say: empty, or why not.
  [[nodiscard]] std::string tell(const BrokerRequest& request);
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
