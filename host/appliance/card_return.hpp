#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "host/feed/description/description.hpp"

namespace stopbit::appliance {

/// Why a card cannot take these channels back after software has had them, so that no record is missing, none comes
/// twice, and all are as software would make them; empty if it can.
[[nodiscard]] std::string why_no_return(std::span<const feed::Channel> channels);

/// When a card that has failed is looked at again: soon at first, and each time after twice as long, until it has
/// worked for a while. One thread; times are of one monotonic clock, ns.
class CardReturn {
 public:
  static constexpr std::uint64_t kFirstNs = 1'000'000'000;
  static constexpr std::uint64_t kMostNs = 300'000'000'000;
  /// A card that fails again sooner than this many times its last wait, and kLeastNs, flaps.
  static constexpr std::uint64_t kSteady = 10;
  static constexpr std::uint64_t kLeastNs = 60'000'000'000;

  /// Call it while the card is missed. @returns whether it is to be looked at now; then it was, in vain unless
  /// came_back() follows.
  [[nodiscard]] bool is_due(std::uint64_t now_ns) noexcept {
    if (!next_ns_) {
      if (came_back_ns_ && now_ns - *came_back_ns_ >= std::max(kLeastNs, kSteady * wait_ns_)) wait_ns_ = kFirstNs;
      came_back_ns_.reset();
      next_ns_ = now_ns + wait_ns_;
    }
    if (now_ns < *next_ns_) return false;
    wait_ns_ = std::min(2 * wait_ns_, kMostNs);
    next_ns_ = now_ns + wait_ns_;
    return true;
  }
  void came_back(std::uint64_t now_ns) noexcept {
    came_back_ns_ = now_ns;
    next_ns_.reset();
  }
  /// Until the next look, or before the one that has brought it back.
  [[nodiscard]] std::uint64_t wait_ns() const noexcept { return wait_ns_; }

 private:
  std::uint64_t wait_ns_ = kFirstNs;
  std::optional<std::uint64_t> next_ns_;
  std::optional<std::uint64_t> came_back_ns_;
};

}  // namespace stopbit::appliance
