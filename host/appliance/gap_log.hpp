#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/appliance/clocks.hpp"
#include "microcode/base/result.hpp"

/// Gaps on disk: one line of JSON each, one file per day. They remain after the process.
namespace stopbit::appliance {

enum class GapCause : std::uint8_t {
  LostOnBoth,  ///< Every line has passed the range or is alive, and none brought it. A channel with one line: on that.
  LineDown,    ///< A line was silent, so nothing could replace what the other one lost.
  LocalDrop,   ///< This machine has dropped packets within the second before: card or kernel.
  LocalStall,  ///< The thread did not run, and no room was left for the packets that waited. Its length is given.
  NoRoom,      ///< No room was left for packets that wait.
  Late,        ///< All of its numbers came, too late.
  ApplianceDown,  ///< The numbers passed while no appliance ran.
  Switched,       ///< The numbers passed while another sender or range of numbers had the channel.
};
[[nodiscard]] std::string_view to_text(GapCause cause) noexcept;

/// A run of numbers that was given up.
struct GapEntry {
  std::uint64_t time_ns = 0;
  std::string channel;
  std::string feed;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint16_t epoch = 0;
  GapCause cause = GapCause::LostOnBoth;
  struct Had {
    bool exists = false;
    bool heard = false;
    bool passed = false;              ///< It has delivered a number after the range.
    std::uint64_t last_sequence = 0;  ///< The highest it had brought.
    std::uint64_t silent_ns = 0;      ///< Since its last packet; 0 if it was never heard.
  };
  std::array<Had, 2> lines;
  std::uint64_t stall_ns = 0;  ///< The longest time the thread did not run while the numbers passed.
  /// Of those that came all the same, after they were given up: how many, and how late, at most.
  std::uint64_t came_late = 0;
  std::uint64_t late_by_ns = 0;
  /// What it has done to books, as far as that is known.
  struct Books {
    std::uint32_t hit = 0;    ///< That were right, and were not any more; 0: none, or none of the rest is known.
    std::uint32_t stale = 0;  ///< Of these, for certain: the others were suspect.
    std::uint32_t by_snapshot = 0;
    std::uint32_t by_message = 0;
    std::uint64_t longest_ns = 0;  ///< Until one was right again, or the entry was written.

    [[nodiscard]] std::uint32_t open() const noexcept { return hit - by_snapshot - by_message; }
  };
  Books books{};
};

/// Numbers of a gap that came after they had been given up. Each entry of a gap replaces the one before it.
struct LateEntry {
  std::uint64_t time_ns = 0;
  std::string channel;
  std::uint64_t first = 0;       ///< Of the gap.
  std::uint64_t count = 0;       ///< Numbers that came, so far.
  std::uint64_t late_by_ns = 0;  ///< At most.
  std::uint16_t epoch = 0;
};

/// What a gap has done to books. Each entry of a gap replaces the one before it.
struct BooksEntry {
  std::uint64_t time_ns = 0;
  std::string channel;
  std::uint64_t first = 0;  ///< Of the gap.
  std::uint16_t epoch = 0;
  GapEntry::Books books;
};

/// Notes with the gap what it has done to books, if it is the same gap; true if it is.
bool add_books(GapEntry& gap, const BooksEntry& entry);
/// What a gap has done to books, in a few words: "12 books in doubt, 3 of them stale; ..."; empty: it has hit none.
[[nodiscard]] std::string books_text(const GapEntry& gap);
/// Notes with the gap what came late, if it is the same gap; true if it is. With all of its numbers its cause changes.
bool add_late(GapEntry& gap, const LateEntry& late);
/// "first-last", or the number alone.
[[nodiscard]] std::string range_text(const GapEntry& gap);
/// What the lines had, in a few words: "A passed it, B silent for 3.2 s".
[[nodiscard]] std::string lines_text(const GapEntry& gap);
/// The entry as a line of JSON without its end, as the files have it.
[[nodiscard]] std::string to_json(const GapEntry& gap);
[[nodiscard]] std::string to_json(const LateEntry& late);
[[nodiscard]] std::string to_json(const BooksEntry& entry);

/// Writes `FOLDER/gaps-YYYYMMDD.jsonl`. One thread. Every call opens and closes the file, so a disk that was full can
/// be used again when it is not.
class GapLog {
 public:
  /// Maximum bytes per day; lines beyond it are counted.
  static constexpr std::size_t kMaxFileBytes = 64U << 20;

  GapLog(std::string folder, std::uint32_t keep_days) : folder_(std::move(folder)), keep_days_(keep_days) {}

  /// Makes the folder.
  [[nodiscard]] Status prepare();
  void add(const GapEntry& gap) { append(to_json(gap), gap.time_ns); }
  void add(const LateEntry& late) { append(to_json(late), late.time_ns); }
  void add(const BooksEntry& entry) { append(to_json(entry), entry.time_ns); }
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
  void append(const std::string& line, std::uint64_t time_ns);
  [[nodiscard]] Status write(const std::string& path, const std::string& line);

  /// The wall clock less every step forward of the last keep_days.
  [[nodiscard]] std::uint64_t trusted_time_ns(const Now& now);

  /// How far the wall clock was ahead of the monotonic one, and when.
  struct Offset {
    std::uint64_t monotonic_ns = 0;
    std::int64_t ns = 0;
  };

  std::string folder_;
  std::uint32_t keep_days_;
  std::deque<Offset> offsets_;  ///< Of the last keep_days; each is less than the next.
  std::uint64_t lost_ = 0;
  std::string problem_;
  bool is_failing_ = false;
};

/// The entry of a line; nothing if it is none. Any text is fine.
struct ParsedLine {
  std::optional<GapEntry> gap;
  std::optional<LateEntry> late;
  std::optional<BooksEntry> books;
};
[[nodiscard]] ParsedLine parse_gap_line(std::string_view line);

/// Reads the gaps in a folder since a time, oldest first; late numbers, and what gaps have done to books, are merged
/// into their gaps. `skipped` counts invalid lines (a line may be cut off if the process died or the disk was full) and
/// files too large to be ours. Ignores files with other names. Keeps the last `most` gaps. Fails if the folder cannot
/// be read.
struct GapHistory {
  std::vector<GapEntry> gaps;
  std::uint64_t skipped = 0;
  std::string problem;
};
[[nodiscard]] GapHistory read_gaps(const std::string& folder, std::uint64_t since_ns, std::size_t most = 100'000);

}  // namespace stopbit::appliance
