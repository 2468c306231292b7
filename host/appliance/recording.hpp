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

  [[nodiscard]] recorder::Recorder& recorder(std::size_t agent) noexcept { return *recorders_[agent]; }

  /// `begin` is called by the thread, before anything else.
  void start(const std::function<void()>& begin = {});
  /// Writes what has come, and ends. Agents must have ended before. Once; without a thread, too.
  void stop();
  /// Writes some of what has come. @returns how many packets that were.
  std::size_t do_work();
  /// What lies around the newest packet stays, of every line. From any thread.
  void freeze() noexcept { freeze_.store(true, std::memory_order_relaxed); }

 private:
  struct Plan {
    std::string file_name;
    std::string channel;
    bool is_b = false;
  };

  [[nodiscard]] std::string file_name(const std::string& channel, bool is_b);
  void publish();

  RecorderSettings settings_;
  std::vector<std::vector<Plan>> plans_;                     ///< By agent and line.
  std::vector<std::vector<RecordCounterSet>> counter_sets_;  ///< The same.
  std::vector<RecordQueueCounterSet> queues_;                ///< By agent.
  RecorderCounterSet counter_set_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<recorder::Recorder>> recorders_;
  std::thread thread_;
  std::atomic<bool> freeze_ = false;
  std::atomic<bool> stop_ = false;
};

}  // namespace stopbit::appliance
