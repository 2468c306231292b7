#include <Vrtl_double_fifo_16.h>
#include <Vrtl_double_fifo_2.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>

#include "bench.hpp"
#include "stream.hpp"

namespace stopbit::sim {
namespace {

template <class Model, std::size_t Depth>
struct Kind {
  using Type = Model;
  static constexpr std::size_t kDepth = Depth;
};

template <class T>
class DoubleFifo : public ::testing::Test {
 protected:
  static constexpr std::size_t kDepth = T::kDepth;

  DoubleFifo() {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_->double_i = 0;
    bench_.reset();
  }
  Bench<typename T::Type> bench_{19};
};
using Kinds = ::testing::Types<Kind<Vrtl_double_fifo_2, 2>, Kind<Vrtl_double_fifo_16, 16>>;
TYPED_TEST_SUITE(DoubleFifo, Kinds);

TYPED_TEST(DoubleFifo, keeps_order_when_words_are_taken_singly) {
  Random random(23);
  for (const std::uint32_t stall : {0U, 30U, 60U, 90U}) {
    stream_through(this->bench_, random, 2000, this->kDepth, stall, stall);
  }
}

TYPED_TEST(DoubleFifo, takes_two_or_says_that_it_took_one) {
  auto& bench = this->bench_;
  for (const std::uint32_t stall : {0U, 30U, 60U, 90U}) {
    Random random(stall + 29);
    Gate in(random, stall);
    Gate out(random, 10);  // takes more than comes, so that it finds one word as well as many
    std::deque<std::uint32_t> inside;
    bench->valid_i = 0;
    bench->ready_i = 0;
    bench.reset();
    int doubles = 0;
    int singles = 0;
    for (int cycle = 0; cycle < 20000; ++cycle) {
      if (random.below(1000) == 0) {
        bench->valid_i = 0;
        bench->ready_i = 0;
        bench.reset();
        inside.clear();
      }
      bench->valid_i = in.open();
      bench->data_i = static_cast<std::uint32_t>(random.bits());
      bench->ready_i = out.open();
      bench->double_i = random.chance(50);
      bench.settle();
      ASSERT_EQ(bench->count_o, inside.size()) << "cycle " << cycle;
      ASSERT_EQ(bench->ready_o != 0, inside.size() < this->kDepth) << "cycle " << cycle;
      bool single = false;
      if (bench->valid_o) {
        ASSERT_FALSE(inside.empty()) << "cycle " << cycle;
        ASSERT_EQ(bench->data_o, inside.front()) << "cycle " << cycle;
        if (bench->ready_i) {
          const bool two = bench->double_i && inside.size() > 1;
          single = bench->double_i && !two;
          doubles += two;
          singles += single;
          inside.pop_front();
          if (two) inside.pop_front();
        }
      }
      ASSERT_EQ(bench->single_o != 0, single) << "cycle " << cycle;
      if (bench->valid_i && bench->ready_o) inside.push_back(bench->data_i);
      bench.step();
    }
    EXPECT_GT(doubles, 20) << "stalls of " << stall << " %";
    // Words that come without a gap are shown when the next one has already arrived.
    EXPECT_GT(singles, stall > 0 ? 20 : -1) << "stalls of " << stall << " %";
  }
}

}  // namespace
}  // namespace stopbit::sim
