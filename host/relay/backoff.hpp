#pragma once

#include <algorithm>
#include <cstdint>

namespace stopbit::relay {

/// When to try again after failures: 0.1 s after the first, then after twice as long each time, up to 2 s.
class Backoff {
 public:
  [[nodiscard]] bool is_over(std::uint64_t now_ns) const noexcept { return now_ns >= retry_ns_; }
  void failed(std::uint64_t now_ns) noexcept {
    wait_ns_ = std::clamp(wait_ns_ * 2, kFirstNs, kLastNs);
    retry_ns_ = now_ns + wait_ns_;
  }
  void succeeded() noexcept { wait_ns_ = retry_ns_ = 0; }

 private:
  static constexpr std::uint64_t kFirstNs = 100'000'000;
  static constexpr std::uint64_t kLastNs = 2'000'000'000;

  std::uint64_t wait_ns_ = 0;
  std::uint64_t retry_ns_ = 0;
};

}  // namespace stopbit::relay
