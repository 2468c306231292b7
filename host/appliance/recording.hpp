#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "host/appliance/counter_set.hpp"
#include "host/appliance/placement.hpp"
#include "host/appliance/settings.hpp"
#include "host/ports/recorder/recorder.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::appliance {

/// For each line of a channel its index in the agent's recorder.
inline constexpr std::uint32_t kNotRecorded = 0xFFFF'FFFF;
using RecordLines = std::array<std::uint32_t, 2>;

/// A line whose packets are recorded, and how its files begin.
struct RecordedLine {
  std::size_t feed = 0;     ///< Index of Settings::feeds,
  std::size_t channel = 0;  ///< and of the channel in it.
  bool is_b = false;
  std::string name;
};
/// Every line of the settings; none if nothing is recorded.
[[nodiscard]] std::vector<RecordedLine> recorded_lines(const Settings& settings);

/// A line that comes while the appliance runs.
struct NewRecordedLine {
  std::size_t agent = 0;
  std::string file_name;  ///< How its files begin.
  std::string channel;
  bool is_b = false;
  RecordCounterSet counter_set = {};
};

/// The packets of all lines on disk: a recorder for each agent, and the thread that writes.
///
/// Call add and open during set-up. Agents pass packets and freezes through `recorder` and never wait. Then either
/// start() creates the thread, or the caller calls do_work.
class Recording {
 public:
  explicit Recording(const RecorderSettings& settings, std::size_t agents)
      : settings_(settings), plans_(agents), counter_sets_(agents), queues_(agents) {}
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { stop(); }

  /// The lines of a channel. Names of files are made of its name.
  [[nodiscard]] RecordLines add(std::size_t agent, const feed::Channel& channel);
  /// The counters, in the writing thread's part of the segment.
  void add_counters(CounterSetBuilder& builder, const std::vector<AgentSettings>& agents);
  /// Makes the folder and looks at what an earlier run has left. The queue of each agent lies at its place, if `places`
  /// has one.
  [[nodiscard]] Status open(std::span<const ThreadPlacement> places = {});
  /// How the files of the lines begin, of all that were added.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

  /// Lines that can be added in the life of the process.
  static constexpr std::size_t kSpareLines = 128;
  /// Whether another `count` lines can be added, and none has this name.
  [[nodiscard]] bool has_room(std::size_t count, const std::string& file_name) const;
  /// How many lines the agent has.
  [[nodiscard]] std::size_t lines(std::size_t agent) const noexcept { return plans_[agent].size(); }
  /// The line gets the next index of its agent. From the thread that counts frozen files, before the agent passes
  /// packets of it.
  void add(const NewRecordedLine& line);

  [[nodiscard]] recorder::Recorder& recorder(std::size_t agent) noexcept { return *recorders_[agent]; }

  /// `begin` is called by the thread, before anything else.
  void start(const std::function<void()>& begin = {});
  /// Writes what has come, and ends. Agents must have ended before. Once; without a thread, too.
  void stop();
  /// Writes some of what has come. @returns how many packets that were.
  std::size_t do_work();
  /// What lies around the newest packet stays, of every line. From any thread.
  void freeze() noexcept { freeze_.store(true, std::memory_order_relaxed); }
  /// Counts the bytes of frozen files, which an operator may have deleted or compressed; the writing thread, which may
  /// not look into folders, goes by that. From one other thread, now and then.
  void count_frozen();

 private:
  struct Plan {
    std::string file_name;
    std::string channel;
    bool is_b = false;
    std::size_t place = 0;  ///< Of all lines.
  };

  [[nodiscard]] std::string file_name(const std::string& channel, bool is_b);
  [[nodiscard]] recorder::ArchiveOptions archive_of(const Plan& plan) const;
  void publish();

  RecorderSettings settings_;
  /// By agent and line. Has room for those that are added: the writing thread reads meanwhile those that it has.
  std::vector<std::vector<Plan>> plans_;
  std::vector<std::vector<RecordCounterSet>> counter_sets_;  ///< The same.
  std::vector<RecordQueueCounterSet> queues_;                ///< By agent.
  RecorderCounterSet counter_set_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<recorder::Recorder>> recorders_;
  std::thread thread_;
  std::atomic<bool> freeze_ = false;
  std::vector<std::atomic<std::uint64_t>> frozen_bytes_;  ///< By place, as counted last.
  std::atomic<bool> frozen_is_counted_ = false;           ///< And not yet taken by the writing thread.
  std::size_t spare_lines_ = 0;
  std::atomic<bool> stop_ = false;
};

}  // namespace stopbit::appliance
