#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/appliance/agent.hpp"
#include "host/appliance/card_return.hpp"
#include "host/appliance/channel_changes.hpp"
#include "host/appliance/folder_lock.hpp"
#include "host/appliance/placement.hpp"
#include "host/appliance/recording.hpp"
#include "host/appliance/refill/replay_desk.hpp"
#include "host/appliance/settings.hpp"
#include "host/appliance/step/step_desk.hpp"
#include "microcode/base/diagnostic.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::opener {
class Client;
}

namespace stopbit::appliance {

class Distribution;
class Republication;
class ThreadFilters;
enum class ThreadKind : std::uint8_t;

/// Opens a port according to the settings. Adds to `notes` a sentence for each requested feature that is not available.
using OpenPort =
    std::function<Result<std::unique_ptr<ingest::Port>>(const PortSettings& port, std::vector<std::string>& notes)>;
/// Opens ports by their source (host/ports/port_source.hpp); DPDK, where it is built, takes `dpdk_memory` bytes. Paced
/// captures follow the clock. The ports of a process come from one of these. `opener`, if there is one, opens the
/// sockets.
[[nodiscard]] OpenPort standard_ports(Clock monotonic, std::uint64_t dpdk_memory, opener::Client* opener = nullptr,
                                      StepDesk* sessions = nullptr);
/// For the sessions of the settings; null: they have none.
[[nodiscard]] std::unique_ptr<StepDesk> make_step_desk(const Settings& settings, const Clocks& clocks,
                                                       opener::Client* opener);

/// Opens the card of the settings.
using OpenCard = std::function<Result<std::unique_ptr<device::Card>>(const device::CardOptions& options)>;

/// The program of an image: template files compiled as one set, or firmware. Verified. Errors are in `diagnostics`.
/// `opener`, if there is one, opens the files.
[[nodiscard]] std::optional<Program> load_image(const feed::Image& image, Diagnostics& diagnostics,
                                                opener::Client* opener = nullptr);

/// The feed map of a file, compiled for a program; `depth` as feed::Channel::depth. Errors are in `diagnostics`.
/// `opener`, if there is one, opens the file.
[[nodiscard]] std::optional<market::Map> load_map(const std::string& path, std::uint32_t depth, const Program& program,
                                                  Diagnostics& diagnostics, opener::Client* opener = nullptr);

struct MakeOptions {
  Clocks clocks = {};
  OpenPort open_port = {};            ///< Empty: standard_ports.
  OpenCard open_card = {};            ///< Empty: device::Card::open.
  bool has_private_counters = false;  ///< For tests: nothing appears in shared memory but rings.
  Topology topology = Topology();     ///< Of this machine.
  opener::Client* opener = nullptr;   ///< Opens files and sockets, as long as the appliance exists; null: it does.
};

/// Ports, channels, rings and counters of an appliance, ready to run.
///
/// Made by one thread. Then either start() makes a thread per agent, or the caller runs the agents itself. Another
/// thread takes care of notices and of images.
class Appliance {
 public:
  /// Makes everything: images, engines, rings, counters, ports, memberships. The failure says what could not be had.
  /// Errors of images are in `diagnostics` and fail, too.
  [[nodiscard]] static Result<std::unique_ptr<Appliance>> make(Settings settings, const MakeOptions& options,
                                                               Diagnostics& diagnostics);
  Appliance(const Appliance&) = delete;
  Appliance& operator=(const Appliance&) = delete;
  ~Appliance();

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Agent>>& agents() const noexcept { return agents_; }
  [[nodiscard]] const counters::Segment& segment() const noexcept { return *segment_; }
  [[nodiscard]] const std::vector<std::unique_ptr<RecordOutput>>& outputs() const noexcept { return outputs_; }
  /// The output has no channel any more, and its engines and rings are taken down. From the thread that looks after the
  /// appliance.
  [[nodiscard]] bool has_output_ended(std::size_t output) const {
    return output_entries_[output].feed == kNone && outputs_[output]->load() == nullptr;
  }
  /// The name of the image of an output.
  [[nodiscard]] const std::string& image_of(std::uint32_t output) const {
    return output_entries_.at(output).image_name;
  }
  /// What a ring of events has taken over from the process before.
  struct BookStart {
    std::size_t output = 0;
    std::uint32_t instruments = 0;
    std::uint32_t books = 0;
    std::uint32_t left_out = 0;  ///< Definitions that would take the room of today's instruments.
    std::uint64_t saved_ns = 0;
    std::string why_not;  ///< Why no books were; empty: some may have been.
  };
  /// One for each ring of events of the start; empty if the settings say that books are not saved.
  [[nodiscard]] const std::vector<BookStart>& book_starts() const noexcept { return book_starts_; }
  /// A sentence for each requested feature that is not available.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

