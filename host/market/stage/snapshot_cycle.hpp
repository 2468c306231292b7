#pragma once

#include <algorithm>
#include <cstdint>

namespace stopbit::market {

/// How often snapshots of all instruments come, on the clock of arrivals. Pure.
class SnapshotCycle {
 public:
  /// `announced_ns`: 0: the exchange's announcement is not known.
  explicit SnapshotCycle(std::uint64_t announced_ns) : announced_ns_(announced_ns) {}

  void begin(std::uint64_t now_ns) noexcept {
    if (begun_ != 0) last_ns_ = now_ns > since_ns_ ? now_ns - since_ns_ : 0;
    since_ns_ = now_ns;
    ++begun_;
  }
  /// How many have begun.
  [[nodiscard]] std::uint64_t begun() const noexcept { return begun_; }
  [[nodiscard]] std::uint64_t announced_ns() const noexcept { return announced_ns_; }
  /// Of the last whole one, or of the present one if that is longer; 0: none has begun.
  [[nodiscard]] std::uint64_t length_ns(std::uint64_t now_ns) const noexcept {
    if (begun_ == 0) return 0;
    return std::max(last_ns_, now_ns > since_ns_ ? now_ns - since_ns_ : 0);
  }

 private:
  std::uint64_t announced_ns_;
  std::uint64_t begun_ = 0;
  std::uint64_t since_ns_ = 0;
  std::uint64_t last_ns_ = 0;
};

}  // namespace stopbit::market
