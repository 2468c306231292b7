#include <Vrtl_snapshot.h>
#include <gtest/gtest.h>
#include <verilated.h>

#include <cstdint>

#include "bench.hpp"
#include "clock_pair.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kPeriods[] = {2'560, 3'333, 4'001, 6'400, 31'000};

/// A count of the first clock, in both halves of the number.
class Counted {
 public:
  Counted(std::uint64_t seed, std::uint64_t period, std::uint64_t read_period)
      : random_(seed), clocks_(period, read_period, random_.below(read_period)) {
    context_.randReset(2);
    context_.randSeed(static_cast<int>(seed));
    model_.clk_i = 0;
    model_.read_clk_i = 0;
  }
  ~Counted() { model_.final(); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  ClockPair& clocks() { return clocks_; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint64_t shown() const { return model_.data_o; }
  void hold(bool on) { is_held_ = on; }

  void reset() {
    model_.rst_ni = 0;
    model_.read_rst_ni = 0;
    count_ = 1'000'000;
    for (int i = 0; i < 40; ++i) edge();
    EXPECT_EQ(shown(), 0U);
    model_.rst_ni = 1;
    model_.read_rst_ni = 1;
  }
  /// Each number shown is a count of the first clock, not older than the number shown before.
  void run(int edges) {
    for (int i = 0; i < edges; ++i) {
      const std::uint64_t before = shown();
      edge();
      const auto low = static_cast<std::uint32_t>(shown());
      ASSERT_EQ(shown() >> 32, low);
      ASSERT_TRUE(low == 0 || low >= 1'000'000);
      ASSERT_LE(low, count_);
      ASSERT_GE(low, static_cast<std::uint32_t>(before));
    }
  }

 private:
  void edge() {
    const auto [write, read] = clocks_.next();
    model_.data_i = std::uint64_t{count_} << 32 | count_;
    model_.eval();
    if (write) model_.clk_i = 1;
    if (read) model_.read_clk_i = 1;
    model_.eval();
    if (write) model_.clk_i = 0;
    if (read) model_.read_clk_i = 0;
    model_.eval();
    if (write && !is_held_) ++count_;
  }

  Random random_;
  ClockPair clocks_;
  VerilatedContext context_;
  Vrtl_snapshot model_{&context_};
  std::uint32_t count_ = 1'000'000;
  bool is_held_ = false;
};

TEST(Snapshot, shows_whole_numbers_that_were_and_comes_after_them) {
  std::uint64_t seed = 10;
  for (const std::uint64_t period : kPeriods) {
    for (const std::uint64_t read_period : kPeriods) {
      SCOPED_TRACE(testing::Message() << period << " ps, " << read_period << " ps");
      Counted counted(++seed, period, read_period);
      for (int i = 0; i < 5; ++i) {
        counted.reset();
        counted.run(2'000);
        EXPECT_GT(counted.shown(), 0U);
        counted.hold(true);
        counted.run(400);
        EXPECT_EQ(static_cast<std::uint32_t>(counted.shown()), counted.count()) << "it rests";
        counted.hold(false);
        // The first clock has no edges: the last number stays.
        counted.run(100);
        counted.clocks().stop_first(true);
        counted.run(50);
        const std::uint64_t shown = counted.shown();
        counted.run(50);
        EXPECT_EQ(counted.shown(), shown);
        counted.clocks().stop_first(false);
        counted.run(500);
        EXPECT_GT(counted.shown(), shown);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace stopbit::sim
