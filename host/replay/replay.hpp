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
#include "host/feed/channel/channel_decoder.hpp"
#include "host/feed/channel/channel_set.hpp"
#include "host/feed/channel/datagram_decoder.hpp"
#include "host/feed/channel/error_text.hpp"
#include "host/feed/channel/stage.hpp"
#include "host/feed/description/description.hpp"
#include "host/feed/description/line_table.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/flow_table.hpp"
#include "host/ports/packet_source.hpp"
#include "host/replay/missing_numbers.hpp"
#include "host/replay/pacer.hpp"
#include "host/replay/summary.hpp"
#include "host/replay/template_counts.hpp"

/// From captures to records:
///
///     PacketSource -> parse_frame -> ChannelSet -> ChannelDecoder  -> Engine -> stages -> RecordSink
///                                 -> groups     -> DatagramDecoder ->
///
/// With channels of a feed, each has the decoder that `stopbit run` uses; the capture's times are its clock. Without,
/// each multicast group is a channel, decoded as it was captured: there is nothing to arbitrate.
namespace stopbit::replay {

/// How far a replay is.
struct Progress {
  std::uint64_t bytes_done = 0;   ///< Of the capture files.
  std::uint64_t bytes_total = 0;  ///< 0 = unknown: one of them is a pipe.
  std::uint64_t packets = 0;
  std::uint64_t messages = 0;
  double seconds = 0;     ///< Since the start.
  bool finished = false;  ///< The last call.

  /// Nothing while there is no ground for a guess.
  [[nodiscard]] std::optional<double> seconds_left() const noexcept;
};

struct Options {
  net::Framing framing;
  std::vector<net::Endpoint> groups;  ///< Only these; none = all.
  /// If there are any: only what comes on their lines, arbitrated; framing, groups and channels have no meaning then.
  /// All of one image, which is the program, and of one reset rule (see same_reset_rule). They must outlive the replay.
  std::vector<const feed::Channel*> feed;
  std::uint64_t limit = 0;  ///< Stop after this number of datagrams for the engine; 0 = no limit.
  bool merge = false;       ///< All captures at once, by arrival time; else one after the other.
  double speed = 0;         ///< Factor of the capture's own speed; 0 = as fast as it goes.
  bool strict = false;      ///< See EngineOptions.
  EngineLimits limits = {};
  feed::ChannelOptions channel_options = {};  ///< Of a feed's channels.
  std::uint16_t image_generation = 0;
  std::uint16_t channels = 256;  ///< Maximum number of groups; each has its own channel and dictionary.
  /// Of several replays of the same packets, each with its own part of the channels: every `parts`th from `part` on.
  /// Part 0 also counts the packets. See parallel.hpp.
  std::uint16_t part = 0;
  std::uint16_t parts = 1;
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
class Replay : private feed::Watcher {
 public:
  /// `engine` was made with engine_options(options).
  Replay(const Program& program, Engine& engine, record::RecordSink& sink, Options options);

  /// Replays the sources to their end. Once per object.
  [[nodiscard]] Summary run(std::span<const std::unique_ptr<ingest::PacketSource>> sources);

  /// The same for several replays in one pass, each of which takes what is its own: the images of a feed. Pace,
  /// progress, limit and request_stop are those of the first.
  [[nodiscard]] static std::vector<Summary> run_together(
      std::span<Replay* const> replays, std::span<const std::unique_ptr<ingest::PacketSource>> sources);

  /// A place in the replay, to put the records and problems of several parts in order.
  struct Place {
    std::uint64_t packet = 0;   ///< Counted from 1 over all sources.
    bool is_taken = false;      ///< The packet's own; else of windows that closed at its time, by channel.
    std::uint16_t channel = 0;  ///< Of problems; position in the feed.
  };
  /// Where it is now.
  [[nodiscard]] const Place& place() const noexcept { return place_; }

  // The steps of run, for callers with their own loop.
  /// A packet of source `source`.
  void take_packet(const ingest::Packet& packet, std::size_t source, record::TimeQuality time_quality);
  /// There are no more: what waits is decoded.
  void finish() noexcept;
  /// What the loop itself knows.
  struct LoopCounts {
    std::uint64_t captures = 0;
    std::vector<std::string> faults;
    CaptureOrder order;
    bool stopped = false;
    double seconds = 0;
  };
  /// The account of all `parts`, in the order of their numbers.
  [[nodiscard]] static Summary account(std::span<Replay* const> parts, LoopCounts loop,
                                       std::span<const std::unique_ptr<ingest::PacketSource>> sources);

