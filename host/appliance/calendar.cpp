#include "host/appliance/calendar.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "host/os/config/keys.hpp"
#include "host/os/shm/read_file.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::int64_t kDayS = 86'400;
constexpr std::size_t kMaxHolidayBytes = 1U << 20;
constexpr std::array<std::string_view, 7> kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

/// Two digits; nothing if they are none.
std::optional<unsigned> two_digits(std::string_view text) noexcept {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() != 2 || !is_digit(text[0]) || !is_digit(text[1])) return std::nullopt;
  return static_cast<unsigned>(10 * (text[0] - '0') + text[1] - '0');
}

/// Days since 1970 of "2026-01-01"; nothing if there is no such day.
std::optional<std::int64_t> day_of(std::string_view text) noexcept {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto century = two_digits(text.substr(0, 2));
  const auto year = two_digits(text.substr(2, 2));
  const auto month = two_digits(text.substr(5, 2));
  const auto day = two_digits(text.substr(8, 2));
  if (!century || !year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(100 * *century + *year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::uint8_t weekday_bit(std::int64_t day) noexcept {
  // 1970-01-01 was a Thursday.
  const std::int64_t weekday = ((day + 3) % 7 + 7) % 7;
  return static_cast<std::uint8_t>(1U << weekday);
}

std::uint8_t read_days(config::Table& table) {
  std::uint8_t days = 0;
  for (const std::string& word : table.texts("days")) {
    const auto* const found = std::find(kDays.begin(), kDays.end(), word);
    if (found == kDays.end()) table.error("days", "'" + word + "' must be one of mon, tue, wed, thu, fri, sat, sun");
    if (found != kDays.end()) days |= static_cast<std::uint8_t>(1U << (found - kDays.begin()));
  }
  return days;
}

std::uint32_t read_time(config::Table& table, std::string_view key) {
  const std::string text = table.text(key);
  const auto time = parse_time_of_day(text);
  if (!time && !text.empty()) table.error(key, "'" + text + "' is not a time of day, such as \"09:50\"");
  return time.value_or(0);
}

}  // namespace

std::optional<std::uint32_t> parse_time_of_day(std::string_view text) noexcept {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const auto hours = two_digits(text.substr(0, 2));
  const auto minutes = two_digits(text.substr(3, 2));
  if (!hours || !minutes || *minutes > 59 || *hours > 24 || (*hours == 24 && *minutes != 0)) return std::nullopt;
  return *hours * 3'600 + *minutes * 60;
}

Result<std::set<std::int64_t>> parse_holidays(std::string_view text) {
  std::set<std::int64_t> days;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const auto day = day_of(line.substr(0, 10));
    const bool is_alone = line.size() == 10 || (line.size() > 10 && (line[10] == ' ' || line[10] == '\t'));
    if (!day || !is_alone) {
      return Failure{"line " + std::to_string(number) + " does not begin with a day, such as 2026-01-01"};
    }
    days.insert(*day);
  }
  return days;
}

std::optional<std::uint64_t> Calendar::open_since(std::uint64_t wall_ns) const noexcept {
  const auto now_s = static_cast<std::int64_t>(wall_ns / kNsPerSecond);
  const std::int64_t today = (now_s + zone_.offset_at(now_s)) / kDayS;
  std::optional<std::int64_t> earliest;
  for (std::int64_t day = today - 1; day <= today; ++day) {
    if (holidays_.contains(day)) continue;
    for (const Session& session : sessions_) {
      if ((session.days & weekday_bit(day)) == 0) continue;
      const std::int64_t from = zone_.utc_of(day * kDayS + session.from_s);
      const std::int64_t to = zone_.utc_of((session.to_s > session.from_s ? day : day + 1) * kDayS + session.to_s);
      if (now_s >= from && now_s < to && (!earliest || from < *earliest)) earliest = from;
    }
  }
  if (!earliest || *earliest < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*earliest) * kNsPerSecond;
}

const config::TableKeys& calendar_keys() {
  static const config::TableKeys keys = {
      .keys = {config::text_key("zone",
                                "Time zone of the times below, by its name in the tz database; with its summer "
                                "time.")
                   .otherwise("UTC")
                   .such_as("\"Europe/Berlin\""),
               config::text_key("holidays",
                                "File with a day a line, 2026-01-01, on which no session begins; what follows the day "
                                "on its line is a remark.")
                   .unless("none")
                   .such_as("\"holidays.txt\""),
               config::tables_key(
                   "session", {.least = 1, .most = 64},
                   {.keys = {config::texts_key("days", {.least = 1, .most = 7}, "Days on which it begins.")
                                 .required()
                                 .such_as("[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\"]"),
                             config::text_key("from", "When it begins.").required().such_as("\"09:00\""),
                             config::text_key("to", "When it ends; not after `from`: on the next day.")
                                 .required()
                                 .such_as("\"17:30\"")},
                    .any = {}},
                   "A time in which the feed speaks.")},
      .any = {}};
  return keys;
}

namespace {

/// The file is read again while the appliance runs, and a pipe in its place would never end.
os::Descriptor open_regular(const std::string& path) {
  os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.ok() || (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode))) return file;
  errno = EINVAL;
  return os::Descriptor(-1);
}

/// Adds the text to `said`.
std::set<std::int64_t> read_holidays(config::Table& root, const std::filesystem::path& folder,
                                     std::map<std::string, std::string>& said) {
  const std::string name = root.text("holidays");
  if (name.empty()) return {};
  // A confined appliance may read only that folder again.
  const std::filesystem::path given = std::filesystem::path(name).lexically_normal();
  if (given.is_absolute() || *given.begin() == "..") {
    root.error("holidays", "the file must be in the folder of the calendar, or below it");
    return {};
  }
  const std::string path = config::in_folder(folder.string(), name);
  const auto content = os::read_file(open_regular(path), path, kMaxHolidayBytes);
  auto days = content ? parse_holidays(content.value()) : Result<std::set<std::int64_t>>(Failure{content.message()});
  if (days) {
    said[path] = content.value();
    return std::move(days).value();
  }
  root.error("holidays", path + ": " + days.message());
  return {};
}

}  // namespace

CalendarFile read_calendar(const std::string& file, const std::string& text, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.errors();
  const config::Document document = config::Document::parse(file, text, diagnostics);
  CalendarFile read;
  if (!document.ok()) return read;
  for (auto& [key, value] : document.values()) read.said[file + ": " + key] = value;
  config::Table root = document.root(calendar_keys());
  Result<os::Zone> zone = os::Zone::load(root.text("zone"));
  if (!zone) root.error("zone", zone.message());
  std::set<std::int64_t> holidays = read_holidays(root, std::filesystem::path(file).parent_path(), read.said);
  std::vector<Calendar::Session> sessions;
  for (config::Table& table : root.tables("session")) {
    Calendar::Session& session = sessions.emplace_back();
    session.days = read_days(table);
    session.from_s = read_time(table, "from");
    session.to_s = read_time(table, "to");
    table.finish();
  }
  root.finish();
  if (diagnostics.errors() != errors) return read;
  read.calendar = std::make_shared<const Calendar>(std::move(zone).value(), std::move(sessions), std::move(holidays));
  return read;
}

}  // namespace stopbit::appliance
