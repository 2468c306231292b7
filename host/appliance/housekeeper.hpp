#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "host/appliance/appliance.hpp"
#include "host/appliance/book_files.hpp"
#include "host/appliance/gap_log.hpp"
#include "host/appliance/reader_watch.hpp"
#include "host/appliance/status.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::appliance {

/// One change of state, for a log.
struct Change {
  enum class Level : std::uint8_t { Info, Warning, Error };
  Level level = Level::Info;
  std::string what;                                         ///< "gap", "line silent": a few words, always the same.
  std::vector<std::pair<std::string, std::string>> fields;  ///< In this order.
};
/// what="gap" channel="seven" first=3 ...
[[nodiscard]] std::string to_text(const Change& change);
[[nodiscard]] std::string_view to_text(Change::Level level) noexcept;

/// Looks after an appliance that runs: writes gaps to disk, reports changes of state. It sees the data path only
/// through notices and counters, and may be as slow as a disk.
///
/// One thread calls step every so often, as soon as the appliance has started; a tenth of a second is good.
class Housekeeper {
 public:
  using Report = std::function<void(const Change&)>;

  Housekeeper(Appliance& appliance, Clocks clocks, Report report);

  /// Makes the state folder, and reads the gaps of the last day from it.
  [[nodiscard]] Status prepare();
  void step();
  /// After the appliance was stopped: saves its books.
  void finish();
  /// Readers are what this has seen, from here on; else the housekeeper looks at their signs itself. It must outlive
  /// the housekeeper.
  void watch_readers(const ReaderWatch& watch) noexcept { watch_ = &watch; }
  /// The last gaps, oldest first, those before a restart included. From the thread that calls step.
  [[nodiscard]] const std::deque<GapEntry>& recent_gaps() const noexcept { return recent_; }
  /// What a notice of a gap says, with its cause, but for the feed. `silence_ns`: a line without packets for longer is
  /// down.
  [[nodiscard]] static GapEntry entry_of(const AgentEvent& notice, const feed::Channel& channel,
                                         std::uint64_t silence_ns);
  /// How the appliance does, in a line: "12 of 12 channels live".
  [[nodiscard]] const std::string& summary() const noexcept { return summary_; }

 private:
  static constexpr std::size_t kRecentGaps = 200;
  static constexpr std::uint64_t kDayNs = 86'400'000'000'000;
  static constexpr std::uint64_t kLookNs = 500'000'000;  ///< How often counters are looked at.
  static constexpr std::uint64_t kRepeatNs =
      10'000'000'000;  ///< Interval between log lines for a number that keeps growing.
  static constexpr std::uint64_t kStalledNs = 5'000'000'000;  ///< An agent that does nothing for longer has stalled.
  static constexpr std::uint64_t kCleanNs = 3'600'000'000'000;
  static constexpr std::uint64_t kCountNs = 60'000'000'000;  ///< How often frozen files are counted.
  static constexpr std::size_t kNoticesAtATime = 10'000;
  static constexpr std::uint64_t kClockToleranceNs = 1'000'000;     ///< Between two readings of both clocks.
  static constexpr std::uint64_t kStepDistrustNs = 10'000'000'000;  ///< A clock that was stepped may be again.

  void take(const AgentEvent& notice);
  void take_books(const AgentEvent& notice, const feed::Channel& channel);
  void take_gap(const AgentEvent& notice, const feed::Channel& channel);
  [[nodiscard]] static GapCause cause_of(const AgentEvent& notice, bool is_line_down) noexcept;
  void watch_clock(const Now& now);
  void look(const Now& both);
  void forget_removed(const StatusReport& status);
  void report_distribution();
  void look_at_gap_log();
  void tell_book_starts();
  void follow_rings();
  void save_books(bool is_last);
  void look_at_agents(const StatusReport& status, std::uint64_t now);
  void look_at_recorder(const RecorderStatus& recorder, std::uint64_t now);
  void look_at_files();
  void look_at_replay(const ReplayStatus& replay, std::uint64_t now);
  void look_at_books(const StatusReport& status, const MarketStatus& market, std::uint64_t now);
  /// Whether a channel whose records go where those of the market's do is in a session of its calendar, or has none.
  [[nodiscard]] bool is_open(const StatusReport& status, const MarketStatus& market) const;
  /// Says with numbers that a replay has brought what of its service's quota is used.
  void note_quota(LateEntry& late, std::size_t channel);
  void look_at_readers(const StatusReport& status, std::uint64_t now);
  void report_line(const std::string& channel, char line, bool is_silent, const LineStatus& status);
  /// Logs the growth of a number that should not grow: the first at once, later growth combined after an interval.
  /// `why`: of the newest; empty: not known.
  void watch(const std::string& what, const char* key, const std::string& name, std::uint64_t value,
             Change::Level level, std::uint64_t now, std::string_view why = {});
  struct Watched {
    std::uint64_t reported = 0;
    std::uint64_t next_ns = 0;
  };
  /// The same of something that comes and goes, which keeps this itself.
  void watch(Watched& watched, const std::string& what, const char* key, const std::string& name, std::uint64_t value,
             Change::Level level, std::uint64_t now, std::string_view why = {});

  Appliance& appliance_;
  Clocks clocks_;
  Report report_;
  GapLog gaps_;
  std::list<BookWriter> book_writers_;
  std::deque<GapEntry> recent_;
  counters::Reader reader_;
  const ReaderWatch* watch_ = nullptr;
  std::set<std::string> truncated_;  ///< Files that the log has named.
  std::map<std::string, ChannelState> states_;
  std::map<std::pair<std::string, char>, bool> silent_;
  std::map<std::pair<std::string, std::string>, Watched> watched_;  ///< By what, and of whom.
  std::map<std::string, bool> low_quotas_;                          ///< By replay service.
  struct BookFaults {
    bool is_stale = false;  ///< A book, for too long.
    bool is_slow = false;   ///< The cycle of snapshots.
    bool is_open = false;
    std::uint64_t opened = 0;  ///< When the market was found open.
  };
  std::map<std::string, BookFaults> book_faults_;  ///< By ring of market events.
  bool recorder_fails_ = false;
  bool gap_log_fails_ = false;
  std::vector<bool> stalled_;  ///< By agent.
  std::string summary_;
  struct KnownReader {
    bool is_running = false;
    Watched lost;
  };
  /// By ring, name, process: as seen last. Any user may be a reader, so that nothing is kept of those that are gone.
  std::map<std::tuple<std::string, std::string, std::uint32_t>, KnownReader> readers_;
  // Last observation of the wall clock.
  bool clock_is_known_ = false;
  bool clock_is_synchronised_ = true;
  std::int64_t clock_offset_ns_ = 0;    ///< From the monotonic clock.
  std::uint64_t clock_seen_ns_ = 0;     ///< Monotonic.
  std::uint64_t clock_stepped_ns_ = 0;  ///< 0 = never.
  bool leap_second_is_reported_ = false;

  // Monotonic.
  std::uint64_t listening_since_ns_ = 0;  ///< The first step: all ports are open.
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t next_clean_ns_ = 0;
  std::uint64_t next_count_ns_ = 0;
};

}  // namespace stopbit::appliance
