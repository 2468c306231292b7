#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "host/nic/names.hpp"

/// The memory that a port and its node share: the command page and its rings. Layout: doc/nic-protocols.md.
namespace stopbit::nic {

inline constexpr std::uint64_t kPageMagic = 0x0001'4349'4E42'5453U;  ///< "STBNIC", version 1.

/// Words of the first page, each group on a cache line of its own. Only the side named writes.
enum class PageWord : std::size_t {
  Magic = 0,                 ///< Node: kPageMagic, stored last when the page is made.
  State = 1,                 ///< Node: a PortState.
  DroppedNotifications = 2,  ///< Node: for lack of room.
  DroppedMessages = 3,       ///< Node: for lack of room in a mailbox.
  SlotBytes = 4,             ///< Node: size of a mailbox slot, 64 or 128.
  Claimed = 8,               ///< Port: low commands whose slots have been given to producers.
  TakenSeen = 9,             ///< Port: Taken as a producer saw it last.
  Taken = 16,                ///< Node: low commands whose slots may be used again; updated now and then.
  NotificationsRead = 24,    ///< Port: updated now and then.
  HighRead = 32,             ///< Port: mailbox slots.
  HighPosted = 33,           ///< Port: descriptors of segments for its high mailbox (msg/segments.hpp).
  LowRead = 40,              ///< Port: mailbox slots.
  LowPosted = 41,            ///< Port: as HighPosted, for its low mailbox.
  HighClaimed = 48,          ///< Port: as Claimed, of high commands,
  HighTakenSeen = 49,        ///< Port: as TakenSeen, of high commands,
  TransferClaimed = 56,      ///< Port: and of transfers.
  TransferTakenSeen = 57,    ///< Port: and of transfers.
  HighTaken = 64,            ///< Node: as Taken, of high commands,
  TransferTaken = 72,        ///< Node: and of transfers.
};

enum class PortState : std::uint64_t { Closed = 0, Enabled = 1, Disabled = 2 };

/// Where everything of a port lies. All counts are fixed: what a port can say never depends on what it wrote there.
struct PageLayout {
  static constexpr std::size_t kCommands = 64;
  static constexpr std::size_t kNotifications = 64;
  static constexpr std::size_t kMailboxSlots = 64;
  static constexpr std::size_t kMaxSlotBytes = 128;
  static constexpr std::size_t kCommandsAt = kPageBytes;
  static constexpr std::size_t kNotificationsAt = kCommandsAt + kCommands * kLineBytes;
  static constexpr std::size_t kHighAt = kNotificationsAt + kNotifications * kLineBytes;
  static constexpr std::size_t kLowAt = kHighAt + kMailboxSlots * kMaxSlotBytes;
  static constexpr std::size_t kHighCommandsAt = kLowAt + kMailboxSlots * kMaxSlotBytes;
  static constexpr std::size_t kTransfersAt = kHighCommandsAt + kCommands * kLineBytes;
  static constexpr std::size_t kEventsAt = kTransfersAt + kCommands * kLineBytes;  ///< notify/event_protocol.hpp
  static constexpr std::size_t kBytes = kEventsAt + kPageBytes;
};

/// The three command rings of a port: messages of either priority, and transfers, which may take long. A ring that
/// waits never holds up another. With the two mailboxes these are the five rings of a network interface in memory.
enum class CommandRing : std::uint8_t { Low = 0, High = 1, Transfer = 2 };
inline constexpr std::size_t kCommandRings = 3;

/// Location of a ring, and where its positions are reported.
struct RingPlace {
  std::size_t at;
  PageWord claimed;
  PageWord taken_seen;  ///< On the line of `claimed`.
  PageWord taken;
};
[[nodiscard]] constexpr RingPlace place_of(CommandRing ring) noexcept {
  switch (ring) {
    case CommandRing::High:
      return {PageLayout::kHighCommandsAt, PageWord::HighClaimed, PageWord::HighTakenSeen, PageWord::HighTaken};
    case CommandRing::Transfer:
      return {PageLayout::kTransfersAt, PageWord::TransferClaimed, PageWord::TransferTakenSeen,
              PageWord::TransferTaken};
    default: return {PageLayout::kCommandsAt, PageWord::Claimed, PageWord::TakenSeen, PageWord::Taken};
  }
}

/// A view of these pages as words. The other side may write anything there at any time, so each word is read once.
/// The memory must be page-aligned, PageLayout::kBytes long, and outlive the view.
class Page {
 public:
  explicit Page(std::span<std::byte, PageLayout::kBytes> memory) noexcept
      : words_(reinterpret_cast<std::uint64_t*>(memory.data())) {}

  [[nodiscard]] std::atomic_ref<std::uint64_t> word(PageWord which) const noexcept {
    return std::atomic_ref<std::uint64_t>(words_[static_cast<std::size_t>(which)]);
  }
  /// Word `index` of the line at byte `at`, which must be inside.
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t at, std::size_t index) const noexcept {
    return std::atomic_ref<std::uint64_t>(words_[at / sizeof(std::uint64_t) + index]);
  }
  /// The line at byte `at`, for a store of all of it.
  [[nodiscard]] void* line(std::size_t at) const noexcept { return words_ + at / sizeof(std::uint64_t); }
  /// Where that word lies, for a futex.
  [[nodiscard]] const void* address(std::size_t at, std::size_t index) const noexcept {
    return words_ + at / sizeof(std::uint64_t) + index;
  }
  [[nodiscard]] PortState state() const noexcept {
    return static_cast<PortState>(word(PageWord::State).load(std::memory_order_acquire));
  }

 private:
  std::uint64_t* words_;
};

}  // namespace stopbit::nic
