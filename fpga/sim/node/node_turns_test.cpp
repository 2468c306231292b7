/// Which lane asks the crossbar, in each cycle.
#include <Vrtl_node_turns.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bench.hpp"

namespace stopbit::sim {
namespace {

constexpr std::size_t kLanes = 3;
constexpr std::uint32_t kDwell = 12;  // as the ports of a node have it

class NodeTurns : public ::testing::Test {
 protected:
  NodeTurns() { reset(); }

  void reset() {
    bench_->ahead_i = bench_->grant_i = 0;
    bench_.reset();
    asks_.reset();
    asked_.reset();
    last_ = kLanes - 1;
  }
  /// A cycle, in which outputs are those of the page: a lane asks until it is granted, or for `kDwell` cycles.
  void cycle(unsigned ahead, bool may_grant) {
    const bool grant = may_grant && asked_;
    bench_->ahead_i = static_cast<std::uint8_t>(ahead);
    bench_->grant_i = grant;
    bench_.settle();
    const bool shows = asks_ && !grant;
    ASSERT_EQ(bench_->asks_o != 0, shows) << "cycle " << bench_.cycles();
    if (shows) {
      ASSERT_EQ(bench_->lane_o, asks_) << "cycle " << bench_.cycles();
    }
    if (grant) {
      ASSERT_EQ(bench_->granted_o, asked_) << "cycle " << bench_.cycles();
    }
    cycles_ += shows ? 1 : 0;
    const bool was_granted = grant && asked_ == asks_;
    const bool is_over = !asks_ || was_granted || (!grant && cycles_ == kDwell);
    granted_ += grant ? 1 : 0;
    timed_out_ += is_over && asks_ && !was_granted ? 1 : 0;
    asked_.reset();
    if (shows) asked_ = asks_;
    if (is_over) {
      asks_ = next(ahead);
      cycles_ = 0;
    }
    bench_.step();
  }
  std::optional<std::size_t> next(unsigned ahead) {
    for (std::size_t i = 1; i <= kLanes; ++i) {
      const std::size_t lane = (last_ + i) % kLanes;
      if ((ahead >> lane & 1U) != 0) return last_ = lane;
    }
    return std::nullopt;
  }

  Bench<Vrtl_node_turns> bench_{5};
  std::optional<std::size_t> asks_;   ///< The lane whose turn it is.
  std::optional<std::size_t> asked_;  ///< The one that asked in the cycle before.
  std::size_t last_ = kLanes - 1;
  std::uint32_t cycles_ = 0;  ///< In which it has asked.
  std::uint64_t granted_ = 0;
  std::uint64_t timed_out_ = 0;
};

TEST_F(NodeTurns, are_those_of_its_model_whatever_waits_and_is_granted) {
  Random random(6);
  std::uint64_t resets = 0;
  for (int phase = 0; phase < 400; ++phase) {
    const auto grants = static_cast<std::uint32_t>(random.below(4) * 5);  // in percent
    unsigned ahead = static_cast<unsigned>(random.below(1U << kLanes));
    for (int i = 0; i < 100; ++i) {
      if (random.chance(10)) ahead = static_cast<unsigned>(random.below(1U << kLanes));
      cycle(ahead, random.chance(grants));
      if (HasFatalFailure()) return;
    }
    if (random.chance(20)) {
      reset();
      ++resets;
    }
  }
  EXPECT_GT(granted_, 1'000U);
  EXPECT_GT(timed_out_, 1'000U);
  EXPECT_GT(resets, 40U);
}

}  // namespace
}  // namespace stopbit::sim
