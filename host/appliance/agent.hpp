#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/appliance/card_feed.hpp"
#include "host/appliance/clocks.hpp"
#include "host/appliance/live_channel.hpp"
#include "host/appliance/roster.hpp"
#include "host/appliance/settings.hpp"
#include "host/feed/channel/channel_set.hpp"
#include "host/os/shm/segment.hpp"
#include "host/os/spsc_queue.hpp"
#include "host/ports/port.hpp"

namespace stopbit::appliance {

/// A port of an agent.
struct AgentPort {
  std::unique_ptr<ingest::Port> port;
  const PortCounterSet* counter_set = nullptr;
  bool is_live = true;        ///< Its arrival times are of this moment: latency can be measured.
  std::uint64_t dropped = 0;  ///< By card and kernel, at the last look.
};

/// A load that is to run from the next datagram on, and where the one before is left. Filled and emptied by another
/// thread, in turns.
struct Exchange {
  RecordOutput* output = nullptr;  ///< One of the agent's.
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
    std::vector<RecordOutput*> outputs;
    const AgentCounterSet* counter_set = nullptr;
    std::size_t batch = 32;
    feed::ChannelOptions channel_options = {};
    std::unique_ptr<ReplayLink> replay = {};  ///< Where lost messages are asked for; null: nowhere.
    recorder::Recorder* recorder = nullptr;   ///< Takes every datagram of a channel; null: nothing is recorded.
    CardFeed* card = nullptr;                 ///< See set_card; null: there is none.
  };
  Agent(Parts parts, Clocks clocks);

  /// At set-up: a channel of an output, with its lines. `run` is where the number that was delivered last is kept;
  /// null: nowhere.
  void add(const feed::Channel& description, std::uint32_t index, RecordOutput& output,
           const ChannelCounterSet& counter_set, const RecordLines& record_as = {kNotRecorded, kNotRecorded},
           KnownRun* run = nullptr);

  /// A channel for another roster, from any thread: as add() makes it.
  [[nodiscard]] std::shared_ptr<LiveChannel> make_channel(const feed::Channel& description, std::uint32_t index,
                                                          RecordOutput& output, const ChannelCounterSet& counter_set,
                                                          const RecordLines& record_as, KnownRun* run) {
    auto channel = std::make_shared<LiveChannel>(description, index, output, counter_set, shared_, run);
    channel->record_as = record_as;
    return channel;
  }
  /// At set-up: the channel's answers come from a replay service under the number that is returned. It stays in the
  /// roster.
  std::uint32_t add_asking(const std::shared_ptr<LiveChannel>& channel) {
    asking_.push_back(channel);
    return static_cast<std::uint32_t>(asking_.size() - 1);
  }

  /// At set-up: see feed::ChannelDecoder::resume_after.
  void resume_after(std::size_t channel, std::uint64_t sender, std::uint64_t last_sequence) noexcept {
    roster_.channels[channel]->resume_after(sender, last_sequence);
  }
  /// At set-up: brings the records of channels that were added. It must outlive the agent.
  void set_card(CardFeed& card) noexcept { parts_.card = &card; }
  /// From any thread: whether the machine's clock is as good as its stamps say; else records have a lower quality.
  void trust_clock(bool is_trusted) noexcept { clock_is_trusted_.store(is_trusted, std::memory_order_relaxed); }

  /// Takes a batch from each port. @returns how many datagrams there were.
  std::size_t do_work() noexcept;
  /// For a thread that would rather block after a turn without work: an epoll instance that is ready when a port has
  /// something. Nothing: a port cannot say so, something is due at a time, or the last call was in vain; then look
  /// again soon.
  [[nodiscard]] std::optional<int> wakes_by() const noexcept;
  /// After the thread has blocked until this time at the latest (monotonic), which was no stall. `called`: not because
  /// the time was over.
  void rested(std::uint64_t until_ns, bool called) noexcept;
  /// After its thread has ended, by another one: takes a change that came too late for it.
  void take_changes() noexcept { start_changes(); }
  /// All ports have ended; live ones never do.
  [[nodiscard]] bool ended() const noexcept;
  /// Before the end, by the thread that polls: reads what live ports hold at this moment, so that no number is given up
  /// of which a copy lies there. Half a second at most.
  void drain() noexcept;
  /// The end: nothing is waited for any longer, the rings say so, and the counters are final.
  void finish() noexcept;