  /// A thread for each agent, pinned and idle as the settings say. The failure names the agent. Each thread begins
  /// with its filter; `filters` outlive the appliance.
  [[nodiscard]] Status start(ThreadFilters* filters = nullptr);
  /// All agents have seen the end of all their ports.
  [[nodiscard]] bool ended() const noexcept;
  /// Ends the threads, and the channels in good order. Without threads: only the latter. Once.
  void stop();

  /// Null: the settings say that nothing is recorded.
  [[nodiscard]] Recording* recording() const noexcept { return recording_.get(); }

  /// Null: no replay service is asked.
  [[nodiscard]] const ReplayDesk* replay_desk() const noexcept { return replay_desk_.get(); }
  [[nodiscard]] const StepDesk* step_desk() const noexcept { return step_desk_.get(); }

  /// Of each [[multicast]].
  [[nodiscard]] const std::vector<std::unique_ptr<Republication>>& republications() const noexcept {
    return republications_;
  }
  /// Null: the settings have no [nic].
  [[nodiscard]] Distribution* distribution() const noexcept { return distribution_.get(); }

  /// For the thread that looks after the appliance.
  [[nodiscard]] const HousekeeperCounterSet& housekeeper_counter_set() const noexcept {
    return housekeeper_counter_set_;
  }
  /// The thread of the agent has ended in good order: all its ports have, or it was stopped.
  [[nodiscard]] bool has_ended(std::size_t agent) const noexcept {
    return agent < ended_.size() && ended_[agent].load(std::memory_order_acquire);
  }

  /// Tells readers of the counters that the appliance is well; from the thread that looks after it, every second or so.
  void beat() const noexcept { segment_->beat(clocks_.wall()); }
  /// Whether arrival times by the machine's clock are as good as they say; else records have a lower quality. From the
  /// same thread, as the next.
  void trust_clock(bool is_trusted) noexcept;
  /// Which feeds are in a session by now, for readers of the counters; from the same thread.
  void note_sessions(const Now& now) noexcept;
  void count_clock_step() noexcept { clock_steps_.add(); }
  /// The next notice of any agent. From the thread that looks after the appliance.
  [[nodiscard]] bool next_event(AgentEvent& notice);
  /// The next datagram to explain. From the same thread.
  [[nodiscard]] bool next_error_sample(ErrorSample& sample);
  /// What the channel of a sample ran when it came; null if another image runs by now. From the same thread.
  [[nodiscard]] std::shared_ptr<const Program> program_of(const ErrorSample& sample) const;
  /// The program of a channel of the settings; null: they have no such channel. From the same thread.
  [[nodiscard]] std::shared_ptr<const Program> program_of(std::string_view channel) const;
  /// The program of an output, as the last of them; null: no channel has that output any more. From the same thread.
  [[nodiscard]] std::shared_ptr<const Program> program_of_output(std::uint32_t output) const {
    const RecordOutputEntry& entry = output_entries_.at(output);
    return entry.feed != kNone ? entry.program : nullptr;
  }
  /// The name of the feed of an output that channels have.
  [[nodiscard]] const std::string& feed_of_output(std::uint32_t output) const {
    return settings_.feeds[output_entries_.at(output).feed].description.name;
  }
  /// The channel of a notice.
  [[nodiscard]] const feed::Channel& channel(std::uint32_t index) const { return channels_.at(index).description; }
  [[nodiscard]] const std::string& feed_of(std::uint32_t index) const { return channels_.at(index).feed; }

