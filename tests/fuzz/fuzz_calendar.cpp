// Any bytes as a file of the tz database, as a text of holidays and as a time of day: refused with a reason, or offsets
// within 26 hours whose conversions agree.

#include <cstdlib>

#include "host/appliance/calendar.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto time = appliance::parse_time_of_day(text.substr(0, 5));
  fuzz::require(!time || *time <= 86'400, "a time of day is within a day");
  const auto holidays = appliance::parse_holidays(text);
  fuzz::require(holidays.ok() || !holidays.message().empty(), "refused holidays have a reason");
  const auto zone = os::Zone::parse(std::as_bytes(std::span(data, size)));
  if (!zone) {
    fuzz::require(!zone.message().empty(), "a refused zone has a reason");
    return 0;
  }
  constexpr std::int64_t kMostOffset = 26 * 3'600;
  for (std::int64_t year = 0; year < 100; ++year) {
    const std::int64_t local = year * 31'556'952 + year * 1'234'567 % 86'400;
    const std::int64_t utc = zone.value().utc_of(local);
    fuzz::require(std::abs(zone.value().offset_at(utc)) <= kMostOffset, "an offset is within 26 hours");
    fuzz::require(std::abs(utc - local) <= kMostOffset, "a time is converted by an offset of the zone");
  }
  const appliance::Calendar calendar(zone.value(), {{.days = 0x7F, .from_s = 0, .to_s = 86'400}},
                                     holidays ? holidays.value() : std::set<std::int64_t>());
  for (std::uint64_t s = 0; s < 4'000'000'000; s += 123'456'789) {
    const auto since = calendar.open_since(s * 1'000'000'000);
    fuzz::require(!since || *since <= s * 1'000'000'000, "an open session has begun");
  }
  return 0;
}
