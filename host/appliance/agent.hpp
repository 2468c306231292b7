#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "host/appliance/channel.hpp"
#include "host/appliance/settings.hpp"
#include "host/feed/line_table.hpp"
#include "host/ingest/port.hpp"

namespace stopbit::appliance {

/// Nanoseconds since 1970. Tests turn it by hand.
using Clock = std::function<std::uint64_t()>;

/// A port of an agent.
struct AgentPort {
  std::unique_ptr<ingest::Port> port;
  const PortTally* tally = nullptr;
  bool is_live = true;        ///< Its arrival times are of this moment: latency can be measured.
  std::uint64_t dropped = 0;  ///< By card and kernel, at the last look.
};

/// A load that is to run from the next datagram on, and where the one before is left. Filled and emptied by another
/// thread, in turns.
struct Exchange {
  std::size_t outlet = 0;  ///< Of the agent.
  std::unique_ptr<Load> load;
};

/// Everything that one thread does: polls its ports, finds each datagram's channel, and lets the channels do the rest.
///
/// `do_work` never waits, allocates, locks, logs or makes a system call, but for what its ports do to receive. The
/// thread that calls it is the caller's business: several agents can share one, in tests they do.
class Agent {
 public:
  struct Parts {
    std::vector<AgentPort> ports;
    std::vector<Outlet*> outlets;
    const AgentTally* tally = nullptr;
    std::size_t batch = 32;
    std::uint64_t silence_ns = 0;
    std::uint32_t stale_after = 3;
    recorder::Recorder* recorder = nullptr;  ///< Takes every datagram of a channel; null: nothing is recorded.
  };
  Agent(Parts parts, Clock clock);

  /// At set-up: a channel of an outlet, with its lines.
  void add(const feed::Channel& description, std::uint32_t index, Outlet& outlet, const ChannelTally& tally,
           const RecordLines& record_as = {kNotRecorded, kNotRecorded});

  /// Takes a batch from each port. @returns how many datagrams there were.
  std::size_t do_work() noexcept;
  /// All ports have ended; live ones never do.
  [[nodiscard]] bool ended() const noexcept;
  /// The end: nothing is waited for any longer, the rings say so, and the counters are final.
  void finish() noexcept;

  /// To other threads: what happened.
  [[nodiscard]] Queue<Notice>& notices() noexcept { return notices_; }
  /// To other threads: datagrams to explain.
  [[nodiscard]] Queue<Evidence>& evidence() noexcept { return evidence_; }
  /// From another thread: loads to start. What ran before comes back by the other queue.
  [[nodiscard]] Queue<Exchange>& loads() noexcept { return loads_; }
  [[nodiscard]] Queue<Exchange>& retired() noexcept { return retired_; }

  [[nodiscard]] const std::vector<std::unique_ptr<Channel>>& channels() const noexcept { return channels_; }
  [[nodiscard]] const std::vector<AgentPort>& ports() const noexcept { return parts_.ports; }

 private:
  std::size_t poll(AgentPort& port, std::uint64_t& now) noexcept;
  void record(std::size_t count) noexcept;
  void note_drops(AgentPort& port, std::uint64_t now) noexcept;
  void start_loads(std::uint64_t now) noexcept;
  void run_deadlines(std::uint64_t now) noexcept;
  void publish(std::uint64_t now) noexcept;
  void publish_ports() noexcept;

  static constexpr std::size_t kNotices = 4'096;
  static constexpr std::size_t kEvidence = 64;  ///< As many kinds of errors have a place in its counters.
  static constexpr std::size_t kLoads = 64;
  static constexpr std::uint64_t kPublishNs = 1'000'000;  ///< Counters are at most so old.
  static constexpr std::uint64_t kBeatNs = 100'000'000;

  Parts parts_;
  Clock clock_;
  Queue<Notice> notices_;
  Queue<Evidence> evidence_;
  Queue<Exchange> loads_;
  Queue<Exchange> retired_;
  Shared shared_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<Outlet*> outlet_of_;  ///< By channel.
  feed::LineTable lines_;
  std::vector<ingest::Arrival> batch_;
  std::vector<std::uint32_t> record_as_;  ///< By place in the batch.
  std::vector<std::uint32_t> dirty_;      ///< Channels whose counters are behind.
  std::vector<std::uint32_t> waiting_;    ///< Channels with a deadline.
  std::uint64_t next_publish_ns_ = 0;
  std::uint64_t next_beat_ns_ = 0;
};

}  // namespace stopbit::appliance
