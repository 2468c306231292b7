#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/os/calendar/zone.hpp"
#include "microcode/base/diagnostic.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::config {
struct TableKeys;
}

namespace stopbit::appliance {

/// When a feed speaks: sessions of the week, holidays, in a time zone. Outside of them a silent line is no fault.
class Calendar {
 public:
  struct Session {
    std::uint8_t days = 0;     ///< Bit 0: it begins on Mondays, ... bit 6: on Sundays.
    std::uint32_t from_s = 0;  ///< Since midnight.
    std::uint32_t to_s = 0;    ///< Not after from_s: on the next day.
  };

  Calendar(os::Zone zone, std::vector<Session> sessions, std::set<std::int64_t> holidays)
      : zone_(std::move(zone)), sessions_(std::move(sessions)), holidays_(std::move(holidays)) {}

  /// When the session began that is open at that time, ns since 1970; nothing: none is. Sessions that touch are one for
  /// a day at most. A session whose first day is a holiday does not take place.
  [[nodiscard]] std::optional<std::uint64_t> open_since(std::uint64_t wall_ns) const noexcept;

 private:
  os::Zone zone_;
  std::vector<Session> sessions_;
  std::set<std::int64_t> holidays_;  ///< Days since 1970.
};

/// The rows of calendar.toml.
[[nodiscard]] const config::TableKeys& calendar_keys();
/// A calendar.toml that was read.
struct CalendarFile {
  std::shared_ptr<const Calendar> calendar;  ///< Null after an error.
  /// What it says, by file and key: "calendar.toml: zone"; the text of the holidays by their file.
  std::map<std::string, std::string> said;
};
/// Reads the text of a calendar.toml, whose name is `file`, and the file of holidays that it names, which has a day a
/// line: "2026-01-01", and what follows it on the line.
[[nodiscard]] CalendarFile read_calendar(const std::string& file, const std::string& text, Diagnostics& diagnostics);
/// The days of a text of holidays, since 1970; the failure names the line.
[[nodiscard]] Result<std::set<std::int64_t>> parse_holidays(std::string_view text);
/// "09:50", "24:00", in seconds; nothing for any other text.
[[nodiscard]] std::optional<std::uint32_t> parse_time_of_day(std::string_view text) noexcept;

}  // namespace stopbit::appliance