  /// Reads the files of an image again and, if they are good, lets every output of it change over between two
  /// datagrams. A bad image is refused, and the one that runs runs on: the failure says why, with the findings in
  /// `diagnostics`. From the thread that looks after the appliance; that must not be an agent's.
  [[nodiscard]] Result<std::string> reload(const std::string& image, Diagnostics& diagnostics);
  /// The same of every image whose files say something else than what runs; the names of these, none if there are none.
  [[nodiscard]] Result<std::vector<std::string>> reload_changed(Diagnostics& diagnostics);
  /// The same, back to the program that ran before the last change of the image.
  [[nodiscard]] Result<std::string> roll_back(const std::string& image, Diagnostics& diagnostics);
  /// What would become of the channels with these settings. From the same thread, as the next.
  [[nodiscard]] ChannelChanges compare_channels(const Settings& wanted) const;
  /// Channels that are ready to be changed: their groups are joined, their engines, rings and counters made.
  struct PreparedChannels;
  struct DropChannels {
    void operator()(PreparedChannels* channels) const noexcept;
  };
  using ReadyChannels = std::unique_ptr<PreparedChannels, DropChannels>;
  /// Does all of a change without obstacles that can fail. After a failure everything is as it was.
  [[nodiscard]] Result<ReadyChannels> prepare_channels(const Settings& wanted, ChannelChanges changes,
                                                       Diagnostics& diagnostics);
  /// Lets the agents change over between two datagrams each. Notes say what a restart is still needed for.
  std::vector<std::string> change_channels(ReadyChannels channels);
  /// Channels that can be added in the life of the process, by name: one that comes back takes no further room.
  static constexpr std::size_t kSpareChannels = 64;

  /// Takes down what ran before a reload. From the same thread, now and then.
  void retire();

  /// What a card decodes, for people; empty: there is none.
  [[nodiscard]] const std::string& on_card() const noexcept { return on_card_text_; }
  /// Once the card has failed: why, and what becomes of its ring; else empty, and after that, too. Software goes on in
  /// its place, as with another image, if the settings let it. From the same thread.
  [[nodiscard]] std::string take_card_failure();
  /// Of a card that software has taken over from.
  struct CardNews {
    bool is_back = false;
    std::string text;  ///< What is to be said; empty: nothing.
  };
  /// From the thread that retires: looks at times whether such a card works again, and brings it back. That takes some
  /// ten milliseconds; two seconds, if it answers and does not come to rest. @returns when it is back, and when it is
  /// not for another reason than the last time.
  [[nodiscard]] CardNews tend_card(std::uint64_t now_ns);
  /// Once a card with its own port has sent what no working card sends: what; else, and after that, too.
  [[nodiscard]] std::string take_card_fault() { return card_feed_ ? card_feed_->take_fault() : std::string(); }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct ChannelEntry {
    feed::Channel description;
    std::string feed;
    std::size_t feed_index = kNone;  ///< Of the settings; kNone: the channel was removed.
    std::size_t agent = 0;
    std::size_t output = 0;
    ChannelCounterSet counter_set;
    RecordLines record_as = {kNotRecorded, kNotRecorded};
    counters::Counter info;
    counters::Counter session;   ///< Since when a session of the feed is open; see kAlwaysOpen.
    std::uint64_t added_ns = 0;  ///< Monotonic; 0: at the start.
  };
  struct RecordOutputEntry {
    std::shared_ptr<const Program> program;           ///< The last that was made ready.
    std::shared_ptr<const Program> previous = {};     ///< That before it; null: there was no other.
    std::shared_ptr<const Program> rolled_back = {};  ///< That from which it was rolled back; null: it was not.
    std::size_t feed = 0;                             ///< kNone: the output has ended.
    std::size_t image = 0;
    std::string image_name;
    std::size_t agent = 0;
    std::uint16_t generation = 0;
  };

