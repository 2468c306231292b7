#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace stopbit::market {

/// How often snapshots of all instruments come, on the clock of arrivals. A cycle begins with packet numbers that begin
/// again, or with an instrument that comes again, as packet numbers of some feeds go on. Allocates when it is made
/// only.
class SnapshotCycle {
 public:
  /// `announced_ns`: 0: the exchange's announcement is not known. Of rows 1 to `rows`.
  SnapshotCycle(std::uint64_t announced_ns, std::uint32_t rows)
      : announced_ns_(announced_ns), rows_(rows), seen_(std::make_unique<std::uint64_t[]>(std::size_t{rows} + 1)) {}

  /// A snapshot of the row begins.
  void note(std::uint32_t row, std::uint64_t now_ns) noexcept {
    if (row == 0 || row > rows_) return;
    if (seen_[row] == begun_) begin(now_ns);
    seen_[row] = begun_;
  }
  /// Time passes. The first one waits for the first cycle.
  void tick(std::uint64_t now_ns) noexcept {
    if (since_ns_ == 0) since_ns_ = now_ns;
  }
  /// The clock of arrivals was set back; less than 0: it was not.
  void set_back(std::int64_t by_ns) noexcept {
    if (since_ns_ == 0) return;
    const auto by = static_cast<std::uint64_t>(by_ns);
    since_ns_ = by_ns > 0 && by >= since_ns_ ? 1 : since_ns_ - by;
  }
  void begin(std::uint64_t now_ns) noexcept {
    if (begun_ != 0) last_ns_ = now_ns > since_ns_ ? now_ns - since_ns_ : 0;
    since_ns_ = now_ns;
    ++begun_;
  }
  /// How many have begun.
  [[nodiscard]] std::uint64_t begun() const noexcept { return begun_; }
  [[nodiscard]] std::uint64_t announced_ns() const noexcept { return announced_ns_; }
  /// Of the last whole one, or of the present one if that is longer. Before the first one: how long it has not come.
  [[nodiscard]] std::uint64_t length_ns(std::uint64_t now_ns) const noexcept {
    if (since_ns_ == 0) return 0;
    return std::max(last_ns_, now_ns > since_ns_ ? now_ns - since_ns_ : 0);
  }

 private:
  std::uint64_t announced_ns_;
  std::uint32_t rows_;
  std::unique_ptr<std::uint64_t[]> seen_;  ///< By row the cycle of its newest snapshot; 0: none has come.
  std::uint64_t begun_ = 0;
  std::uint64_t since_ns_ = 0;
  std::uint64_t last_ns_ = 0;
};

}  // namespace stopbit::market
