#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/record/builder.hpp"
#include "decoder/record/sink.hpp"
#include "host/arbitrate/arbiter.hpp"
#include "host/feed/description.hpp"
#include "host/feed/line_table.hpp"
#include "host/ingest/packet_source.hpp"
#include "host/net/flow_table.hpp"
#include "host/net/framing.hpp"
#include "host/replay/counting_sink.hpp"
#include "host/replay/error_text.hpp"
#include "host/replay/pacer.hpp"
#include "host/replay/summary.hpp"

/// The straight line from captures to records:
///
///     PacketSource -> parse_frame -> groups, channels -> framing, chunks, blocks -> Engine -> RecordSink
///
/// With channels of a feed, an Arbiter for each stands behind its framing, and merges its lines by the capture's times.
namespace stopbit::replay {

/// How far a replay is.
struct Progress {
  std::uint64_t bytes_done = 0;   ///< Of the capture files.
  std::uint64_t bytes_total = 0;  ///< 0 = unknown: one of them is a pipe.
  std::uint64_t packets = 0;
  std::uint64_t messages = 0;
  double seconds = 0;     ///< Since the start.
  bool finished = false;  ///< The last call.

  [[nodiscard]] double packets_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(packets) / seconds : 0;
  }
  /// Nothing while there is no ground for a guess.
  [[nodiscard]] std::optional<double> seconds_left() const noexcept;
};

struct Options {
  net::Framing framing;
  std::vector<net::Endpoint> groups;  ///< Only these; none = all.
  /// If there are any: only what comes on their lines, arbitrated; framing, groups and channels have no meaning then.
  /// All of one image, which is the program, and of one reset rule (see same_reset_rule). They must outlive the replay.
  std::vector<const feed::Channel*> feed;
  std::uint64_t limit = 0;  ///< Stop after so many datagrams were given to the engine; 0 = no limit.
  bool merge = false;       ///< All captures at once, by arrival time; else one after the other.
  double speed = 0;         ///< Factor of the capture's own speed; 0 = as fast as it goes.
  bool strict = false;      ///< See EngineOptions.
  EngineLimits limits = {};
  std::uint16_t image_generation = 0;
  std::uint16_t channels = 256;  ///< At most so many groups: each gets a channel, a dictionary of its own.
  std::uint64_t progress_interval_ns = 100'000'000;
  std::function<void(const Progress&)>
      on_progress;  ///< Called about so often, from the thread that runs; may be empty.
};

/// The options that an engine for this replay needs: a dictionary per channel, and the reset rule of the framing.
[[nodiscard]] EngineOptions engine_options(const Options& options);

/// Whether one engine can serve these channels of a feed.
[[nodiscard]] bool same_reset_rule(std::span<const feed::Channel* const> channels);

/// Replays captures, one after the other or merged. Program, engine and sink must outlive it. Runs on the caller's
/// thread. Allocates when it is made; while packets flow, only for what goes wrong with a capture file.
class Replay {
 public:
  /// `engine` was made with engine_options(options).
  Replay(const Program& program, Engine& engine, record::RecordSink& sink, Options options);

  /// Replays the sources to their end. Once per object.
  [[nodiscard]] Summary run(std::span<const std::unique_ptr<ingest::PacketSource>> sources);

  /// The same for several replays in one pass, each of which takes what is its own: the images of a feed. Pace,
  /// progress, limit and request_stop are those of the first.
  [[nodiscard]] static std::vector<Summary> run_together(
      std::span<Replay* const> replays, std::span<const std::unique_ptr<ingest::PacketSource>> sources);

  /// Ends run soon; from another thread or a signal handler.
  void request_stop() noexcept { stop_.store(true, std::memory_order_relaxed); }

 private:
  /// What is known of a problem when it happens; turned into words at the end.
  struct Problem {
    std::size_t source = 0;
    std::uint64_t packet = 0;
    net::Verdict verdict = net::Verdict::Accepted;  ///< The frame's, if it is the problem.
    std::size_t captured_bytes = 0;
    std::size_t original_bytes = 0;
    net::Endpoint group = {};
    Outcome outcome = {};  ///< Else the engine's.
    Excerpt bytes = {};    ///< Around its place.
  };
  static constexpr std::size_t kNamedProblems = 10;

