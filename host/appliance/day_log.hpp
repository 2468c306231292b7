#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "host/appliance/clocks.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::appliance {

/// The name of a file of a day, UTC: "gaps-20190404.jsonl".
[[nodiscard]] std::string day_file_name(std::string_view prefix, std::uint64_t time_ns);
/// The day of such a name: "20190404". Nothing for other names.
[[nodiscard]] std::optional<std::string> day_of_file(std::string_view prefix, const std::string& name);

/// Appends lines of JSON to `FOLDER/PREFIXYYYYMMDD.jsonl`. One thread. Every call opens and closes the file, so a disk
/// that was full can be used again when it is not.
class DayLog {
 public:
  /// Maximum bytes per day; lines beyond it are counted.
  static constexpr std::size_t kMaxFileBytes = 64U << 20;

  DayLog(std::string folder, std::string_view prefix, std::uint32_t keep_days)
      : folder_(std::move(folder)), prefix_(prefix), keep_days_(keep_days) {}

  /// Makes the folder.
  [[nodiscard]] Status prepare();
  /// `line`: without its end.
  void append(const std::string& line, std::uint64_t time_ns);
  /// Takes away files older than keep_days. Files of other names stay.
  ///
  /// A file has the day of the wall clock, which may be stepped. A step back counts at once: what was written before is
  /// kept for longer by the step. A step forward ages no file: it counts after it has held for keep_days by the
  /// monotonic clock, when whatever was written before it is old in any case. So no step removes a file early; a clock
  /// that was ahead and is set right costs nothing. The clock that the first call sees is believed.
  void clean(const Now& now);

  /// Entries that could not be written, and why the last one could not.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  /// The last entry could not be written.
  [[nodiscard]] bool is_failing() const noexcept { return is_failing_; }

 private:
  [[nodiscard]] static Status write(const std::string& path, const std::string& line);

  /// The wall clock less every step forward of the last keep_days.
  [[nodiscard]] std::uint64_t trusted_time_ns(const Now& now);

  /// How far the wall clock was ahead of the monotonic one, and when.
  struct Offset {
    std::uint64_t monotonic_ns = 0;
    std::int64_t ns = 0;
  };

  std::string folder_;
  std::string prefix_;
  std::uint32_t keep_days_;
  std::deque<Offset> offsets_;  ///< Of the last keep_days; each is less than the next.
  std::uint64_t lost_ = 0;
  std::string problem_;
  bool is_failing_ = false;
};

}  // namespace stopbit::appliance
