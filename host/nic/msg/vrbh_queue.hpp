#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "host/nic/atu/atu.hpp"
#include "host/nic/error.hpp"
#include "host/nic/queue/page.hpp"

/// Virtual ring buffer handler: one ring out of many pieces of memory, wherever the port got them (EXTOLL, second
/// release, 2.4). What the hardware's `stopbit_vrbh_queue` does, for the mailboxes of a node; doc/nic-protocols.md
/// compares the two.
namespace stopbit::nic {

/// A segment, in the port's list of them: 16 bytes, little-endian, as in the hardware.
struct SegmentDescriptor {
  Nla address = 0;          ///< A multiple of 64, and of the slot.
  std::uint32_t slots = 0;  ///< 1 to kMaxSegmentSlots.
  std::uint32_t zero = 0;
};
static_assert(sizeof(SegmentDescriptor) == 16);

inline constexpr std::uint32_t kMaxSegmentSlots = 65'536;
/// Places of a list. Below 255, so that a segment that comes again never has the lap that it had.
inline constexpr std::uint32_t kMaxSegments = 128;

/// A ring of segments, as its port asks for it.
struct SegmentRing {
  Nla list = 0;                   ///< Descriptor number n lies at place n modulo `places`. A multiple of 64.
  std::uint32_t places = 0;       ///< 2 to kMaxSegments.
  std::uint32_t slot_bytes = 64;  ///< 16, 32, 64 or 128.
  std::uint64_t hold_ns =
      0;  ///< How long a message waits for a segment; 0: it is dropped at once. For the node to allow.
};
[[nodiscard]] constexpr bool is_slot_size(std::uint64_t bytes) noexcept {
  return bytes == 16 || bytes == 32 || bytes == 64 || bytes == 128;
}

/// Hands out the addresses of one ring's slots, segment after segment, as far as the port has posted descriptors.
///
/// Holds the segment in use and up to kPrefetch following ones. Slots taken are on trial until `commit`; `revoke` goes
/// back to where the last commit was, over any number of segments. A descriptor that makes no sense ends the queue: no
/// slot is handed out that the list does not name. Everything in memory is the port's, and so are the rights by which
/// it is read: each descriptor is copied once and then checked. One thread. Never allocates.
class VrbhQueue {
 public:
  static constexpr std::size_t kPrefetch = 4;

  /// `ring` must have passed `check`; `atu` must outlive it. `posted` is how many descriptors the port has posted,
  /// ever.
  VrbhQueue(Atu& atu, Vpid owner, const Page& page, PageWord posted, const SegmentRing& ring) noexcept
      : atu_(&atu), owner_(owner), page_(page), posted_word_(posted), ring_(ring) {}

  /// Why the ring cannot be: ERR_CMD_INV for sizes and places, ERR_OOFFSET for a list that is not aligned.
  [[nodiscard]] static Error check(const SegmentRing& ring) noexcept;

  struct Slot {
    Nla address = 0;
    std::uint64_t segment = 0;  ///< Number of its descriptor, from 0.
  };
  /// The next slot; nothing if its descriptor is late, or the queue has ended.
  [[nodiscard]] std::optional<Slot> take() noexcept;
  void commit() noexcept;
  void revoke() noexcept;
  /// Fetches descriptors ahead, if a segment has been used up since the last call: after a message, so that the message
  /// is not delayed.
  void prefetch() noexcept;

  /// Ends it, for a reason that the queue does not see itself.
  void end(Error error) noexcept;
  [[nodiscard]] bool has_ended() const noexcept { return error_ != Error::None; }
  /// Why it ended: ERR_TOFFSET, ERR_TLENGTH or ERR_CMD_INV for a field of a descriptor, ERR_TFAULT for memory that is
  /// not the port's to be written (or, of the list, to be read), or not any more.
  [[nodiscard]] Error error() const noexcept { return error_; }
  /// Number of the descriptor at fault.
  [[nodiscard]] std::uint64_t culprit() const noexcept { return culprit_; }
  [[nodiscard]] std::uint64_t posted() const noexcept {
    return page_.word(posted_word_).load(std::memory_order_acquire);
  }

  struct Counters {
    std::uint64_t taken = 0;     ///< Slots handed out, on trial or not.
    std::uint64_t fetched = 0;   ///< Descriptors.
    std::uint64_t late = 0;      ///< Slots requested before a descriptor had come.
    std::uint64_t revoked = 0;   ///< Trials that were taken back.
    std::uint64_t switched = 0;  ///< Segments begun whose descriptor had arrived in time.
  };
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

 private:
  struct Segment {
    Nla address = 0;
    std::uint32_t slots = 0;
  };
  struct Place {
    bool is_valid = false;
    Nla address = 0;                          ///< Of the next slot.
    std::uint32_t left = 0;                   ///< Slots, that one included.
    std::uint64_t index = ~std::uint64_t{0};  ///< Of the descriptor; before the first one: -1.
  };

  bool fetch() noexcept;
  [[nodiscard]] bool is_writable(Nla address) noexcept;

  Atu* atu_;
  Vpid owner_;
  Page page_;
  PageWord posted_word_;
  SegmentRing ring_;
  Place place_;
  Place settled_;
  bool has_crossed_ = false;  ///< On trial, over the end of a segment: what follows must be fetched again.
  bool is_on_trial_ = false;
  bool is_used_up_ = true;  ///< There may be something to prefetch.
  std::array<Segment, kPrefetch> next_;
  std::size_t next_first_ = 0;
  std::size_t next_count_ = 0;
  std::uint64_t fetch_index_ = 0;
  Error error_ = Error::None;
  std::uint64_t culprit_ = 0;
  Counters counters_;
};

}  // namespace stopbit::nic
