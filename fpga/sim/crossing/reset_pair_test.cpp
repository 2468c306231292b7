#include <Vstopbit_reset_pair.h>
#include <gtest/gtest.h>
#include <verilated.h>

#include <cstdint>

#include "bench.hpp"
#include "clock_pair.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kPeriods[] = {2'560, 4'001, 5'000, 31'000};

/// The other side's clock is the first of the pair: it may stop.
class Resets {
 public:
  Resets(std::uint64_t seed, std::uint64_t other_period, std::uint64_t period)
      : random_(seed), clocks_(other_period, period, random_.below(period)) {
    context_.randReset(2);
    context_.randSeed(static_cast<int>(seed));
    model_.clk_i = 0;
    model_.other_clk_i = 0;
    model_.rst_ni = 1;
  }
  ~Resets() { model_.final(); }
  Resets(const Resets&) = delete;
  Resets& operator=(const Resets&) = delete;

  Random& random() { return random_; }
  ClockPair& clocks() { return clocks_; }
  [[nodiscard]] bool is_running() const { return model_.rst_no && model_.other_rst_no; }
  [[nodiscard]] bool is_this_running() const { return model_.rst_no; }
  [[nodiscard]] int together() const { return together_; }
  [[nodiscard]] int together_other() const { return together_other_; }

  void pulse(int cycles) {
    model_.rst_ni = 0;
    together_ = 0;
    together_other_ = 0;
    for (int seen = 0; seen < cycles;) seen += edge() ? 1 : 0;
    EXPECT_FALSE(model_.rst_no);
    model_.rst_ni = 1;
  }
  /// True if it was an edge of this side's clock.
  bool edge() {
    const auto [other, here] = clocks_.next();
    if (!model_.rst_no && !model_.other_rst_no) {
      together_ += here ? 1 : 0;
      together_other_ += other ? 1 : 0;
    }
    model_.eval();
    if (other) model_.other_clk_i = 1;
    if (here) model_.clk_i = 1;
    model_.eval();
    if (other) model_.other_clk_i = 0;
    if (here) model_.clk_i = 0;
    model_.eval();
    return here;
  }

 private:
  Random random_;
  ClockPair clocks_;
  VerilatedContext context_;
  Vstopbit_reset_pair model_{&context_};
  int together_ = 0;
  int together_other_ = 0;
};

TEST(ResetPair, both_sides_are_in_reset_together_for_four_cycles_of_each_and_leave_it_soon) {
  std::uint64_t seed = 20;
  for (const std::uint64_t other : kPeriods) {
    for (const std::uint64_t here : kPeriods) {
      SCOPED_TRACE(testing::Message() << other << " ps, " << here << " ps");
      Resets resets(++seed, other, here);
      for (int round = 0; round < 60; ++round) {
        resets.pulse(1 + static_cast<int>(resets.random().below(round % 3 == 0 ? 40 : 3)));
        int edges = 0;
        while (!resets.is_running() && edges < 400) {
          (void)resets.edge();
          ++edges;
        }
        ASSERT_TRUE(resets.is_running());
        ASSERT_GE(resets.together(), 4);
        ASSERT_GE(resets.together_other(), 4);
        // It stays so, or the next reset comes at once.
        const std::uint64_t rest = resets.random().below(60);
        for (std::uint64_t i = 0; i < rest; ++i) {
          (void)resets.edge();
          ASSERT_TRUE(resets.is_running());
        }
      }
    }
  }
}

TEST(ResetPair, waits_for_a_clock_that_has_stopped) {
  std::uint64_t seed = 60;
  for (const std::uint64_t here : kPeriods) {
    Resets resets(++seed, 2'560, here);
    resets.pulse(3);
    for (int i = 0; i < 400; ++i) (void)resets.edge();
    ASSERT_TRUE(resets.is_running());
    resets.clocks().stop_first(true);
    resets.pulse(1 + static_cast<int>(resets.random().below(10)));
    for (int i = 0; i < 400; ++i) {
      (void)resets.edge();
      ASSERT_FALSE(resets.is_this_running());
    }
    resets.clocks().stop_first(false);
    for (int i = 0; i < 400; ++i) (void)resets.edge();
    EXPECT_TRUE(resets.is_running());
    EXPECT_GE(resets.together(), 4);
    EXPECT_GE(resets.together_other(), 4);
  }
}

}  // namespace
}  // namespace stopbit::sim