  Appliance(Settings settings, Clocks clocks);
  [[nodiscard]] Status make_outputs(Diagnostics& diagnostics);
  [[nodiscard]] std::optional<ring::Patience> patience_of(const std::string& ring);
  /// A replay service is asked for some of its channels.
  [[nodiscard]] bool is_replayed(const FeedSettings& feed) const noexcept;
  [[nodiscard]] EventPlan plan_events(const FeedSettings& feed, const feed::Channel& channel);
  [[nodiscard]] Status lock_folders();
  void plan_recording();
  [[nodiscard]] RecordOutputPlan plan_output(const FeedSettings& feed, const feed::Channel& channel,
                                             std::uint64_t slots);
  [[nodiscard]] Status make_counters(bool is_private);
  static void add_output_counters(CounterSetBuilder& builder, RecordOutput& output, const Program& program);
  static void add_session(CounterSetBuilder& builder, counters::Counter& counter, const std::string& channel);
  static void add_channel_info(CounterSetBuilder& builder, ChannelEntry& entry, const FeedSettings& feed);
  [[nodiscard]] RunningOutput running_output(std::size_t output) const;
  [[nodiscard]] Status join_groups(PreparedChannels& to, const ChannelChanges& changes);
  [[nodiscard]] Status make_new_outputs(PreparedChannels& to, const Settings& wanted, Diagnostics& diagnostics);
  void plan_new_lines(PreparedChannels& to, const Settings& wanted);
  [[nodiscard]] Status make_new_counters(PreparedChannels& to, const Settings& wanted);
  [[nodiscard]] Status start_new_outputs(PreparedChannels& to, Diagnostics& diagnostics);
  /// Lets books of the output be saved if the settings say so; returns whether. Of a channel that does not go on, what
  /// was saved is of no use, now and later.
  bool save_from_here(RecordOutput& output) const;
  void make_rosters(PreparedChannels& to);
  void add_to_roster(PreparedChannels& to, const ChannelChange& change);
  [[nodiscard]] std::vector<std::string> notes_of(const PreparedChannels& channels) const;
  [[nodiscard]] std::shared_ptr<const Program> program_for(const PreparedChannels& of,
                                                           const WantedOutput& output) const;
  [[nodiscard]] std::uint32_t entry_of(const std::string& channel) const noexcept;
  [[nodiscard]] std::vector<std::size_t> free_outputs() const;
  void end_outputs(const std::vector<std::size_t>& ended);
  void renumber_feeds(const ChannelChanges& changes);
  void take_new_outputs(PreparedChannels& from);
  void take_new_entries(PreparedChannels& from);
  void replace_entry(std::uint32_t index, ChannelEntry entry);
  void retire_changes();
  void plan_places(const Topology& topology);
  [[nodiscard]] Status open_card(const OpenCard& open);
  /// The card, if the output's program is to run there; null if software runs it. Fails if software may not.
  [[nodiscard]] Result<device::Card*> card_for(std::size_t output);
  [[nodiscard]] Status start_loads(Diagnostics& diagnostics);
  [[nodiscard]] bool has_card_port() const noexcept {
    return settings_.card && settings_.card->ingress == CardIngress::Port;
  }
  /// Why the card cannot receive the channels of the output from its own port; empty if it can.
  [[nodiscard]] std::string why_not_from_port(std::size_t output) const;
  [[nodiscard]] std::vector<feed::Channel> channels_of(std::size_t output) const;
  /// Lets the card receive the channels of its output.
  [[nodiscard]] Status open_card_port();
  [[nodiscard]] Result<std::unique_ptr<device::LiveCard>> receive_on_card() const;
  [[nodiscard]] Status bring_card_back();
  [[nodiscard]] Status card_answers() const;
  /// The agent of these channels takes them from the card.
  [[nodiscard]] Status begin_card_port();
  /// A load of the output's program, with its map. Fails if the map does not fit; the errors are in `diagnostics`.
  [[nodiscard]] Result<std::unique_ptr<Load>> prepare(std::size_t output, std::shared_ptr<const Program> program,
                                                      std::uint16_t generation, Diagnostics& diagnostics,
                                                      device::Card* card = nullptr) const;
  /// A program for an output, by their order.
  struct Wanted {
    std::size_t output = 0;
    std::shared_ptr<const Program> program;
  };
  /// Lets all outputs change over, or none. Returns for people what else happens.
  [[nodiscard]] Result<std::string> change_over(const std::vector<Wanted>& wanted, Diagnostics& diagnostics);
  /// Why nothing can change at the moment; empty: it can.
  [[nodiscard]] std::string why_busy();
  /// To the agent of the output. False if too many are waiting there.
  [[nodiscard]] bool push(std::size_t output, std::unique_ptr<Load> load);
  [[nodiscard]] Status make_agents(const OpenPort& open_port);
  [[nodiscard]] Status make_replays();
  [[nodiscard]] Status make_replay(std::size_t number);
  [[nodiscard]] Status add_replay_feed(ReplayService& service, std::unique_ptr<refill::Dialect> dialect,
                                       const std::pair<std::size_t, std::size_t>& of);
  void note_open_groups();
  void note_polled_ports(const AgentSettings& agent, const std::vector<AgentPort>& ports);
  void open_runs();
  /// Of an output: instruments and books that another process has saved. `left`: its channels that go on.
  void take_over_books(std::size_t output, const std::vector<market::Translator::Left>& left);
  void run(std::size_t agent, ThreadFilters* filters, ThreadKind kind);
  /// What the thread of an agent does after a turn without work.
  void rest(std::size_t agent, std::uint32_t quiet_turns);
  void lock_memory();
  void note(std::string text);

