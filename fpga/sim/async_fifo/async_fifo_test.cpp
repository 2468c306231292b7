#include <Vrtl_async_fifo.h>
#include <gtest/gtest.h>
#include <verilated.h>

#include <cstddef>
#include <cstdint>
#include <deque>

#include "bench.hpp"
#include "clock_pair.hpp"

namespace stopbit::sim {
namespace {

class TwoClocks {
 public:
  TwoClocks(std::uint64_t seed, std::uint64_t write_period, std::uint64_t read_period, std::uint32_t stall)
      : random_(seed),
        in_(random_, stall),
        out_(random_, stall),
        clocks_(write_period, read_period, random_.below(read_period)) {
    context_.randReset(2);
    context_.randSeed(static_cast<int>(seed));
    model_.write_clk_i = 0;
    model_.read_clk_i = 0;
    reset();
  }
  ~TwoClocks() { model_.final(); }
  TwoClocks(const TwoClocks&) = delete;
  TwoClocks& operator=(const TwoClocks&) = delete;

  void reset() {
    model_.valid_i = 0;
    model_.ready_i = 0;
    model_.write_rst_ni = 0;
    model_.read_rst_ni = 0;
    for (int i = 0; i < 200; ++i) edge(false);
    model_.write_rst_ni = 1;
    model_.read_rst_ni = 1;
    inside_.clear();
  }

  /// Until `words` more words have come out.
  void run(std::size_t words) {
    received_ = 0;
    for (std::size_t edges = 0; received_ < words && !testing::Test::HasFailure(); ++edges) {
      edge(true);
      if (edges > 1000 * words + 10000) FAIL() << "stuck after " << received_ << " of " << words << " words";
    }
  }

 private:
  /// The next edge of one clock or of both; what the sides want was set right after their edge before.
  void edge(bool traffic) {
    const auto [write, read] = clocks_.next();
    model_.eval();
    if (traffic && read && model_.valid_o && model_.ready_i) {
      ASSERT_FALSE(inside_.empty());
      ASSERT_EQ(model_.data_o, inside_.front());
      inside_.pop_front();
      ++received_;
    }
    if (traffic && write && model_.valid_i && model_.ready_o) {
      inside_.push_back(model_.data_i);
      ASSERT_LE(inside_.size(), 16U);
    }
    if (write) model_.write_clk_i = 1;
    if (read) model_.read_clk_i = 1;
    model_.eval();
    if (write) model_.write_clk_i = 0;
    if (read) model_.read_clk_i = 0;
    model_.eval();
    if (write) {
      model_.valid_i = traffic && in_.open();
      model_.data_i = static_cast<std::uint32_t>(random_.bits());
    }
    if (read) {
      model_.ready_i = traffic && out_.open();
    }
  }

  Random random_;
  Gate in_;
  Gate out_;
  VerilatedContext context_;
  Vrtl_async_fifo model_{&context_};
  ClockPair clocks_;
  std::deque<std::uint32_t> inside_;
  std::size_t received_ = 0;
};

TEST(AsyncFifo, keeps_order_between_clocks_of_any_ratio_and_phase) {
  constexpr std::uint64_t kPeriods[] = {3103, 3333, 4000, 4001, 10000, 31000};
  std::uint64_t seed = 41;
  for (const std::uint64_t write : kPeriods) {
    for (const std::uint64_t read : kPeriods) {
      for (const std::uint32_t stall : {0U, 40U, 90U}) {
        SCOPED_TRACE(testing::Message() << write << " ps, " << read << " ps, stalls of " << stall << " %");
        TwoClocks clocks(++seed, write, read, stall);
        clocks.run(1000);
        clocks.reset();
        clocks.run(100);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace stopbit::sim
