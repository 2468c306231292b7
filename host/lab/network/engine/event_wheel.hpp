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
/// the order in which they were added. Buckets keep their memory, so a network in steady state allocates nothing.
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
    std::vector<Event>& done = buckets_[now_ % kSpan];
    done.clear();
    cursor_ = 0;
    unmark(now_ % kSpan);
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
    const std::vector<Event>& bucket = buckets_[now_ % kSpan];
    if (cursor_ == bucket.size()) return false;
    event = bucket[cursor_++];
    --size_;
    return true;
  }

 private:
  static constexpr std::size_t kSpan = 4'096;
  static constexpr std::size_t kWords = kSpan / 64;

  struct Far {
    Cycle at;
    std::uint64_t order;
    Event event;
    [[nodiscard]] bool operator<(const Far& other) const noexcept {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void put(Cycle at, const Event& event) {
    buckets_[at % kSpan].push_back(event);
    used_[at % kSpan / 64] |= std::uint64_t{1} << (at % 64);
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
  std::size_t cursor_ = 0;
  std::size_t size_ = 0;
  std::uint64_t order_ = 0;
  std::array<std::uint64_t, kWords> used_{};
  std::vector<std::vector<Event>> buckets_{kSpan};
  std::priority_queue<Far> far_;
};

}  // namespace stopbit::network