  /// Ends run soon; from another thread or a signal handler.
  void request_stop() noexcept { stop_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_stop_requested() const noexcept { return stop_.load(std::memory_order_relaxed); }

 private:
  /// A problem as it occurred; formatted at the end.
  struct Problem {
    Place place = {};
    std::size_t source = 0;
    std::uint64_t packet = 0;
    net::Verdict verdict = net::Verdict::Accepted;  ///< The frame's, if it is the problem.
    std::size_t captured_bytes = 0;
    std::size_t original_bytes = 0;
    net::Endpoint group = {};
    Outcome outcome = {};      ///< Else the engine's.
    feed::Excerpt bytes = {};  ///< Around its place.
  };
  static constexpr std::size_t kNamedProblems = 10;

  void begin(std::span<const std::unique_ptr<ingest::PacketSource>> sources);
  [[nodiscard]] Summary end(std::span<const std::unique_ptr<ingest::PacketSource>> sources);
  static void run_source(std::span<Replay* const> replays, std::size_t index, ingest::PacketSource& source);
  static void run_merged(std::span<Replay* const> replays,
                         std::span<const std::unique_ptr<ingest::PacketSource>> sources);
  [[nodiscard]] bool may_go_on() noexcept;
  void note_fault(const ingest::PacketSource& source);
  [[nodiscard]] bool wait_for(const ingest::Packet& packet);
  [[nodiscard]] bool is_first_part() const noexcept { return options_.part == 0; }
  [[nodiscard]] bool is_own(std::size_t channel) const noexcept { return channel % options_.parts == options_.part; }
  void add_to(Summary& summary) const;
  void take_of_group(const net::Datagram& datagram, PacketInfo& info);
  void decode_error(const Outcome& outcome, const PacketInfo& info,
                    std::span<const std::byte> datagram) noexcept override;
  void malformed(const Outcome& outcome, const PacketInfo& info, std::span<const std::byte> datagram) noexcept override;
  void lose_frame(const ingest::Packet& packet, net::Verdict verdict, net::Endpoint group);
  void note(Problem problem);
  [[nodiscard]] std::string words(const Problem& problem,
                                  std::span<const std::unique_ptr<ingest::PacketSource>> sources) const;
  void report_progress(bool finished);

  const Program& program_;
  Options options_;
  record::Builder builder_;
  TemplateCounts* template_counts_;  ///< The first of the stages.
  feed::Stages stages_;
  feed::Target target_;
  feed::Counts counts_;  ///< Of all channels.
  std::optional<Pacer> pacer_;

  /// A multicast group of a replay without a feed.
  struct Group {
    feed::DatagramDecoder decoder;
    std::uint64_t datagrams = 0;
    std::uint64_t sender = 0;
    std::uint16_t sender_epoch = 0;
    bool has_sender = false;
  };
  net::GroupFilter filter_;
  net::FlowTable flows_;
  std::vector<Group> groups_;  ///< Its own, by channel / parts.
  MissingNumbers numbers_;     ///< By channel; not of a feed, whose arbiters count.

  /// A channel of a feed.
  class FeedChannel final : public feed::Watcher {
   public:
    FeedChannel(Replay& replay, const feed::Channel& description, std::uint16_t index)
        : replay_(replay),
          index_(index),
          decoder_(description, replay.options_.channel_options, replay.target_, replay.counts_, *this) {}
    [[nodiscard]] feed::ChannelDecoder& decoder() noexcept { return decoder_; }
    [[nodiscard]] ChannelCount count() const;

   private:
    void decode_error(const Outcome& outcome, const PacketInfo& info,
                      std::span<const std::byte> datagram) noexcept override {
      replay_.place_.channel = index_;
      replay_.decode_error(outcome, info, datagram);
    }
    void malformed(const Outcome& outcome, const PacketInfo& info,
                   std::span<const std::byte> datagram) noexcept override {
      replay_.place_.channel = index_;
      replay_.malformed(outcome, info, datagram);
    }
    void run_begins(const arbitrate::NewRun& /*run*/, bool is_reset) noexcept override { resets_ += is_reset ? 1 : 0; }

    Replay& replay_;
    std::uint16_t index_;  ///< In the feed.
    std::uint64_t resets_ = 0;
    feed::ChannelDecoder decoder_;
  };
  feed::LineTable lines_;                           ///< Of all channels.
  std::vector<std::unique_ptr<FeedChannel>> feed_;  ///< Its own, by channel / parts.
  feed::ChannelSet set_;                            ///< The decoders of feed_, in the same order.

  Place place_;
  Summary summary_;                          ///< Of packets; the first part's is complete.
  std::array<std::uint64_t, 256> errors_{};  ///< By ErrorCode.
  std::array<Problem, kNamedProblems> problems_{};
  std::size_t problem_count_ = 0;
  LoopCounts loop_;

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
