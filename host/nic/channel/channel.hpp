#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/nic/notify/events.hpp"
#include "host/nic/queue/command_queue.hpp"

namespace stopbit::nic {

/// A stream of messages from one port to another, in order and without loss: each message is one put into the next slot
/// of a ring in the receiver's memory, followed by an event. The sender has a credit for each slot except one; the
/// receiver gives them back with one command for `kReplenish` messages.
///
/// A slot: 8 bytes number of its message plus 1 | 4 bytes length | 4 bytes 0 | the message. Several parallel streams to
/// one receiver are several channels, each with its own events.
struct ChannelLayout {
  static constexpr std::size_t kHeaderBytes = 16;
  static constexpr std::uint32_t kReplenish = 32;
  static constexpr std::uint32_t kMinSlots =
      kReplenish + 1;  ///< With fewer, sender and receiver could wait in a circle.

  std::uint32_t slots = 64;
  std::uint32_t slot_bytes = 128;  ///< A multiple of 8, more than the header.

  [[nodiscard]] constexpr bool is_sound() const noexcept {
    return slots >= kMinSlots && slots <= 65'536 && slot_bytes % 8 == 0 && slot_bytes > kHeaderBytes &&
           slot_bytes <= kMaxTransferBytes;
  }
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return std::size_t{slots} * slot_bytes; }
  [[nodiscard]] constexpr std::size_t max_message() const noexcept { return slot_bytes - kHeaderBytes; }
};

/// The other end of a channel, as its owner made it known.
struct ChannelPeer {
  NodeId node = 0;
  Vpid vpid = 0;
  std::uint8_t event = 0;  ///< That the other end waits for.
  WindowName window;       ///< Sender only: the receiver's ring, from its first byte.
};

enum class ChannelResult : std::uint8_t {
  Done,
  NoCredit,   ///< The receiver has not read enough.
  QueueFull,  ///< The port's own command ring has no room.
  TooLong,    ///< Longer than a slot has room for, or empty.
};

/// The sending end. `staging` is registered memory of the port, layout.bytes() long, at `staging_nla`: a slot of it is
/// used again only when the receiver has given its credit back, so the node has read it by then. `layout` must be
/// sound. One thread. Never waits, never allocates.
template <std::uint32_t kReplenish, class Queue, class Events>
class BasicChannelSender {
 public:
  BasicChannelSender(const Queue& queue, Events& events, std::uint8_t credit_event, std::span<std::byte> staging,
                     Nla staging_nla, const ChannelLayout& layout, const ChannelPeer& peer) noexcept
      : queue_(queue),
        events_(events),
        staging_(staging),
        staging_nla_(staging_nla),
        layout_(layout),
        peer_(peer),
        credits_(layout.slots - 1),
        credit_event_(credit_event) {}

  /// Copies the message.
  [[nodiscard]] ChannelResult send(std::span<const std::byte> message) noexcept;
  /// Where the next message may be written instead, max_message() bytes; empty without a credit.
  [[nodiscard]] std::span<std::byte> place() noexcept;
  /// Sends what was written there; again, if the queue was full.
  [[nodiscard]] ChannelResult send_placed(std::size_t length) noexcept;
  /// Messages that may be sent now.
  [[nodiscard]] std::uint32_t credits() noexcept;
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

 private:
  template <class>
  friend struct ChannelInside;  ///< A model check saves and restores the state.

  Queue queue_;
  Events& events_;
  std::span<std::byte> staging_;
  Nla staging_nla_;
  ChannelLayout layout_;
  ChannelPeer peer_;
  std::uint32_t credits_;
  std::uint8_t credit_event_;
  std::uint64_t sent_ = 0;
};

/// The receiving end. `ring` is registered memory of the port, layout.bytes() long, accessed by the sender through a
/// window. One thread. The sender's data is trusted only within a slot.
template <std::uint32_t kReplenish, class Queue, class Events>
class BasicChannelReceiver {
 public:
  BasicChannelReceiver(const Queue& queue, Events& events, std::uint8_t message_event, std::span<const std::byte> ring,
                       const ChannelLayout& layout, const ChannelPeer& peer) noexcept
      : queue_(queue), events_(events), ring_(ring), layout_(layout), peer_(peer), message_event_(message_event) {}

  /// The next message; empty if there is none. Valid until the next call, which gives its slot back.
  [[nodiscard]] std::span<const std::byte> receive() noexcept;
  /// The same, but sleeps first if there is none.
  [[nodiscard]] std::span<const std::byte> receive(std::chrono::nanoseconds timeout) noexcept;
  /// The message of an event that was already taken: call it once for each call of an event handler, or each time
  /// EventCounters::next returns the event. Empty: the slot is damaged. Use it to serve many channels.
  [[nodiscard]] std::span<const std::byte> receive_taken() noexcept;

  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
  /// Slots whose number or length no honest sender writes; they are skipped.
  [[nodiscard]] std::uint64_t damaged() const noexcept { return damaged_; }

 private:
  template <class>
  friend struct ChannelInside;  ///< A model check saves and restores the state.

  [[nodiscard]] std::span<const std::byte> take() noexcept;
  [[nodiscard]] std::span<const std::byte> next_slot() noexcept;
  void give_back() noexcept;

  Queue queue_;
  Events& events_;
  std::span<const std::byte> ring_;
  ChannelLayout layout_;
  ChannelPeer peer_;
  std::uint8_t message_event_;
  bool has_slot_ = false;    ///< The message of the last call.
  std::uint32_t freed_ = 0;  ///< Free slots not yet reported to the sender.
  std::uint64_t received_ = 0;
  std::uint64_t damaged_ = 0;
};

using ChannelSender = BasicChannelSender<ChannelLayout::kReplenish, CommandQueue, EventCounters>;
using ChannelReceiver = BasicChannelReceiver<ChannelLayout::kReplenish, CommandQueue, EventCounters>;
extern template class BasicChannelSender<ChannelLayout::kReplenish, CommandQueue, EventCounters>;
extern template class BasicChannelReceiver<ChannelLayout::kReplenish, CommandQueue, EventCounters>;

}  // namespace stopbit::nic