  void begin(std::span<const std::unique_ptr<ingest::PacketSource>> sources);
  [[nodiscard]] Summary end(std::span<const std::unique_ptr<ingest::PacketSource>> sources);
  static void run_source(std::span<Replay* const> replays, std::size_t index, ingest::PacketSource& source);
  static void run_merged(std::span<Replay* const> replays,
                         std::span<const std::unique_ptr<ingest::PacketSource>> sources);
  [[nodiscard]] bool may_go_on() noexcept;
  void take_fault(const ingest::PacketSource& source);
  [[nodiscard]] bool wait_for(const ingest::Packet& packet);
  void take_packet(const ingest::Packet& packet, record::TimeQuality time_quality);
  void take_of_feed(const net::Datagram& datagram, const feed::LineTarget& target, PacketInfo& info);
  void run_deadlines(std::uint64_t now_ns);
  void take_datagram(std::span<const std::byte> datagram, PacketInfo& info);
  void decode_datagram(std::span<const std::byte> datagram, net::Preamble preamble, PacketInfo& info);
  void write_event(const PacketInfo& info, const record::Event& event);
  void run_blocks(std::span<const std::byte> datagram, const net::Preamble& preamble, PacketInfo& info);
  bool run_engine(std::span<const std::byte> datagram, const PacketInfo& info);
  void take_error(const Outcome& outcome, const PacketInfo& info, std::span<const std::byte> datagram);
  void lose_frame(const ingest::Packet& packet, net::Verdict verdict, net::Endpoint group);
  void invalidate(std::uint16_t channel);
  void note(const Problem& problem);
  [[nodiscard]] std::string words(const Problem& problem,
                                  std::span<const std::unique_ptr<ingest::PacketSource>> sources) const;
  void report_progress(bool finished);

  const Program& program_;
  Engine& engine_;
  CountingSink sink_;
  DiscardingSink discard_;
  Options options_;
  net::GroupFilter filter_;
  net::FlowTable flows_;
  record::Builder builder_;
  std::unique_ptr<net::ChunkAssembler> chunks_;  ///< b3 only.
  std::optional<Pacer> pacer_;

  /// What is remembered of a channel.
  struct Channel {
    const net::Framing* framing = nullptr;
    std::uint64_t datagrams = 0;
    std::uint64_t sender = 0;
    std::uint16_t sender_epoch = 0;
    bool has_sender = false;
  };
  std::vector<Channel> channels_;

  /// A channel of a feed: what its arbiter says goes on from here.
  class FeedChannel final : public arbitrate::Sink {
   public:
    FeedChannel(Replay& replay, const feed::Channel& description);
    void deliver(const arbitrate::Packet& packet, std::uint16_t epoch) noexcept override;
    void gap(const arbitrate::Gap& gap) noexcept override;
    void epoch(const arbitrate::NewRun& run) noexcept override;
    void reset(const arbitrate::NewRun& run) noexcept override;

    [[nodiscard]] const feed::Channel& description() const noexcept { return description_; }
    [[nodiscard]] ChannelCount count() const;

    arbitrate::Arbiter arbiter;
    std::uint64_t resets = 0;

   private:
    Replay& replay_;
    const feed::Channel& description_;
  };
  std::vector<std::unique_ptr<FeedChannel>> feed_;
  feed::LineTable lines_;
  std::uint64_t next_deadline_ns_ = kNoDeadline;  ///< Of any channel; none is earlier.
  static constexpr std::uint64_t kNoDeadline = ~std::uint64_t{0};

  Summary summary_;
  std::array<Problem, kNamedProblems> problems_{};
  std::size_t problem_count_ = 0;
  std::vector<std::string> faults_;

  std::atomic<bool> stop_ = false;
  std::size_t source_index_ = 0;
  const ingest::PacketSource* source_ = nullptr;
  std::span<const std::unique_ptr<ingest::PacketSource>> merged_;  ///< If they are read at once.
  std::uint64_t earlier_bytes_ = 0;                                ///< Of the sources that are done.
  std::uint64_t total_bytes_ = 0;
  std::uint64_t start_ns_ = 0;
  std::uint64_t next_progress_ns_ = 0;
};

}  // namespace stopbit::replay