  /// To other threads: what happened.
  [[nodiscard]] os::SpscQueue<AgentEvent>& notices() noexcept { return notices_; }
  /// To other threads: datagrams to explain.
  [[nodiscard]] os::SpscQueue<ErrorSample>& error_samples() noexcept { return error_samples_; }
  /// From another thread: loads to start. What ran before comes back by the other queue.
  [[nodiscard]] os::SpscQueue<Exchange>& loads() noexcept { return loads_; }
  [[nodiscard]] os::SpscQueue<Exchange>& retired() noexcept { return retired_; }
  /// From another thread: rosters to change to, at most kRosterChanges at once. They come back by the other queue. A
  /// change follows the loads that were given before it.
  [[nodiscard]] os::SpscQueue<std::unique_ptr<RosterChange>>& changes() noexcept { return changes_; }
  [[nodiscard]] os::SpscQueue<std::unique_ptr<RosterChange>>& changed() noexcept { return changed_; }
  static constexpr std::size_t kRosterChanges = 2;
  /// Room for loads at once: an image may run in every ring of an agent, those included that are added later.
  [[nodiscard]] static std::size_t room_for_loads(std::size_t outputs) noexcept {
    return std::bit_ceil(outputs + feed::kMaxChannels);
  }

  /// Null: nothing is asked for.
  [[nodiscard]] ReplayLink* replay() const noexcept { return parts_.replay.get(); }
  [[nodiscard]] const std::vector<std::shared_ptr<LiveChannel>>& channels() const noexcept { return roster_.channels; }
  [[nodiscard]] const std::vector<RecordOutput*>& outputs() const noexcept { return roster_.outputs; }
  [[nodiscard]] const std::vector<AgentPort>& ports() const noexcept { return parts_.ports; }

 private:
  std::size_t poll(AgentPort& port) noexcept;
  void open_waker();
  void record(std::size_t count) noexcept;
  std::size_t take_from_card() noexcept;
  std::size_t poll_card() noexcept;
  void leave_card() noexcept;
  [[nodiscard]] bool touches_card(const RosterChange& change) const noexcept;
  void retire_card(const char* why) noexcept;
  std::uint64_t recall() noexcept;
  void note_drops(AgentPort& port, std::uint64_t now) noexcept;
  std::size_t take_answers() noexcept;
  void ask() noexcept;
  void start_loads() noexcept;
  void start_changes() noexcept;
  void change_to(RosterChange& change) noexcept;
  void note_stall(std::uint64_t now) noexcept;
  /// Up to where every port has been read.
  [[nodiscard]] std::uint64_t complete_until(feed::Timeline timeline) const noexcept;
  void close_windows(feed::Timeline timeline) noexcept;
  [[nodiscard]] static feed::Timeline timeline_of(const AgentPort& port) noexcept {
    return port.is_live ? feed::Timeline::Present : feed::Timeline::Capture;
  }
  void mark_dirty(std::uint32_t index) noexcept;
  void publish(std::uint64_t now) noexcept;
  void publish_ports() noexcept;
  void tell_effects(RecordOutput& output, bool is_last) noexcept;

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr std::size_t kNotices = 4'096;
  static constexpr std::size_t kEvidence = 64;          ///< As many kinds of errors have a place in its counters.
  static constexpr std::size_t kCardRecords = 256;      ///< Of a turn, likewise.
  static constexpr std::size_t kAnswers = 32;           ///< Of a turn: what the lines bring comes first.
  static constexpr std::uint64_t kStallNs = 1'000'000;  ///< A turn that comes later than this after the last one.
  static constexpr std::uint64_t kDrainNs = 500'000'000;
  static constexpr std::uint64_t kPublishNs = 1'000'000;  ///< Counters are at most so old.
  static constexpr std::uint64_t kBeatNs = 100'000'000;
  /// Turns for which ports that called in vain are not waited for: one that goes on calling must not keep a core busy.
  static constexpr std::uint32_t kDistrustTurns = 256;

  Parts parts_;
  Clocks clocks_;
  os::SpscQueue<AgentEvent> notices_;
  os::SpscQueue<ErrorSample> error_samples_;
  os::SpscQueue<Exchange> loads_;
  os::SpscQueue<Exchange> retired_;
  os::SpscQueue<std::unique_ptr<RosterChange>> changes_;
  os::SpscQueue<std::unique_ptr<RosterChange>> changed_;
  Shared shared_;
  Roster roster_;
  std::vector<std::shared_ptr<LiveChannel>> asking_;  ///< Channels by the numbers of their answers.
  std::vector<ingest::Arrival> batch_;
  std::vector<std::uint32_t> record_as_;  ///< By place in the batch.
  std::atomic<bool> clock_is_trusted_ = true;
  std::optional<int> waker_;        ///< Ready when a port has something; nothing: not all of them can say so.
  os::Descriptor wakers_;           ///< Of more than one port: `waker_`.
  std::uint32_t distrust_ = 0;      ///< Turns left in which no port is waited for.
  bool is_saving_ = false;          ///< An output has more of its books to copy.
  bool is_read_in_order_ = false;   ///< One port, whose datagrams come in the order of their arrival.
  std::uint64_t last_turn_ns_ = 0;  ///< Monotonic, as all that follow.
  std::uint64_t next_publish_ns_ = 0;
  std::uint64_t next_beat_ns_ = 0;
  std::uint64_t wall_ns_ = 0;  ///< By the wall clock: the last beat.
};

}  // namespace stopbit::appliance
