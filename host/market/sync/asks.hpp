#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "host/market/sync/numbers.hpp"

namespace stopbit::market {

/// Losses that wait for a first ask or another one. The oldest makes room for a new one, and is counted.
class Asks {
 public:
  static constexpr std::size_t kRoom = 16;

  Asks(std::uint64_t wait_ns, std::uint64_t repeat_ns, std::uint64_t give_up_ns)
      : wait_ns_(wait_ns), repeat_ns_(repeat_ns), give_up_ns_(give_up_ns) {}

  /// Whether to ask at once.
  [[nodiscard]] bool add(std::uint64_t first, std::uint64_t last, std::uint64_t now_ns) noexcept {
    const bool is_now = wait_ns_ == 0;
    if (is_now && repeat_ns_ == 0) return true;
    if (count_ == kRoom) {
      ++dropped_;
      remove(0);
    }
    asks_[count_++] = {first, last, now_ns + (is_now ? repeat_ns_ : wait_ns_), now_ns + give_up_ns_};
    return is_now;
  }
  /// Calls ask(first, last) for what is due and still missing.
  template <class Ask>
  void tick(const Holes& holes, const Numbers& numbers, std::uint64_t now_ns, const Ask& ask) noexcept {
    for (std::size_t i = 0; i < count_;) {
      Due& due = asks_[i];
      const bool is_due = now_ns >= due.at_ns;
      bool is_open = false;
      holes.for_each(numbers, due.first, due.last, [&](std::uint64_t first, std::uint64_t last) {
        is_open = true;
        if (is_due && now_ns < due.end_ns) ask(first, last);
      });
      if (!is_open || now_ns >= due.end_ns || (is_due && repeat_ns_ == 0)) {
        remove(i);
        continue;
      }
      if (is_due) due.at_ns = now_ns + repeat_ns_;
      ++i;
    }
  }
  void clear() noexcept { count_ = 0; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  struct Due {
    std::uint64_t first;
    std::uint64_t last;
    std::uint64_t at_ns;
    std::uint64_t end_ns;
  };

  void remove(std::size_t at) noexcept {
    --count_;
    for (; at < count_; ++at) asks_[at] = asks_[at + 1];
  }

  std::uint64_t wait_ns_;
  std::uint64_t repeat_ns_;
  std::uint64_t give_up_ns_;
  std::array<Due, kRoom> asks_{};
  std::size_t count_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace stopbit::market
