#include "host/ports/arrival_clock.hpp"

#include <gtest/gtest.h>

namespace stopbit::ingest::arrival_clock_test {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kBegin = 100 * kSecond;  ///< Monotonic.
constexpr std::uint64_t kWall = 1'700'000'000 * kSecond;

/// A source that was empty at kBegin, and is read `later` than that: stamps made before and after a step.
class Stepped {
 public:
  explicit Stepped(std::int64_t step_ns) : step_ns_(step_ns) { read(0, false); }

  void read(std::uint64_t later_ns, bool has_stepped) {
    const std::uint64_t now = kBegin + later_ns;
    clock.read(now, stamp(later_ns, has_stepped), now + 50);
  }
  [[nodiscard]] std::uint64_t stamp(std::uint64_t later_ns, bool has_stepped) const {
    return kWall + later_ns + static_cast<std::uint64_t>(has_stepped ? step_ns_ : 0);
  }
  /// How far its t is from when it came.
  std::int64_t error(std::uint64_t later_ns, bool has_stepped) {
    mapped = clock.map(stamp(later_ns, has_stepped), source, clamped);
    return static_cast<std::int64_t>(mapped.t_ns - (kBegin + later_ns));
  }

  ArrivalClock clock;
  ArrivalClock::Source source{.empty_ns = kBegin};
  ArrivalClock::Mapped mapped;
  PortCounter clamped;

 private:
  std::int64_t step_ns_;
};

TEST(ArrivalClock, maps_what_came_on_both_sides_of_a_step) {
  for (const std::int64_t seconds : {-3'600, -37, 37, 3'600}) {
    for (const std::int64_t step : {seconds * 1'000'000'000, seconds * 1'000'000, seconds * 10'000'000}) {
      Stepped stepped(step);
      stepped.read(3 * kSecond, true);
      // One a millisecond, for three seconds, in the middle of which the clock was stepped.
      for (std::uint64_t ms = 1; ms < 3'000; ++ms) {
        const std::int64_t error = stepped.error(ms * kMs, ms >= 1'500);
        EXPECT_LE(error, 1'000) << step << " at " << ms;
        EXPECT_GE(error, -1'000) << step << " at " << ms;
        EXPECT_FALSE(stepped.mapped.is_clamped);
      }
      EXPECT_EQ(stepped.clamped.value(), 0U);
    }
  }
}

TEST(ArrivalClock, says_that_it_knows_nothing_of_a_stamp_that_is_impossible) {
  Stepped stepped(37 * 1'000'000'000LL);
  stepped.read(3 * kSecond, false);
  EXPECT_EQ(stepped.error(2 * kSecond, false), 0 + 25) << "half of what the readings are apart";
  // As after two steps between two receive calls, of which the first was not observed.
  EXPECT_EQ(stepped.error(2 * kSecond, true), static_cast<std::int64_t>(kSecond) + 50) << "now";
  EXPECT_TRUE(stepped.mapped.is_clamped);
  EXPECT_EQ(stepped.source.last_ns, kBegin + 2 * kSecond + 25);
  EXPECT_EQ(stepped.clamped.value(), 1U);
  Stepped back(-3'600 * 1'000'000'000LL);
  back.read(3 * kSecond, false);
  EXPECT_EQ(back.error(2 * kSecond, true), static_cast<std::int64_t>(kSecond) + 50)
      << "now, too: what waits for another datagram since an earlier time would be given up";
  EXPECT_TRUE(back.mapped.is_clamped);
}

TEST(ArrivalClock, keeps_every_time_between_the_poll_that_found_nothing_and_now) {
  Stepped quiet(0);
  quiet.source.empty_ns = kBegin + kSecond;
  quiet.read(2 * kSecond, false);
  const auto half = static_cast<std::int64_t>(ArrivalClock::kToleranceNs / 2);
  // Half the tolerance too early, and too late: the bounds.
  EXPECT_EQ(quiet.error(kSecond - ArrivalClock::kToleranceNs / 2, false), half);
  EXPECT_FALSE(quiet.mapped.is_clamped);
  EXPECT_EQ(quiet.error(2 * kSecond + ArrivalClock::kToleranceNs / 2, false), 50 - half);
  EXPECT_FALSE(quiet.mapped.is_clamped);
  EXPECT_EQ(quiet.clamped.value(), 0U);
}

TEST(ArrivalClock, believes_no_stamp_beyond_the_tolerance) {
  Stepped quiet(0);
  quiet.source.empty_ns = kBegin + kSecond;
  quiet.read(2 * kSecond, false);
  const auto twice = static_cast<std::int64_t>(2 * ArrivalClock::kToleranceNs);
  EXPECT_EQ(quiet.error(2 * kSecond + 2 * ArrivalClock::kToleranceNs, false), 50 - twice) << "now";
  EXPECT_TRUE(quiet.mapped.is_clamped);
  EXPECT_EQ(quiet.error(kSecond - 2 * ArrivalClock::kToleranceNs, false),
            static_cast<std::int64_t>(kSecond) + twice + 50)
      << "now";
  EXPECT_TRUE(quiet.mapped.is_clamped);
  EXPECT_EQ(quiet.clamped.value(), 2U);
}

TEST(ArrivalClock, believes_no_step_of_readings_that_are_far_apart) {
  Stepped quiet(0);
  // The thread lost its processor for 20 ms between the two clocks.
  quiet.clock.read(kBegin + kSecond, quiet.stamp(kSecond, false), kBegin + kSecond + 20 * kMs);
  const std::int64_t error = quiet.error(kSecond - kMs, false);
  EXPECT_LE(error, 1'000);
  EXPECT_GE(error, -1'000);
}

}  // namespace stopbit::ingest::arrival_clock_test
