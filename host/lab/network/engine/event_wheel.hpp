#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <queue>
#include <vector>

#include "host/lab/network/names.hpp"

namespace stopbit::network {

enum class EventKind : std::uint8_t {
  Inject,     ///< Host a looks for a packet to send.
  Arrive,     ///< Packet a has been routed at input b.
  Release,    ///< Output a and input b are free again.
  Credit,     ///< c slots of flow b are returned to channel a.
  Deliver,    ///< The tail of packet a has reached host b.
  Arbitrate,  ///< Switch a looks at its requests again.
  Escape,     ///< Packet a, if its serial number is still b, leaves the adaptive channel.
  Check,      ///< Output a: is it blocked since b?
  Reinject,   ///< Packet a, which was removed, waits at host b again.
};

struct Event {
  EventKind kind = EventKind::Inject;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
};

/// Events by cycle: a wheel of buckets for the next 4,096 cycles, a heap for later ones. Events of one cycle come in
/// the order in which they were added. Buckets are chains of blocks from a pool, so memory follows the number of events
/// under way, and a network in steady state allocates nothing.
class EventWheel {
 public:
  [[nodiscard]] Cycle now() const noexcept { return now_; }
  /// Events that have not been popped.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// `at` is not before now.
  void add(Cycle at, const Event& event) {
    ++size_;
    if (at - now_ >= kSpan) {
      far_.push({at, order_++, event});
      return;
    }
    put(at, event);
  }

  /// Goes on to the next cycle that has events, at most to `limit`. False: there is none; the time is then `limit`,
  /// unless `limit` is the end of time.
  [[nodiscard]] bool advance(Cycle limit) {
    clear_bucket();
    const Cycle next = std::min(next_near(), far_.empty() ? ~Cycle{0} : far_.top().at);
    const bool found = next <= limit && next != ~Cycle{0};
    if (!found && limit == ~Cycle{0}) return false;
    now_ = found ? next : limit;
    while (!far_.empty() && far_.top().at - now_ < kSpan) {
      put(far_.top().at, far_.top().event);
      far_.pop();
    }
    return found;
  }

  /// The next event of this cycle. False: there is none left.
  [[nodiscard]] bool pop(Event& event) {
    const Bucket& bucket = buckets_[now_ % kSpan];
    if (block_ == kNone) block_ = bucket.head;
    if (block_ == kNone) return false;
    if (cursor_ == kBlock) {
      if (blocks_[block_].next == kNone) return false;
      block_ = blocks_[block_].next;
      cursor_ = 0;
    }
    if (cursor_ == blocks_[block_].count) return false;
    event = blocks_[block_].events[cursor_++];
    --size_;
    return true;
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return blocks_.size() * sizeof(Block) + far_.size() * sizeof(Far) + buckets_.size() * sizeof(Bucket);
  }

 private:
  static constexpr std::size_t kSpan = 4'096;
  static constexpr std::size_t kWords = kSpan / 64;
  static constexpr std::uint32_t kBlock = 31;  ///< Events: a block is eight cache lines.

  struct Block {
    std::array<Event, kBlock> events;
    std::uint32_t count = 0;
    std::uint32_t next = kNone;
  };
  struct Bucket {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };

  struct Far {
    Cycle at;
    std::uint64_t order;
    Event event;
    [[nodiscard]] bool operator<(const Far& other) const noexcept {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void put(Cycle at, const Event& event) {
    Bucket& bucket = buckets_[at % kSpan];
    if (bucket.tail == kNone || blocks_[bucket.tail].count == kBlock) {
      const std::uint32_t block = take_block();
      (bucket.tail == kNone ? bucket.head : blocks_[bucket.tail].next) = block;
      bucket.tail = block;
      used_[at % kSpan / 64] |= std::uint64_t{1} << (at % 64);
    }
    Block& block = blocks_[bucket.tail];
    block.events[block.count++] = event;
  }

  [[nodiscard]] std::uint32_t take_block() {
    std::uint32_t number = free_;
    if (number == kNone) {
      number = static_cast<std::uint32_t>(blocks_.size());
      blocks_.emplace_back();
    } else {
      free_ = blocks_[number].next;
      blocks_[number].count = 0;
      blocks_[number].next = kNone;
    }
    return number;
  }

  /// Gives the blocks of this cycle back.
  void clear_bucket() noexcept {
    Bucket& bucket = buckets_[now_ % kSpan];
    if (bucket.head != kNone) {
      blocks_[bucket.tail].next = free_;
      free_ = bucket.head;
      bucket = {};
    }
    block_ = kNone;
    cursor_ = 0;
    unmark(now_ % kSpan);
  }
  void unmark(std::size_t slot) noexcept { used_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64)); }

  /// The next cycle after now with a bucket that is not empty.
  [[nodiscard]] Cycle next_near() const noexcept {
    const std::size_t begin = (now_ + 1) % kSpan;
    for (std::size_t i = 0; i <= kWords; ++i) {
      const std::size_t word = (begin / 64 + i) % kWords;
      std::uint64_t bits = used_[word];
      if (i == 0) bits &= ~std::uint64_t{0} << (begin % 64);
      if (i == kWords) bits &= ~(~std::uint64_t{0} << (begin % 64));
      if (bits == 0) continue;
      const std::size_t slot = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      return now_ + 1 + (slot + kSpan - begin) % kSpan;
    }
    return ~Cycle{0};
  }

  Cycle now_ = 0;
  std::uint32_t block_ = kNone;  ///< Of the next event of this cycle,
  std::uint32_t cursor_ = 0;     ///< and its place in it.
  std::uint32_t free_ = kNone;
  std::size_t size_ = 0;
  std::uint64_t order_ = 0;
  std::array<std::uint64_t, kWords> used_{};
  std::vector<Bucket> buckets_{kSpan};
  std::vector<Block> blocks_;
  std::priority_queue<Far> far_;
};

}  // namespace stopbit::network
