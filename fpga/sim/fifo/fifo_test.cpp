#include <Vrtl_fifo_16.h>
#include <Vrtl_fifo_2.h>
#include <Vrtl_skid.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "bench.hpp"
#include "stream.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint32_t kStalls[] = {0, 30, 60, 90};

template <class Model, std::size_t Capacity>
struct Kind {
  using Type = Model;
  static constexpr std::size_t kCapacity = Capacity;
};

template <class T>
class Stream : public ::testing::Test {};
using Kinds = ::testing::Types<Kind<Vrtl_fifo_2, 2>, Kind<Vrtl_fifo_16, 16>, Kind<Vrtl_skid, 2>>;
TYPED_TEST_SUITE(Stream, Kinds);

template <class Model>
void expect_empty(Bench<Model>& bench) {
  bench.settle();
  EXPECT_FALSE(bench->valid_o);
  EXPECT_TRUE(bench->ready_o);
}

/// Offers words without taking any, until none is accepted; returns how many were.
template <class Model>
std::size_t fill(Bench<Model>& bench) {
  bench->ready_i = 0;
  bench->valid_i = 1;
  std::size_t accepted = 0;
  for (int cycle = 0; cycle < 100; ++cycle) {
    bench.settle();
    accepted += bench->ready_o;
    bench.step();
  }
  bench->valid_i = 0;
  return accepted;
}

TYPED_TEST(Stream, keeps_order_at_every_stall_rate_of_both_sides) {
  Random random(1);
  Bench<typename TypeParam::Type> bench(1);
  bench->valid_i = 0;
  bench->ready_i = 0;
  bench.reset();
  for (const std::uint32_t in : kStalls) {
    for (const std::uint32_t out : kStalls) {
      SCOPED_TRACE(testing::Message() << "stalls of input " << in << " %, of output " << out << " %");
      stream_through(bench, random, 2000, TypeParam::kCapacity, in, out);
      bench.step();
      expect_empty(bench);
    }
  }
}

TYPED_TEST(Stream, holds_its_whole_depth_and_not_a_word_more) {
  Bench<typename TypeParam::Type> bench(2);
  bench->valid_i = 0;
  bench->ready_i = 0;
  bench.reset();
  EXPECT_EQ(fill(bench), TypeParam::kCapacity);
}

TYPED_TEST(Stream, is_empty_after_a_reset_in_the_middle) {
  Random random(3);
  Bench<typename TypeParam::Type> bench(3);
  bench->valid_i = 0;
  bench->ready_i = 0;
  bench.reset();
  for (int round = 0; round < 20; ++round) {
    fill(bench);
    bench.reset();
    expect_empty(bench);
    stream_through(bench, random, 50, TypeParam::kCapacity, 30, 30);
    bench.step();
    expect_empty(bench);
  }
}

TEST(Fifo, carries_a_word_a_cycle) {
  Random random(4);
  Bench<Vrtl_fifo_16> bench(4);
  bench->valid_i = 0;
  bench->ready_i = 0;
  bench.reset();
  EXPECT_LE(stream_through(bench, random, 1000, 16, 0, 0), 1002U);
}

TEST(Skid, carries_a_word_a_cycle) {
  Random random(5);
  Bench<Vrtl_skid> bench(5);
  bench->valid_i = 0;
  bench->ready_i = 0;
  bench.reset();
  EXPECT_LE(stream_through(bench, random, 1000, 2, 0, 0), 1001U);
}

}  // namespace
}  // namespace stopbit::sim
