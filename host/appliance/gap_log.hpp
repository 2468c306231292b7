#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/appliance/day_log.hpp"
#include "microcode/base/result.hpp"

/// Gaps on disk: one line of JSON each, one file per day. They remain after the process.
namespace stopbit::appliance {

inline constexpr std::string_view kGapFiles = "gaps-";
inline constexpr std::string_view kCommandFiles = "commands-";  ///< Commands of operators, an audit.

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
  std::uint64_t replayed = 0;    ///< Numbers that a replay service has brought.
  std::uint64_t quota_used = 0;  ///< Connections to the service that day, when the newest of these numbers came.
  std::uint64_t quota = 0;       ///< Connections that the exchange allows a day; 0: not known.
  /// What it has done to books, as far as that is known.
  struct Books {
    std::uint32_t hit = 0;    ///< That were right, and were not any more; 0: none, or none of the rest is known.
    std::uint32_t stale = 0;  ///< Of these, for certain: the others were suspect.
    std::uint32_t by_snapshot = 0;
    std::uint32_t by_message = 0;
    std::uint32_t refreshed = 0;   ///< Of these, rebuilt from empty before.
    std::uint32_t cycles = 0;      ///< Cycles of snapshots that began from the gap to the last snapshot that helped.
    std::uint64_t longest_ns = 0;  ///< Until one was right again, or the entry was written.

    [[nodiscard]] std::uint32_t open() const noexcept { return hit - by_snapshot - by_message; }
  };
  Books books{};
};

/// Numbers of a gap that came after they had been given up, late or by a replay. Each entry of a gap replaces the one
/// before it.
struct LateEntry {
  std::uint64_t time_ns = 0;
  std::string channel;
  std::uint64_t first = 0;       ///< Of the gap.
  std::uint64_t count = 0;       ///< Numbers that came, so far.
  std::uint64_t late_by_ns = 0;  ///< At most.
  std::uint64_t replayed = 0;    ///< Numbers that a replay service has brought, so far.
  std::uint16_t epoch = 0;
  std::uint64_t quota_used = 0;  ///< As of the gap.
  std::uint64_t quota = 0;
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
/// What a gap has done to books, in a few words: "12 books in doubt, 3 stale; ..."; empty: it has hit none.
[[nodiscard]] std::string books_text(const GapEntry& gap);
/// How many of its numbers a replay service has brought, and what of its quota was used; empty: none.
[[nodiscard]] std::string replay_text(const GapEntry& gap);
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

/// The log of gaps of an appliance: `FOLDER/gaps-YYYYMMDD.jsonl`.
class GapLog : public DayLog {
 public:
  GapLog(std::string folder, std::uint32_t keep_days) : DayLog(std::move(folder), kGapFiles, keep_days) {}

  void add(const GapEntry& gap) { append(to_json(gap), gap.time_ns); }
  void add(const LateEntry& late) { append(to_json(late), late.time_ns); }
  void add(const BooksEntry& entry) { append(to_json(entry), entry.time_ns); }
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
