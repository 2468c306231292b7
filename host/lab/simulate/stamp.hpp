#pragma once

#include <chrono>
#include <cstdint>

#include "microcode/base/time.hpp"

/// Times as exchanges write them: decimal digits, UTC.
namespace stopbit::simulate {

/// yyyymmdd
[[nodiscard]] inline std::uint64_t date_of(std::uint64_t time_ns) {
  using namespace std::chrono;
  const year_month_day day(floor<days>(sys_time<nanoseconds>(nanoseconds(time_ns))));
  return static_cast<std::uint64_t>(static_cast<int>(day.year())) * 10'000 + static_cast<unsigned>(day.month()) * 100 +
         static_cast<unsigned>(day.day());
}
/// HHMMSS
[[nodiscard]] inline std::uint64_t clock_of(std::uint64_t time_ns) {
  const std::uint64_t seconds = time_ns / kNsPerSecond % 86'400;
  return seconds / 3'600 * 10'000 + seconds / 60 % 60 * 100 + seconds % 60;
}
/// yyyymmddHHMMSSmmm
[[nodiscard]] inline std::uint64_t stamp_ms(std::uint64_t time_ns) {
  return (date_of(time_ns) * 1'000'000 + clock_of(time_ns)) * 1'000 + time_ns / 1'000'000 % 1'000;
}
/// yymmddHHMMSSuuuuuu
[[nodiscard]] inline std::uint64_t stamp_us(std::uint64_t time_ns) {
  return (date_of(time_ns) % 1'000'000 * 1'000'000 + clock_of(time_ns)) * 1'000'000 + time_ns / 1'000 % 1'000'000;
}

}  // namespace stopbit::simulate
