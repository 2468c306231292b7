#include "host/replay/pacer.hpp"
#include "host/os/clock.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace stopbit::replay::pacer_test {

constexpr std::uint64_t kMillisecond = 1'000'000;

TEST(ParsePace, reads_max_and_factors) {
  EXPECT_EQ(parse_pace("max").value(), 0.0);
  EXPECT_EQ(parse_pace("1x").value(), 1.0);
  EXPECT_EQ(parse_pace("10x").value(), 10.0);
  EXPECT_EQ(parse_pace("0.5x").value(), 0.5);
}

TEST(ParsePace, refuses_everything_else) {
  for (const char* text :
       {"", "x", "1", "max ", "0x", "-1x", "1xx", "1 x", "nanx", "infx", "1e3x", "2000000x", "1,5x"}) {
    EXPECT_FALSE(parse_pace(text).ok()) << text;
  }
}

TEST(Pacer, makes_each_packet_wait_its_time) {
  Pacer pacer(10);
  const std::atomic<bool> stop = false;
  const std::uint64_t begin = os::monotonic_clock_ns();
  EXPECT_TRUE(pacer.due(5'000, 1'000'000'000, stop));
  EXPECT_TRUE(pacer.due(5'000 + 200 * kMillisecond, 1'000'000'000, stop));
  EXPECT_GE(os::monotonic_clock_ns() - begin, 20 * kMillisecond);
}

TEST(Pacer, comes_back_after_a_slice) {
  Pacer pacer(1);
  const std::atomic<bool> stop = false;
  EXPECT_TRUE(pacer.due(0, kMillisecond, stop));
  EXPECT_FALSE(pacer.due(1'000'000 * kMillisecond, kMillisecond, stop));
  EXPECT_FALSE(pacer.due(std::numeric_limits<std::uint64_t>::max(), kMillisecond, stop));
}

TEST(Pacer, does_not_wait_for_packets_out_of_order_or_of_another_day) {
  Pacer pacer(1);
  const std::atomic<bool> stop = false;
  const std::uint64_t begin = os::monotonic_clock_ns();
  EXPECT_TRUE(pacer.due(100'000 * kMillisecond, kMillisecond, stop));
  EXPECT_TRUE(pacer.due(99'999 * kMillisecond, kMillisecond, stop));
  EXPECT_TRUE(pacer.due(5 * kMillisecond, kMillisecond, stop)) << "starts the clock anew";
  EXPECT_TRUE(pacer.due(6 * kMillisecond, 1'000 * kMillisecond, stop));
  EXPECT_LT(os::monotonic_clock_ns() - begin, 10'000 * kMillisecond);
}

}  // namespace stopbit::replay::pacer_test
