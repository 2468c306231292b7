#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "decoder/record/layout.hpp"
#include "host/arbitrate/account.hpp"
#include "host/net/framing.hpp"

/// One channel's packets from several lines, merged into one run of sequence numbers: each packet once, in order, and
/// what is missing is told. Pure state machines: the clock is an argument, nothing here does I/O.
namespace stopbit::arbitrate {

struct Options {
  bool ordered = true;                   ///< False: the first copy goes on at once, and what it has overtaken is late.
  bool carousel = false;                 ///< Numbers begin at 1 with each cycle.
  std::uint32_t window_packets = 64;     ///< A missing number is given up when so many packets are held (at least 1),
  std::uint64_t window_ns = 2'000'000;   ///< or when the oldest of them has waited so long.
  std::uint32_t datagram_bytes = 2'048;  ///< Longest packet that can be held.
  std::uint8_t sequence_bits = 32;       ///< 16, 32 or 64; 0 = there is no number, everything is delivered.
  bool chunks = false;                   ///< Whether packets may be parts of a number (b3).
  std::uint32_t history = 65'536;        ///< Numbers that are remembered; a power of two, at least 4 * window_packets.
  std::uint64_t silence_ns = 1'000'000'000;  ///< A sender, or a line of a carousel, that is silent so long is gone.
  std::array<bool, 2> lines = {true, true};  ///< Which of A and B there are.
};

/// The options for packets of this framing: bits of the sequence number, and chunks.
[[nodiscard]] Options options_for(const net::Framing& framing);

/// A packet as it arrived, and as it is delivered.
struct Packet {
  std::span<const std::byte> payload;  ///< The datagram, preamble included.
  net::Preamble preamble;
  Line line = Line::A;
  record::TimeQuality time_quality = record::TimeQuality::Synthetic;
  std::uint64_t arrival_ns = 0;
  std::uint64_t number = 0;  ///< In its source; for messages about it.
};

/// Missing numbers that are not waited for any longer.
struct Gap {
  std::uint64_t first = 0;  ///< As on the wire; the range may wrap.
  std::uint64_t count = 0;
  std::uint16_t epoch = 0;
  std::uint64_t now_ns = 0;
  struct Had {
    bool heard = false;                 ///< The line has brought something in this run.
    bool passed = false;                ///< It has brought a number behind the range: the range is lost on this line.
    std::uint64_t last_sequence = 0;    ///< The highest it has brought.
    std::uint64_t last_arrival_ns = 0;  ///< Of anything, 0 = never.
  };
  std::array<Had, 2> lines;  ///< A and B.
};

/// A run of numbers begins. The first number may still become a lower one while packets are gathered in ordered mode.
struct NewRun {
  enum class Reason : std::uint8_t {
    Start,          ///< The first packet of the channel.
    Sender,         ///< Another sender, after a fail-over.
    Cycle,          ///< Of a carousel.
    SequenceReset,  ///< The same sender began anew.
  };
  Reason reason = Reason::Start;
  std::uint16_t epoch = 0;  ///< Counts runs; wraps.
  std::uint64_t sender = 0;
  std::uint64_t sequence = 0;  ///< Of the packet that began it.
  std::uint64_t now_ns = 0;
  std::uint64_t packet = 0;  ///< Packet::number of that packet.
  Account before;            ///< Of the run that has ended; empty at the start.
};

/// Where the merged packets go. Called from inside offer, tick and finish; must not call the arbiter.
class Sink {
 public:
  virtual ~Sink() = default;
  /// The next packet in order. Its payload is valid until the call returns. Chunks of a number come one after another.
  virtual void deliver(const Packet& packet, std::uint16_t epoch) noexcept = 0;
  virtual void gap(const Gap& gap) noexcept = 0;
  /// Start, another sender, or a cycle.
  virtual void epoch(const NewRun& run) noexcept = 0;
  /// The sequence was reset.
  virtual void reset(const NewRun& run) noexcept = 0;
};

/// Arbitrates one channel.
///
/// Ordered mode: a packet behind missing numbers is held; it goes on when they come, or when the window closes. The
/// first packets of a run are held for the window, too, so that the run begins with the lowest of them.
/// Fast mode: the first copy goes on at once; whatever it has overtaken is a gap, and late if it comes.
///
/// A packet far from all others (half the history ahead or behind, or of another sender) is not believed before a
/// second one confirms it: it is held meanwhile, and counts as malformed if its own line goes on as before. So one
/// damaged number cannot take the channel away. Ahead becomes a gap, behind a sequence reset. A line that restarts at a
/// number of at most 16, further back than the window, is a reset, too.
///
/// Packets of the run before a reset or fail-over are late, as long as the new run is alive.
///
/// One thread. Allocates when it is made, never later. Work per packet is bounded by a constant, but for numbers that
/// are passed over: each of those costs a step once, and at most `history` of them in one call.
class Arbiter {
 public:
  explicit Arbiter(const Options& options);

