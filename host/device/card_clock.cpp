#include "host/device/card_clock.hpp"

#include <algorithm>

namespace stopbit::device {
namespace {

constexpr double kMostNsPerCycle = 255.99;
constexpr double kGain = 0.25;  // of a new measurement of the rate: a look takes a microsecond, more or less

}  // namespace

Status CardClock::set(double ns_per_cycle, std::uint64_t offset_ns) {
  rate_ = ns_per_cycle;
  offset_ns_ = offset_ns;
  return kernel_->set_clock({.side_band = false, .ns_per_cycle = ns_per_cycle, .offset_ns = offset_ns});
}

Status CardClock::step(std::uint64_t wall_ns) {
  if (state_ == State::Unknown) {
    if (const Status done = set(ns_per_cycle_, 0); !done) return done;
  }
  const Result<std::uint64_t> read = kernel_->clock();
  if (!read) return Failure{read.message()};
  const std::uint64_t card_ns = read.value();
  const double card_passed = static_cast<double>(card_ns - last_card_ns_);
  const double wall_passed = static_cast<double>(static_cast<std::int64_t>(wall_ns - last_wall_ns_));
  last_wall_ns_ = wall_ns;
  last_card_ns_ = card_ns;
  if (state_ == State::Unknown) {
    state_ = State::Measuring;
    return Done{};
  }
  if (state_ == State::Measuring) {
    if (card_passed <= 0 || wall_passed <= 0) return Done{};
    ns_per_cycle_ = std::min(ns_per_cycle_ * wall_passed / card_passed, kMostNsPerCycle);
    state_ = State::Set;
    last_card_ns_ = wall_ns;
    return set(ns_per_cycle_, wall_ns - card_ns);
  }
  error_ns_ = static_cast<std::int64_t>(card_ns - wall_ns);
  if (error_ns_ > kJumpNs || error_ns_ < -kJumpNs) {
    ++jumps_;
    last_card_ns_ = wall_ns;
    return set(ns_per_cycle_, offset_ns_ - static_cast<std::uint64_t>(error_ns_));
  }
  if (card_passed <= 0 || wall_passed <= 0) return Done{};
  const double measured = rate_ * wall_passed / card_passed;
  ns_per_cycle_ = std::min(ns_per_cycle_ + kGain * (measured - ns_per_cycle_), kMostNsPerCycle);
  const double slew = std::clamp(static_cast<double>(error_ns_) / wall_passed, -kMostSlew, kMostSlew);
  return set(std::min(ns_per_cycle_ * (1 - slew), kMostNsPerCycle), offset_ns_);
}

}  // namespace stopbit::device
