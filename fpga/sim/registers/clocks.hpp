#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stopbit::sim {

/// The edges of any number of clocks of any periods, in picoseconds. A clock may stop.
class Clocks {
 public:
  void add(std::uint64_t period, std::uint64_t begins) { clocks_.push_back({period, begins, false}); }

  /// The clocks that have the next edge: a bit for each. One clock at least runs.
  std::uint32_t next() {
    std::uint64_t at = ~std::uint64_t{0};
    for (const Clock& clock : clocks_) {
      if (!clock.is_stopped) at = std::min(at, clock.at);
    }
    now_ = at;
    std::uint32_t edges = 0;
    for (std::size_t i = 0; i < clocks_.size(); ++i) {
      if (clocks_[i].is_stopped || clocks_[i].at != at) continue;
      edges |= 1U << i;
      clocks_[i].at += clocks_[i].period;
    }
    return edges;
  }
  void stop(std::size_t clock, bool on) {
    clocks_[clock].is_stopped = on;
    clocks_[clock].at = std::max(clocks_[clock].at, now_ + 1);
  }
  [[nodiscard]] bool is_stopped(std::size_t clock) const { return clocks_[clock].is_stopped; }

 private:
  struct Clock {
    std::uint64_t period = 0;
    std::uint64_t at = 0;
    bool is_stopped = false;
  };
  std::vector<Clock> clocks_;
  std::uint64_t now_ = 0;
};

}  // namespace stopbit::sim
