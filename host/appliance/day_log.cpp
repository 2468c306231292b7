#include "host/appliance/day_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <span>
#include <system_error>

#include "host/os/disk/disk.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::uint64_t kDay = 86'400 * kNsPerSecond;
constexpr std::int64_t kReadingNs = 10'000'000;  // between two readings of both clocks, at most
constexpr std::string_view kEnd = ".jsonl";

std::tm utc(std::uint64_t time_ns) {
  const auto seconds = static_cast<std::time_t>(time_ns / kNsPerSecond);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

std::string day_file_name(std::string_view prefix, std::uint64_t time_ns) {
  const std::tm parts = utc(time_ns);
  return fmt::format("{}{:04}{:02}{:02}{}", prefix, parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, kEnd);
}

std::optional<std::string> day_of_file(std::string_view prefix, const std::string& name) {
  if (name.size() != prefix.size() + 8 + kEnd.size() || !name.starts_with(prefix) || !name.ends_with(kEnd)) return {};
  std::string day = name.substr(prefix.size(), 8);
  if (day.find_first_not_of("0123456789") != std::string::npos) return {};
  return day;
}

Status DayLog::prepare() {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return Failure{"cannot create the folder '" + folder_ + "': " + error.message()};
  if (::access(folder_.c_str(), W_OK) != 0) return Failure{os::system_error("write to", folder_)};
  return Done{};
}

void DayLog::append(const std::string& line, std::uint64_t time_ns) {
  const Status written = write(folder_ + "/" + day_file_name(prefix_, time_ns), line);
  is_failing_ = !written.ok();
  if (!is_failing_) return;
  ++lost_;
  problem_ = written.message();
}

Status DayLog::write(const std::string& path, const std::string& line) {
  const auto failed = [&path](const char* what, int error) {
    return Failure{std::string("cannot ") + what + " '" + path + "': " + std::generic_category().message(error)};
  };
  disk::File file;
  if (const int error = file.open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0644); error != 0) {
    return failed("write", error);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed("look at", errno);
  const auto before = static_cast<std::uint64_t>(status.st_size);
  if (before + line.size() + 1 >= kMaxFileBytes) {
    return Failure{"'" + path + "' has reached the limit of " + std::to_string(kMaxFileBytes >> 20) + " MiB per day"};
  }
  // What a loss of power left of a line, or an error that could not be undone, may not spoil this one.
  char last = '\n';
  const bool is_torn = before != 0 && (::pread(file.get(), &last, 1, status.st_size - 1) != 1 || last != '\n');
  // In one go, so that a reader sees whole lines but for a disk that is full.
  const std::string whole = (is_torn ? "\n" : "") + line + "\n";
  std::uint64_t written = 0;
  if (const int error = file.write(std::as_bytes(std::span(whole)), written); error != 0) {
    if (written != 0) (void)file.truncate(before);
    return failed("write", error);
  }
  if (const int error = file.close(); error != 0) return failed("write", error);
  return Done{};
}

std::uint64_t DayLog::trusted_time_ns(const Now& now) {
  Offset latest{.monotonic_ns = now.monotonic_ns, .ns = static_cast<std::int64_t>(now.wall_ns - now.monotonic_ns)};
  while (!offsets_.empty() && offsets_.back().ns >= latest.ns) {
    // Two readings of one offset differ by the time between the clocks: it has held since the first.
    if (offsets_.back().ns - latest.ns < kReadingNs) latest.monotonic_ns = offsets_.back().monotonic_ns;
    offsets_.pop_back();
  }
  offsets_.push_back(latest);
  // An offset held until the next was seen.
  while (offsets_.size() > 1 && now.monotonic_ns - offsets_[1].monotonic_ns > keep_days_ * kDay) offsets_.pop_front();
  return now.monotonic_ns + static_cast<std::uint64_t>(offsets_.front().ns);
}

void DayLog::clean(const Now& now) {
  const std::uint64_t now_ns = trusted_time_ns(now);
  const std::uint64_t keep = keep_days_ * kDay;
  const auto oldest = day_of_file(prefix_, day_file_name(prefix_, now_ns > keep ? now_ns - keep : 0));
  std::error_code error;
  for (const std::string& name : disk::names_in(folder_, error)) {
    const auto day = day_of_file(prefix_, name);
    if (day && *day < *oldest) (void)disk::remove(folder_ + "/" + name);  // else the next time
  }
}

}  // namespace stopbit::appliance
