#pragma once

#include <cstdint>

#include "host/device/kernel.hpp"

namespace stopbit::device {

/// Keeps the kernel's clock with the host's wall clock, by its rate and its offset: a small error is made good by
/// running a little faster or slower until the next step, so times never go back; a large one by one jump.
///
/// One thread, that of the kernel.
class CardClock {
 public:
  explicit CardClock(Kernel& kernel) : kernel_(&kernel) {}

  /// An error that is not made good by the rate: the wall clock was stepped, or the card stood still.
  static constexpr std::int64_t kJumpNs = 1'000'000;
  /// The rate differs from the measured one by at most this part.
  static constexpr double kMostSlew = 500e-6;

  /// Looks at the clock, whose time was read when the wall clock showed `wall_ns`, and corrects it. Call it regularly,
  /// for instance once a second: the first call begins to measure the rate, the second one sets the time.
  [[nodiscard]] Status step(std::uint64_t wall_ns);

  /// Card minus wall at the last look, ns; 0 before the clock was set.
  [[nodiscard]] std::int64_t error_ns() const noexcept { return error_ns_; }
  /// Jumps, but for the one that set the clock.
  [[nodiscard]] std::uint64_t jumps() const noexcept { return jumps_; }
  [[nodiscard]] bool is_set() const noexcept { return state_ == State::Set; }

 private:
  enum class State : std::uint8_t { Unknown, Measuring, Set };
  [[nodiscard]] Status set(double ns_per_cycle, std::uint64_t offset_ns);

  Kernel* kernel_;
  State state_ = State::Unknown;
  double ns_per_cycle_ = 1;  ///< As measured.
  double rate_ = 1;          ///< In force: with what makes an error good.
  std::uint64_t offset_ns_ = 0;
  std::uint64_t last_wall_ns_ = 0;
  std::uint64_t last_card_ns_ = 0;
  std::int64_t error_ns_ = 0;
  std::uint64_t jumps_ = 0;
};

}  // namespace stopbit::device