  /// Takes a packet. `now_ns` must not go back from call to call; if it does, it counts as the latest so far.
  /// A preamble with an error is counted as malformed.
  void offer(const Packet& packet, std::uint64_t now_ns, Sink& sink) noexcept;

  /// Closes what has waited long enough.
  void tick(std::uint64_t now_ns, Sink& sink) noexcept;

  /// When tick has something to do; nothing while no packet waits.
  [[nodiscard]] std::optional<std::uint64_t> next_deadline() const noexcept;

  /// The end: nothing is waited for any longer. The arbiter can be used on afterwards.
  void finish(Sink& sink) noexcept;

  /// The feed itself has said that its next number is this one (a message of the session): a run begins with it.
  void restart(std::uint64_t sequence, std::uint64_t now_ns, Sink& sink) noexcept;

  /// Of the current run.
  [[nodiscard]] Account account() const noexcept;
  /// Of all runs, the current one included.
  [[nodiscard]] Account total() const noexcept;
  /// Of all runs, but last_sequence.
  [[nodiscard]] const LineStats& line(Line line) const noexcept { return stats_[index(line)]; }
  /// How long after they were given up numbers came all the same.
  [[nodiscard]] const Histogram& late_by() const noexcept { return late_by_; }
  [[nodiscard]] std::uint16_t epoch() const noexcept { return epoch_; }
  /// The number that is delivered next if nothing is missing; nothing before the first packet.
  [[nodiscard]] std::optional<std::uint64_t> next_sequence() const noexcept;
  [[nodiscard]] std::uint64_t gaps() const noexcept { return gaps_; }
  /// How many runs there were, the current one included.
  [[nodiscard]] std::uint64_t runs() const noexcept { return runs_; }
  /// Packets::late of all runs.
  [[nodiscard]] std::uint64_t late_packets() const noexcept { return earlier_.packets.late + run_.packets.late; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kMaxChunks = 64;

  enum class State : std::uint8_t { Open, Delivered, Lost };
  /// What is known of a number. All zero: nothing.
  struct Entry {
    std::uint64_t since_ns = 0;  ///< First copy; of a lost number: when it was given up.
    std::uint32_t held = 0;      ///< 1 + first of its held packets, by chunk.
    State state = State::Open;
    std::uint8_t brought = 0;  ///< A bit per line that has brought it whole.
    std::uint8_t chunks = 0;   ///< 0 = no copy yet.
  };
  using ChunkMasks = std::array<std::uint64_t, kLines>;  ///< A bit per chunk that the line has brought.

  /// A packet that waits.
  struct Slot {
    Packet packet;
    std::uint64_t number = 0;
    std::uint64_t since_ns = 0;
    std::uint32_t next_chunk = kNone;  ///< Of the same number.
    std::uint32_t older = kNone;       ///< By arrival.
    std::uint32_t newer = kNone;
  };
  enum class Fit : std::uint8_t { InRun, OldRun, Ahead, Behind, OtherSender };
  /// A packet that nothing confirms yet, one per line.
  struct Candidate {
    Fit fit = Fit::InRun;
    std::uint32_t slot = kNone;  ///< kNone = there is none.
  };
  struct LineState {
    bool heard = false;         ///< In this run.
    std::uint64_t highest = 0;  ///< In this run.
    std::uint64_t judged = 0;   ///< Numbers below are counted in missing and saved.
    // Carousel: the line's own cycle.
    bool has_cycle = false;
    std::uint32_t cycle = 0;
    std::uint64_t cycle_highest = 0;
    std::uint64_t cycle_opened_ns = 0;
    std::uint64_t first_packet_hash = 0;  ///< Of number 1; 0 = it did not come yet.
    std::uint64_t first_packet_ns = 0;
  };
  struct FreeDeleter {
    void operator()(Entry* entries) const noexcept;
  };

  static std::size_t index(Line line) noexcept { return static_cast<std::size_t>(line); }
  [[nodiscard]] std::int64_t distance(std::uint64_t wire, std::uint64_t number) const noexcept;
  [[nodiscard]] std::uint64_t wire(std::uint64_t number) const noexcept { return number & sequence_mask_; }
  [[nodiscard]] std::int64_t reach() const noexcept { return options_.history / 2 - 1; }
  [[nodiscard]] Entry& entry(std::uint64_t number) noexcept { return entries_[number & (options_.history - 1)]; }
  [[nodiscard]] ChunkMasks& masks(std::uint64_t number) noexcept { return masks_[number & (options_.history - 1)]; }

  // What a packet belongs to.
  [[nodiscard]] Fit fit_of(const Packet& packet) noexcept;
  [[nodiscard]] bool rewinds(const Packet& packet) const noexcept;
  [[nodiscard]] bool confirms(const Packet& packet, const Packet& candidate) const noexcept;
  void take(const Packet& packet, Sink& sink) noexcept;
  void take_stranger(const Packet& packet, Fit fit, Sink& sink) noexcept;
  void accept(Fit fit, const Packet& packet, std::uint64_t sequence, Sink& sink) noexcept;
  void accept_alone(std::size_t line, Sink& sink) noexcept;
  void place_candidates(Sink& sink) noexcept;
  void take_of_carousel(const Packet& packet, Sink& sink) noexcept;
  [[nodiscard]] bool admit_to_cycle(const Packet& packet, Sink& sink) noexcept;
  void close_candidates(bool everything, Sink& sink) noexcept;

  // Runs.
  /// `packet` is in hand, received but not yet disposed of; null if there is none.
  void begin_run(NewRun::Reason reason, const Packet* packet, std::uint64_t sequence, Sink& sink) noexcept;
  void end_run(Sink& sink) noexcept;
  void jump(std::uint64_t number, Sink& sink) noexcept;

  // Inside a run.
  void place(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  /// Notes who brought it. True if this is the first copy.
  [[nodiscard]] bool note_copy(const Packet& packet, std::uint64_t number) noexcept;
  [[nodiscard]] bool is_whole(std::uint64_t number) noexcept;
  [[nodiscard]] bool may_lower(std::uint64_t number) const noexcept;
  void place_whole(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  void hold(const Packet& packet, std::uint64_t number) noexcept;
  void unhold(std::uint32_t slot) noexcept;
  void complete(std::uint64_t number, Line line, Sink& sink) noexcept;
  void drain(Sink& sink) noexcept;
  void end_gathering(Sink& sink) noexcept;
  /// Gives up the missing numbers from next_ on, up to `limit` or the first that is there; then drains.
  void give_up_to(std::uint64_t limit, Sink& sink) noexcept;
  void lose(std::uint64_t number) noexcept;
  void declare(std::uint64_t first, std::uint64_t count, Sink& sink) noexcept;
  void close_oldest(Sink& sink) noexcept;
  void close_windows(bool everything, Sink& sink) noexcept;
  void advance(std::uint64_t top) noexcept;
  void judge(std::size_t line, std::uint64_t until, std::uint64_t max_steps) noexcept;
  void set_time(std::uint64_t now_ns) noexcept { now_ns_ = now_ns > now_ns_ ? now_ns : now_ns_; }
  /// Copies the packet; datagram_bytes must suffice.
  [[nodiscard]] std::uint32_t take_slot(const Packet& packet, std::uint64_t number) noexcept;
  void free_slot(std::uint32_t slot) noexcept;

  Options options_;
  std::uint64_t sequence_mask_;
  std::uint64_t now_ns_ = 0;

  // The run. Numbers are 64 bits and never wrap in practice; their low bits are those on the wire.
  bool running_ = false;
  bool gathering_ = false;  ///< Ordered: nothing is delivered from next_ on yet, lower numbers may still come.
  bool dirty_ = false;      ///< entries_ have been used.
  std::uint16_t epoch_ = 0;
  std::uint64_t sender_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t undecided_ = 0;  ///< Everything below is delivered or lost. next_, or less after a jump.
  std::uint64_t next_ = 0;       ///< Delivered next.
  std::uint64_t top_ = 0;        ///< The highest that came.
  std::uint64_t alive_ns_ = 0;   ///< When a packet of the run came last.
  Account run_;
  Account earlier_;  ///< Of the runs before.

  // The run before, whose packets may still come.
  bool has_old_ = false;
  std::uint64_t old_sender_ = 0;
  std::uint64_t old_next_ = 0;

  // Carousel.
  std::uint32_t cycle_ = 0;
  std::uint64_t cycle_began_ns_ = 0;
  Line cycle_leader_ = Line::A;

  std::array<LineState, kLines> lines_;
  std::array<LineStats, kLines> stats_;
  std::array<Candidate, kLines> candidates_;
  Histogram late_by_;
  std::uint64_t gaps_ = 0;
  std::uint64_t runs_ = 0;

  std::unique_ptr<Entry[], FreeDeleter> entries_;  ///< By number, a ring: (top_ - history, top_].
  std::unique_ptr<ChunkMasks[]> masks_;            ///< The same; only with chunks.
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<std::byte[]> payloads_;  ///< datagram_bytes for each slot; uninitialised.
  std::uint32_t free_ = kNone;             ///< Chained by next_chunk.
  std::uint32_t oldest_ = kNone;
  std::uint32_t newest_ = kNone;
  std::uint32_t waiting_ = 0;  ///< Held in the run; candidates come on top.
};

}  // namespace stopbit::arbitrate
