#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/nic/msg/mailbox.hpp"
#include "host/nic/msg/slots.hpp"
#include "host/nic/msg/vrbh_queue.hpp"

/// Mailboxes of many segments: messages in memory that the port supplies, as much of it as it likes, and more while it
/// runs.
namespace stopbit::nic {

/// How many descriptors the port has posted for this mailbox, ever.
[[nodiscard]] constexpr PageWord posted_word(Priority priority) noexcept {
  return priority == Priority::High ? PageWord::HighPosted : PageWord::LowPosted;
}
/// Of the slots of segment `number`.
[[nodiscard]] constexpr std::uint8_t lap_of_segment(std::uint64_t number) noexcept {
  return static_cast<std::uint8_t>(number % 255 + 1);
}

/// The node's side. One thread. A message is written whole or not at all: its slots are taken on trial, each page is
/// translated, and only then its first byte is stored. No translation is kept from one message to the next, so memory
/// that is given back is not written any more.
class SegmentWriter {
 public:
  SegmentWriter(Atu& atu, Vpid owner, const Page& page, Priority priority, const SegmentRing& ring) noexcept
      : atu_(&atu), owner_(owner), queue_(atu, owner, page, posted_word(priority), ring), ring_(ring) {}

  enum class Put : std::uint8_t {
    Done,
    Late,   ///< There are not enough segments: nothing was written, again later.
    Ended,  ///< The ring has ended: error() says why.
  };
  /// `payload` has head.length bytes.
  [[nodiscard]] Put put(const MessageHead& head, std::span<const std::byte> payload) noexcept;

  [[nodiscard]] const VrbhQueue& queue() const noexcept { return queue_; }
  [[nodiscard]] std::uint64_t hold_ns() const noexcept { return ring_.hold_ns; }
  [[nodiscard]] Error error() const noexcept { return queue_.error(); }
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }

 private:
  Atu* atu_;
  Vpid owner_;
  VrbhQueue queue_;
  SegmentRing ring_;
  std::uint64_t written_ = 0;      ///< Messages.
  std::size_t late_slots_ = 0;     ///< As many were not there,
  std::uint64_t late_posted_ = 0;  ///< number of descriptors posted at that time.
};

/// The port's side: supplies segments and reads what comes. A segment that has been read to its end is posted again, so
/// the ring goes round. One thread; never allocates.
class SegmentReader {
 public:
  /// `list`: the memory at SegmentRing::list, of 2 to kMaxSegments places.
  SegmentReader(const Page& page, Priority priority, std::span<SegmentDescriptor> list,
                std::uint32_t slot_bytes) noexcept;

  /// Posts a segment: `memory`, which the node knows as `address`, a multiple of 64 and of the slot. It becomes as many
  /// slots as fit, at most kMaxSegmentSlots, and must stay. False: there is no place in the list, or it has no slot.
  [[nodiscard]] bool add(Nla address, std::span<std::byte> memory) noexcept;
  /// As MailboxReader::poll.
  [[nodiscard]] std::optional<MessageHead> poll(std::span<std::byte, kMaxMessageBytes> into) noexcept;

  /// Segments that are posted and not yet read to their end.
  [[nodiscard]] std::size_t segments() const noexcept { return static_cast<std::size_t>(posted_ - reading_); }
  [[nodiscard]] std::uint64_t erroneous() const noexcept { return erroneous_; }
  [[nodiscard]] const std::optional<MessageHead>& cut() const noexcept { return cut_; }
  [[nodiscard]] std::uint64_t malformed() const noexcept { return malformed_; }

 private:
  struct Segment {
    SegmentDescriptor descriptor;
    std::byte* memory = nullptr;
  };

  [[nodiscard]] Segment& segment(std::uint64_t number) noexcept { return segments_[number % list_.size()]; }
  void post(const Segment& segment) noexcept;
  void go_on(std::size_t slots) noexcept;

  Page page_;
  PageWord posted_word_;
  std::span<SegmentDescriptor> list_;
  std::uint32_t slot_bytes_;
  std::array<Segment, kMaxSegments> segments_;
  std::uint64_t posted_ = 0;
  std::uint64_t reading_ = 0;  ///< Number of the segment,
  std::uint32_t slot_ = 0;     ///< and the slot in it.
  std::uint64_t erroneous_ = 0;
  std::uint64_t malformed_ = 0;
  std::optional<MessageHead> cut_;
};

}  // namespace stopbit::nic