  Settings settings_;
  Clocks clocks_;
  KnownRuns runs_;
  counters::Counter clock_steps_;
  opener::Client* opener_ = nullptr;
  std::vector<FolderLock> locks_;  ///< Of the folders that no other appliance may write to.
  std::vector<std::string> notes_;
  std::vector<BookStart> book_starts_;
  std::vector<ThreadPlacement> places_;                                ///< Of the agents.
  std::vector<std::vector<std::shared_ptr<const Program>>> programs_;  ///< By feed and image; null where not used.
  std::unique_ptr<device::Card> card_;
  std::vector<feed::Channel> card_channels_;  ///< That it receives from its own port, as they were at the start.
  CardReturn card_return_;
  std::string why_not_back_;                     ///< As it was said last.
  std::unique_ptr<device::LiveCard> live_card_;  ///< Until card_feed_ has it.
  std::unique_ptr<CardFeed> card_feed_;          ///< Null: no card receives from its own port.
  PortCounterSet card_port_counter_set_;
  CardCounterSet card_counter_set_;
  const device::DeviceEngine* on_card_ = nullptr;  ///< Of the load that runs on it, until that is taken down.
  std::size_t card_output_ = 0;                    ///< Whose load that is.
  std::string on_card_text_;
  bool card_failed_ = false;
  std::vector<std::unique_ptr<RecordOutput>> outputs_;
  std::vector<RecordOutputEntry> output_entries_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> output_of_;  ///< By feed and channel.
  std::deque<ChannelEntry> channels_;  ///< All that there were, in the order of the feeds at the start, then as added.
  std::vector<PortCounterSet> port_counter_sets_;
  std::vector<AgentCounterSet> agent_counter_sets_;
  std::vector<ReplayCounterSet> replay_counter_sets_;
  std::vector<counters::Counter> infos_;
  HousekeeperCounterSet housekeeper_counter_set_;
  std::optional<counters::Segment> segment_;
  bool has_started_ = false;
  std::unique_ptr<Recording> recording_;
  std::unique_ptr<Distribution> distribution_;
  std::vector<std::unique_ptr<Republication>> republications_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<std::size_t> port_places_;  ///< By port of the settings: that among the ports of its agent.
  QuotaFile quota_;
  /// Ends before the agents, whose queues it has.
  std::unique_ptr<ReplayDesk> replay_desk_;
  std::unique_ptr<StepDesk> step_desk_;                            ///< Null: no port has sessions.
  std::vector<std::pair<std::size_t, ReplayFeed*>> replay_feeds_;  ///< By output.
  std::vector<std::thread> threads_;
  std::size_t pending_loads_ = 0;    ///< Given to agents, and not yet back.
  std::size_t pending_changes_ = 0;  ///< The same, of their channels.
  std::size_t added_channels_ = 0;   ///< Of kSpareChannels.
  std::atomic<bool> stop_ = false;
  std::array<std::atomic<bool>, kMaxAgents> ended_{};  ///< By agent.
  std::atomic<std::size_t> running_ = 0;               ///< Threads.
  bool stopped_ = false;
};

}  // namespace stopbit::appliance
