#include <gtest/gtest.h>

#include <random>

#include "host/market/stage/exchange_time.hpp"

namespace stopbit::market::exchange_time_test {

constexpr std::int64_t kMs = 1'000'000;
// 2012-04-03 13:28:30.027 UTC.
constexpr std::int64_t kThen = 1'333'459'710'027 * kMs;

TEST(ExchangeTime, is_read_in_each_format) {
  const auto arrival = static_cast<std::uint64_t>(kThen + 5 * kMs);
  EXPECT_EQ(exchange_ns(20'120'403'132'830'027, TimeFormat::DateTimeMs, 0, arrival), kThen);
  EXPECT_EQ(exchange_ns(20'120'403'162'830'027, TimeFormat::DateTimeMs, 3 * 3'600, arrival), kThen);
  EXPECT_EQ(exchange_ns(120'403'132'830'027'000, TimeFormat::DateTimeUs, 0, arrival), kThen);
  EXPECT_EQ(exchange_ns(120'403'162'830'027'001, TimeFormat::DateTimeUs, 3 * 3'600, arrival), kThen + 1'000);
  EXPECT_EQ(exchange_ns(132'830'027, TimeFormat::TimeMs, 0, arrival), kThen);
  EXPECT_EQ(exchange_ns(132'830'027'000, TimeFormat::TimeUs, 0, arrival), kThen);
  EXPECT_EQ(exchange_ns(static_cast<std::uint64_t>(kThen), TimeFormat::Nanoseconds, 0, arrival), kThen);
  EXPECT_EQ(exchange_ns(static_cast<std::uint64_t>(kThen / 1'000), TimeFormat::Microseconds, 0, arrival), kThen);
}

TEST(ExchangeTime, of_a_day_is_the_nearest_one) {
  const std::int64_t midnight = days_from_civil(2012, 4, 4) * 86'400'000 * kMs;
  // Sent before midnight, arrived after it; and with a clock that is ahead.
  EXPECT_EQ(exchange_ns(235'959'990, TimeFormat::TimeMs, 0, static_cast<std::uint64_t>(midnight + kMs)),
            midnight - 10 * kMs);
  EXPECT_EQ(exchange_ns(1, TimeFormat::TimeMs, 0, static_cast<std::uint64_t>(midnight - kMs)), midnight + kMs);
}

TEST(ExchangeTime, is_none_for_numbers_that_are_no_time) {
  EXPECT_FALSE(exchange_ns(250'000'000, TimeFormat::TimeMs, 0, 1'000'000));
  EXPECT_FALSE(exchange_ns(20'129'903'132'830'027, TimeFormat::DateTimeMs, 0, 0));
  EXPECT_FALSE(exchange_ns(20'120'403'132'830'027, TimeFormat::DateTimeUs, 0, 0)) << "a year of four digits, and ms";
  EXPECT_FALSE(exchange_ns(129'903'132'830'027'000, TimeFormat::DateTimeUs, 0, 0));
  EXPECT_FALSE(exchange_ns(~std::uint64_t{0}, TimeFormat::DateTimeUs, 0, 0));
  EXPECT_FALSE(exchange_ns(~std::uint64_t{0}, TimeFormat::Nanoseconds, 0, 0));
  EXPECT_FALSE(exchange_ns(~std::uint64_t{0}, TimeFormat::Microseconds, 0, 0));
  EXPECT_FALSE(exchange_ns(0, TimeFormat::TimeMs, 0, ~std::uint64_t{0}));
  EXPECT_FALSE(exchange_ns(0, TimeFormat::None, 0, 0));
}

TEST(ExchangeTime, of_a_clock_that_remembers_the_minute_is_the_same) {
  constexpr std::uint64_t kArrival = static_cast<std::uint64_t>(kThen);
  for (const TimeFormat format : {TimeFormat::DateTimeMs, TimeFormat::DateTimeUs, TimeFormat::TimeMs,
                                  TimeFormat::TimeUs, TimeFormat::Microseconds, TimeFormat::None}) {
    ExchangeClock clock(format, 3 * 3'600);
    std::mt19937_64 random(static_cast<std::uint64_t>(format));
    const std::uint64_t then = format == TimeFormat::DateTimeUs   ? 120'403'132'859'999'990
                               : format == TimeFormat::DateTimeMs ? 20'120'403'132'859'990
                                                                  : 132'859'990;
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{59'999}}) {
      EXPECT_EQ(clock.ns(first, kArrival),
                exchange_ns(first, format, 3 * 3'600, kArrival).value_or(ExchangeClock::kNone))
          << first;
    }
    for (unsigned i = 0; i < 20'000; ++i) {
      // Near each other, to the next minute and second 60, back, and now and then anything.
      const std::uint64_t value = i % 100 == 99 ? random() : then + random() % (i % 2 == 0 ? 1'000 : 300'000'000) - 500;
      EXPECT_EQ(clock.ns(value, kArrival),
                exchange_ns(value, format, 3 * 3'600, kArrival).value_or(ExchangeClock::kNone))
          << value;
    }
  }
}

}  // namespace stopbit::market::exchange_time_test
