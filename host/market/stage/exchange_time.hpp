#pragma once

#include <cstdint>
#include <optional>

#include "host/market/map/source.hpp"

namespace stopbit::market {

/// Days since 1970 of a date (H. Hinnant, "chrono-compatible low-level date algorithms").
constexpr std::int64_t days_from_civil(std::int64_t year, std::int64_t month, std::int64_t day) noexcept {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}
static_assert(days_from_civil(2012, 4, 3) == 15'433);

/// The exchange's time in ns since 1970. `arrival_ns` gives the date of a time of day: the nearest one. Nothing for a
/// number that is no time.
constexpr std::optional<std::int64_t> exchange_ns(std::uint64_t value, TimeFormat format, std::int64_t utc_offset_s,
                                                  std::uint64_t arrival_ns) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kDay = 86'400 * kSecond;
  constexpr std::uint64_t kMost = static_cast<std::uint64_t>(INT64_MAX);
  const auto clock = [](std::uint64_t hhmmss, std::int64_t below_ns) -> std::optional<std::int64_t> {
    const auto hours = static_cast<std::int64_t>(hhmmss / 10'000);
    const auto minutes = static_cast<std::int64_t>(hhmmss / 100 % 100);
    const auto seconds = static_cast<std::int64_t>(hhmmss % 100);
    if (hours > 23 || minutes > 59 || seconds > 60) return std::nullopt;
    return ((hours * 60 + minutes) * 60 + seconds) * kSecond + below_ns;
  };
  // `date` is yyyymmdd.
  const auto moment = [&](std::uint64_t date, std::optional<std::int64_t> time) -> std::optional<std::int64_t> {
    const auto month = static_cast<std::int64_t>(date / 100 % 100);
    const auto day = static_cast<std::int64_t>(date % 100);
    if (!time || date < 19'700'101 || date > 22'000'000 || month < 1 || month > 12 || day < 1 || day > 31) {
      return std::nullopt;
    }
    return days_from_civil(static_cast<std::int64_t>(date / 10'000), month, day) * kDay + *time -
           utc_offset_s * kSecond;
  };
  std::optional<std::int64_t> of_day;
  switch (format) {
    case TimeFormat::None: return std::nullopt;
    case TimeFormat::Nanoseconds:
      return value <= kMost ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
    case TimeFormat::Microseconds:
      return value <= kMost / 1'000 ? std::optional(static_cast<std::int64_t>(value) * 1'000) : std::nullopt;
    case TimeFormat::DateTimeMs:
      return moment(value / 1'000'000'000,
                    clock(value / 1'000 % 1'000'000, static_cast<std::int64_t>(value % 1'000) * 1'000'000));
    case TimeFormat::DateTimeUs:
      if (value / 1'000'000'000'000 > 991'231) return std::nullopt;
      return moment(20'000'000 + value / 1'000'000'000'000,
                    clock(value / 1'000'000 % 1'000'000, static_cast<std::int64_t>(value % 1'000'000) * 1'000));
    case TimeFormat::TimeMs: of_day = clock(value / 1'000, static_cast<std::int64_t>(value % 1'000) * 1'000'000); break;
    case TimeFormat::TimeUs:
      of_day = clock(value / 1'000'000, static_cast<std::int64_t>(value % 1'000'000) * 1'000);
      break;
  }
  if (!of_day || arrival_ns > kMost - 2 * static_cast<std::uint64_t>(kDay)) return std::nullopt;
  const auto arrival = static_cast<std::int64_t>(arrival_ns);
  std::int64_t time = arrival / kDay * kDay + *of_day - utc_offset_s * kSecond;
  while (time - arrival > kDay / 2) time -= kDay;
  while (arrival - time > kDay / 2) time += kDay;
  return time;
}

/// exchange_ns of one feed's messages, most of which were sent in the same minute as the one before.
class ExchangeClock {
 public:
  ExchangeClock(TimeFormat format, std::int64_t utc_offset_s) noexcept
      : format_(format),
        utc_offset_s_(utc_offset_s),
        of_minute_(format == TimeFormat::DateTimeMs   ? 100'000
                   : format == TimeFormat::DateTimeUs ? 100'000'000
                                                      : 0),
        unit_ns_(format == TimeFormat::DateTimeMs ? 1'000'000 : 1'000) {}

  static constexpr std::int64_t kNone = INT64_MIN;

  /// kNone for a number that is no time. Not optional: compilers copy those through memory.
  [[nodiscard]] std::int64_t ns(std::uint64_t value, std::uint64_t arrival_ns) noexcept {
    const std::uint64_t below = value - minute_;  // seconds and what is below them
    if (below < known_) [[likely]]
      return minute_ns_ + static_cast<std::int64_t>(below) * unit_ns_;
    return look(value, arrival_ns);
  }

 private:
  [[nodiscard, gnu::noinline]] std::int64_t look(std::uint64_t value, std::uint64_t arrival_ns) noexcept {
    const std::optional<std::int64_t> time = exchange_ns(value, format_, utc_offset_s_, arrival_ns);
    if (!time) return kNone;
    if (of_minute_ == 0) return *time;
    minute_ = value / of_minute_ * of_minute_;
    minute_ns_ = *time - static_cast<std::int64_t>(value - minute_) * unit_ns_;
    known_ = of_minute_ / 100 * 60;
    return *time;
  }

  TimeFormat format_;
  std::int64_t utc_offset_s_;
  std::uint64_t of_minute_;   ///< Numbers from one minute to the next; 0: the format has no date, or no minutes.
  std::int64_t unit_ns_;      ///< Of the last digit.
  std::uint64_t minute_ = 0;  ///< The one that was seen last, as the feed has it.
  std::int64_t minute_ns_ = 0;
  std::uint64_t known_ = 0;  ///< How many of its numbers are times for certain: up to second 59.
};

}  // namespace stopbit::market
