#pragma once

#include <algorithm>
#include <cstdint>

namespace stopbit::sim {

/// The edges of two clocks of any periods, in picoseconds; they fall where they fall, sometimes together.
class ClockPair {
 public:
  struct Edge {
    bool first = false;
    bool second = false;
  };

  ClockPair(std::uint64_t first_period, std::uint64_t second_period, std::uint64_t second_begins)
      : first_period_(first_period), second_period_(second_period), second_at_(second_begins) {}

  /// The next edge of one clock or of both.
  Edge next() {
    now_ = is_stopped_ ? second_at_ : std::min(first_at_, second_at_);
    const Edge edge{.first = !is_stopped_ && first_at_ == now_, .second = second_at_ == now_};
    if (edge.first) first_at_ += first_period_;
    if (edge.second) second_at_ += second_period_;
    return edge;
  }
  /// The first clock has no edges, or has them again.
  void stop_first(bool on) {
    is_stopped_ = on;
    first_at_ = std::max(first_at_, now_ + 1);
  }
  [[nodiscard]] std::uint64_t now_ps() const { return now_; }

 private:
  std::uint64_t first_period_;
  std::uint64_t second_period_;
  std::uint64_t first_at_ = 0;
  std::uint64_t second_at_;
  std::uint64_t now_ = 0;
  bool is_stopped_ = false;
};

}  // namespace stopbit::sim
