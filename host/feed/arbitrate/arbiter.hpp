#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "decoder/record/layout.hpp"
#include "host/feed/arbitrate/account.hpp"
#include "host/feed/arbitrate/sources.hpp"
#include "host/feed/framing/framing.hpp"

/// One channel's packets from several lines, merged into one run of sequence numbers: each packet once, in order;
/// missing numbers are reported. Pure state machines: the clock is an argument, nothing here does I/O.
namespace stopbit::arbitrate {

struct Options {
  bool ordered = true;    ///< False: the first copy is delivered at once, and what it has overtaken is late.
  bool carousel = false;  ///< Numbers begin at 1 with each cycle.
  /// A missing number is given up when this many packets wait for it (at least 1) and every port has been read up to
  /// the arrival of the newest of them,
  std::uint32_t window_packets = 64;
  /// or when every port has been read up to this long after the arrival of the oldest of them.
  std::uint64_t window_ns = 2'000'000;
  /// Packets that can wait at once, in the run and, once more, of strangers (below), each of which has room for two
  /// more of its own. Sized for stall x rate: after a stall the lines are read one after another. At least
  /// window_packets.
  std::uint32_t room_packets = 1'024;
  std::uint32_t datagram_bytes = 2'048;  ///< Longest packet that can be held.
  std::uint8_t sequence_bits = 32;       ///< 16, 32 or 64; 0 = there is no number, everything is delivered.
  bool chunks = false;                   ///< Whether packets may be parts of a number (b3).
  std::uint32_t history =
      65'536;  ///< Number of remembered sequence numbers; a power of two, at least 4 * room_packets.
  /// Another run (sender, reset, range of numbers) takes the channel only when no line has brought a packet of the
  /// present one for this long. Also: a leader of a carousel that is silent for this long has gone.
  std::uint64_t switch_silence_ns = 1'000'000'000;
  std::array<bool, 2> lines = {true, true};  ///< Whether line A and line B exist.
};

/// The options for packets of this framing: bits of the sequence number, and chunks.
[[nodiscard]] Options options_for(const net::Framing& framing);

/// A packet as it arrived, and as it is delivered.
struct Packet {
  std::span<const std::byte> payload;  ///< The datagram, preamble included.
  net::Preamble preamble;
  Line line = Line::A;
  record::TimeQuality time_quality = record::TimeQuality::Synthetic;
  std::uint64_t arrival_ns = 0;  ///< Wall clock: for records, gaps and logs.
  std::uint64_t t_ns = 0;        ///< Arrival by the monotonic clock: for every decision here.
  std::uint64_t number = 0;      ///< In its source; for messages about it.
  /// IPv4 address that it came from; 0 = unknown. Not the port: a sender may use another with each start.
  std::uint32_t source = 0;
};

/// Why missing numbers were given up.
enum class GapReason : std::uint8_t {
  Window,     ///< The packet after them waited for the whole window.
  Count,      ///< As many packets as the window allows waited for them.
  Room,       ///< No room was left for packets that wait, or a packet was too long to wait.
  Overtaken,  ///< Fast mode: a later packet came first.
  Leap,       ///< The run went on far ahead, and nothing came in between.
  Switch,     ///< They passed while another run had the channel.
  Down,       ///< They passed while the appliance was down.
  End,        ///< The run has ended.
};

/// Missing numbers that were given up.
struct Gap {
  std::uint64_t first = 0;  ///< As on the wire; the range may wrap.
  std::uint64_t count = 0;
  std::uint16_t epoch = 0;
  GapReason reason = GapReason::Window;
  /// Wall clock: arrival of the packet that showed the gap, plus the window if that is the reason.
  std::uint64_t wall_ns = 0;
  std::uint64_t before_t_ns = 0;  ///< Monotonic: arrival of the number before the range; 0 = unknown.
  std::uint64_t after_t_ns = 0;   ///< Monotonic: arrival of the packet that showed the gap.
  struct Had {
    bool heard = false;               ///< The line has brought something in this run.
    bool passed = false;              ///< It has brought a number after the range: the range is lost on this line.
    std::uint64_t last_sequence = 0;  ///< The highest it has brought.
    std::uint64_t last_t_ns = 0;      ///< Monotonic: of anything, 0 = never.
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
    Back,           ///< The run before the last switch goes on: that switch was wrong.
  };
  Reason reason = Reason::Start;
  std::uint16_t epoch = 0;  ///< Counts runs; wraps.
  std::uint64_t sender = 0;
  std::uint64_t sequence = 0;  ///< Of the packet that began it.
  std::uint64_t wall_ns = 0;   ///< Arrival of that packet, wall clock.
  std::uint64_t packet = 0;    ///< Packet::number of that packet.
  Account before;              ///< Of the run that has ended; empty at the start.
};

/// Two copies of one number whose bytes differ.
struct Conflict {
  Line line = Line::A;         ///< That brought the second copy.
  std::uint64_t sequence = 0;  ///< As on the wire.
  std::uint64_t wall_ns = 0;   ///< Arrival of the second copy.
};

/// Receives the merged packets. Called from offer, tick and finish; must not call the arbiter.
class Sink {
 public:
  virtual ~Sink() = default;
  /// The next packet in order. Its payload is valid until the call returns. Chunks of a number come one after another.
  /// @returns false if it did not decode, and the other line's copy is worth a try; such a copy is delivered, too, if
  /// it comes before the number after it is delivered.
  virtual bool deliver(const Packet& packet, std::uint16_t epoch) noexcept = 0;
  virtual void gap(const Gap& gap) noexcept = 0;
  /// Start, another sender, or a cycle.
  virtual void epoch(const NewRun& run) noexcept = 0;
  /// The sequence was reset, or the run before goes on.
  virtual void reset(const NewRun& run) noexcept = 0;
  /// Once for each number of which the copies differ.
  virtual void conflict(const Conflict& /*conflict*/) noexcept {}
  /// A packet is dropped whose number, or range of numbers, was given up `late_ns` ago.
  virtual void late(const Packet& /*packet*/, std::uint64_t /*late_ns*/) noexcept {}
};

/// Arbitrates one channel.
///
/// Time: each packet has its arrival by the monotonic clock, t. Packets of different ports need not come in the order
/// of their t. The caller says with `tick` up to which t every port has been read; only then is anything given up for
/// its time, so a stalled caller, or one that reads its ports one after another, loses nothing.
///
/// Ordered mode: a packet after missing numbers is held; it is delivered when they come, or when the window closes.
/// The first packets of a run are held for the window, too, so that the run begins with the lowest of them.
/// Fast mode: the first copy is delivered at once; whatever it has overtaken is a gap, and late if it comes.
///
/// Strangers: a packet that does not continue the run (another sender, a lower number, or more than max(64,
/// window_packets) ahead) is set aside with those it continues. Such a run takes the channel when
///   - two of its packets confirm each other (two numbers, or one number on both lines), or its only packet has waited
///     for the switch silence,
///   - and the present run has been silent for the switch silence; for numbers ahead, for 10 us a number that would be
///     skipped, if that is less (a sender cannot have sent them faster), and at least for the window.
/// Until then it changes nothing; if the present run goes on meanwhile, the stranger's packets are malformed. After a
/// switch the run before is a stranger itself, by the same rules: if it goes on and the new one does not, it has the
/// channel again, and what passed meanwhile is a gap. So it is with what goes on before the first number of a run: the
/// first packet of a channel may be wild.
///
/// One thread. Allocates only when constructed. Work per packet is bounded by a constant, except for numbers that are
/// passed over (each of those costs a step once, and at most `history` of them in one call) and for packets that are
/// held out of order (at most `room_packets` steps).
class Arbiter {
 public:
  explicit Arbiter(const Options& options);

  /// Takes a packet. A preamble with an error is counted as malformed.
  void offer(const Packet& packet, Sink& sink) noexcept;

  /// Every packet with an arrival before `until_t_ns` has been offered: closes what has waited long enough. A time
  /// before the latest one changes nothing.
  void tick(std::uint64_t until_t_ns, Sink& sink) noexcept;

  /// When tick has something to do; nothing while no packet waits.
  [[nodiscard]] std::optional<std::uint64_t> next_deadline() const noexcept;

  /// The end: nothing is waited for any longer. The arbiter can be used on afterwards.
  void finish(Sink& sink) noexcept;

  /// The feed has said in a message that its next number is this one. A run that begins there is confirmed by its first
  /// packet, however near its numbers are to the present ones; it still waits for the silence of the present run.
  void announce(std::uint64_t sequence) noexcept;

  /// Before the first packet: the number that another process delivered last, of this sender. If the first run goes on
  /// after it, what is missing is a gap (GapReason::Down); else the first run is a new one.
  void resume_after(std::uint64_t sender, std::uint64_t last_sequence) noexcept;

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
  /// The most packets that can wait at once: the run's, those of strangers, and the few that each stranger has of its
  /// own.
  [[nodiscard]] static constexpr std::size_t most_held(std::uint32_t room_packets) noexcept {
    return 2 * std::size_t{room_packets} + kStrangers * kOwnRoom;
  }
  /// How many runs there were, the current one included.
  [[nodiscard]] std::uint64_t runs() const noexcept { return runs_; }
  /// Numbers of which the copies differ.
  [[nodiscard]] std::uint64_t conflicts() const noexcept { return conflicts_; }
  /// Sender of the current run, as in the preamble.
  [[nodiscard]] std::uint64_t sender() const noexcept { return sender_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kMaxChunks = 64;
  static constexpr std::size_t kStrangers = 16;
  /// Packets of each stranger held outside this room: enough to confirm it, however much the others send.
  static constexpr std::uint32_t kOwnRoom = 2;
  static constexpr std::size_t kOldRuns = 24;

  enum class State : std::uint8_t { Open, Delivered, Lost, Undecodable };
  /// State of a number. All zero: unknown.
  struct Entry {
    std::uint64_t t_ns = 0;   ///< First copy; of a lost number: when it was given up.
    std::uint32_t held = 0;   ///< 1 + first of its held packets, by chunk.
    std::uint16_t check = 0;  ///< Of the first copy's bytes.
    State state : 2 = State::Open;
    std::uint8_t brought : 3 = 0;  ///< A bit per line that has brought it whole.
    std::uint8_t in_conflict : 1 = 0;
    std::uint8_t chunks = 0;  ///< 0 = no copy yet.
  };
  static_assert(sizeof(Entry) == 16);
  using ChunkMasks = std::array<std::uint64_t, kLines>;  ///< A bit per chunk that the line has brought.

  /// A packet that waits.
  struct Slot {
    Packet packet;
    std::uint64_t number = 0;
    std::uint32_t next_chunk = kNone;  ///< Of the same number. Of a free slot: the next free one.
    std::uint32_t older = kNone;       ///< By arrival; of a stranger: by number.
    std::uint32_t newer = kNone;
  };
  enum class Fit : std::uint8_t {
    InRun,
    Passed,  ///< Of a run before, or of a range that was leapt over, and not new there.
    Ahead,
    Behind,
    OtherSender,
  };
  /// How the bytes of a packet compare with those of its number in the present run.
  enum class Match : std::uint8_t { Unknown, Same, Other };
  /// Packets that may be of another run.
  struct Stranger {
    Fit fit = Fit::InRun;  ///< InRun = there is none.
    bool is_confirmed = false;
    bool is_late = false;         ///< Its numbers were given up: late, not malformed, if it comes to nothing.
    bool is_early = false;        ///< They are just before the run's first: late, too, if it comes to nothing.
    bool has_dropped = false;     ///< Some had no room.
    std::uint8_t lines = 0;       ///< A bit per line that has brought some.
    std::uint32_t first = kNone;  ///< Lowest number held.
    std::uint32_t last = kNone;
    std::uint32_t packets = 0;
    std::uint32_t successions = 0;  ///< How often a number followed another.
    std::uint64_t sender = 0;
    std::uint64_t lowest_dropped = 0;
    std::uint64_t begin_t_ns = 0;
    std::uint64_t last_t_ns = 0;
    Sources sources = {};
  };
  /// Where a run that had the channel before would go on, or the present one before a leap. Strangers lead from one
  /// leap to the next, so there may be many; those of long runs are kept longest.
  struct OldRun {
    bool is_leap = false;  ///< It was left by a leap.
    std::uint64_t sender = 0;
    std::uint64_t next = 0;
    std::uint64_t packets = 0;  ///< That were delivered on the way there, since it began, or since its last leap.
    std::uint64_t left_t_ns = 0;
    Sources sources = {};
  };
  /// An address that has brought numbers that go on, but not yet enough of them to be the run's own.
  struct Candidate {
    std::uint32_t source = 0;
    std::uint32_t numbers = 0;
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
    std::uint64_t cycle_t_ns = 0;  ///< Arrival of its latest packet.
    std::uint64_t first_hash = 0;  ///< Of number 1, its first chunk; 0 = it did not come yet.
    std::uint64_t first_packet_ns = 0;
  };
  /// Why the next gap is declared, and by what.
  struct ErrorSample {
    GapReason reason = GapReason::Window;
    std::uint64_t wall_ns = 0;
    std::uint64_t t_ns = 0;
  };
  struct FreeDeleter {
    void operator()(Entry* entries) const noexcept;
  };

  static std::size_t index(Line line) noexcept { return static_cast<std::size_t>(line); }
  [[nodiscard]] std::int64_t distance(std::uint64_t wire, std::uint64_t number) const noexcept;
  [[nodiscard]] std::uint64_t wire(std::uint64_t number) const noexcept { return number & sequence_mask_; }
  [[nodiscard]] std::int64_t reach() const noexcept { return options_.history / 2 - 1; }
  /// How far ahead a number is believed on the word of one packet.
  [[nodiscard]] std::int64_t leap() const noexcept;
  [[nodiscard]] Entry& entry(std::uint64_t number) noexcept { return entries_[number & (options_.history - 1)]; }
  [[nodiscard]] ChunkMasks& masks(std::uint64_t number) noexcept { return masks_[number & (options_.history - 1)]; }

  // The run or group that a packet belongs to.
  [[nodiscard]] Fit fit_of(const Packet& packet) noexcept;
  [[nodiscard]] Fit fit_of_same_sender(const Packet& packet) noexcept;
  [[nodiscard]] Fit fit_of_foreign(const Packet& packet) noexcept;
  [[nodiscard]] bool is_foreign(const Packet& packet) const noexcept;
  [[nodiscard]] bool is_foreign(const Stranger& stranger) const noexcept;
  void learn_source(const Packet& packet, bool was_foreign) noexcept;
  [[nodiscard]] bool has_checks() const noexcept {
    return options_.carousel || (options_.lines[0] && options_.lines[1]);
  }
  [[nodiscard]] Match match_of(const Packet& packet) noexcept;
  [[nodiscard]] bool is_copy(const Packet& packet) noexcept;
  [[nodiscard]] bool is_restart(const Packet& packet) const noexcept;
  [[nodiscard]] bool rewinds(const Packet& packet) noexcept;
  [[nodiscard]] bool is_announced(const Packet& packet) const noexcept;
  [[nodiscard]] bool is_before_run(std::uint64_t number) const noexcept;
  [[nodiscard]] bool begins_before_run(const Packet& packet, std::uint64_t number) noexcept;
  void take(const Packet& packet, Sink& sink) noexcept;
  void take_of_carousel(const Packet& packet, Sink& sink) noexcept;
  [[nodiscard]] bool admit_to_cycle(const Packet& packet, Sink& sink) noexcept;
  [[nodiscard]] bool opens_cycle(const Packet& packet, Match match, bool is_in_step) noexcept;

  // Strangers.
  [[nodiscard]] Stranger* stranger_of(const Packet& packet) noexcept;
  void merge(Stranger& into, Stranger& from) noexcept;
  [[nodiscard]] bool is_related(const Stranger& stranger, const Packet& packet) const noexcept;
  [[nodiscard]] bool has_copy(const Stranger& stranger, const Packet& packet) const noexcept;
  [[nodiscard]] bool is_likely(const Stranger& stranger) const noexcept;
  [[nodiscard]] Stranger& new_stranger(const Packet& packet, Fit fit, Sink& sink) noexcept;
  void set_aside(const Packet& packet, Fit fit, Sink& sink) noexcept;
  [[nodiscard]] bool is_outlived_by(const Stranger& stranger, const Packet& packet) const noexcept;
  void believe_successor(const Stranger& stranger, Sink& sink) noexcept;
  void drop_first(Stranger& stranger, Sink& sink) noexcept;
  void unlink(Stranger& stranger, std::uint32_t slot) noexcept;
  std::uint32_t unlink_first(Stranger& stranger) noexcept;
  std::uint32_t take_first(Stranger& stranger) noexcept;
  void drop_copies(Stranger& stranger) noexcept;
  void drop(Stranger& stranger, Sink& sink) noexcept;
  void release_if_empty(Stranger& stranger) noexcept;
  void note_dropped(Stranger& stranger, std::uint64_t sequence) noexcept;
  [[nodiscard]] std::uint64_t begin_of(const Stranger& stranger) const noexcept;
  [[nodiscard]] bool is_before(const Stranger& left, const Stranger& right) const noexcept;
  [[nodiscard]] bool is_refuted(const Stranger& stranger) const noexcept;
  [[nodiscard]] std::uint64_t silent_enough_at(const Stranger& stranger) const noexcept;
  [[nodiscard]] std::uint64_t acceptable_at(const Stranger& stranger) const noexcept;
  void judge_strangers(bool everything, Sink& sink) noexcept;
  void accept(Stranger& stranger, GapReason leap_as, const Packet* in_hand, Sink& sink) noexcept;
  void lose_dropped(std::uint64_t sequence, const Packet& shown_by, Sink& sink) noexcept;
  void refit(Stranger& stranger) noexcept;
  void place_strangers(Sink& sink) noexcept;
  void place_all(Stranger& stranger, Sink& sink) noexcept;
  void place_below(std::uint64_t number, Sink& sink) noexcept;
  void place_foreign(Stranger& stranger, Sink& sink) noexcept;

  // Runs.
  /// The latest first.
  [[nodiscard]] std::span<const OldRun> old_runs() const noexcept { return {old_.data(), old_count_}; }
  [[nodiscard]] static bool is_long(const OldRun& old) noexcept;
  /// Packets delivered since the run began, or since its last leap.
  [[nodiscard]] std::uint64_t stretch() const noexcept {
    return stretch_resumed_ + run_.packets.delivered - stretch_began_;
  }
  [[nodiscard]] bool was_left_just_now(const OldRun& old) const noexcept;
  void leave_run(const OldRun* entered) noexcept;
  void remember(const OldRun& run) noexcept;
  /// `packet` began it. `in_hand` is received, but neither disposed of nor held yet; null: there is none. `entered`:
  /// the old run that goes on.
  void begin_run(NewRun::Reason reason, const Packet& packet, const Packet* in_hand, std::uint64_t sequence, Sink& sink,
                 const OldRun* entered = nullptr) noexcept;
  void go_on_after_known(const Packet& packet, Sink& sink) noexcept;
  void end_run(Sink& sink) noexcept;
  void jump(std::uint64_t number, Sink& sink) noexcept;

  // Inside a run.
  void place(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  /// Notes which line brought it. True if this is the first copy.
  [[nodiscard]] bool note_copy(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  void compare_copies(const Packet& packet, std::uint64_t number, bool is_first, Sink& sink) noexcept;
  [[nodiscard]] bool is_whole(std::uint64_t number) noexcept;
  [[nodiscard]] bool may_lower(std::uint64_t number) const noexcept;
  void place_whole(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  void hold(const Packet& packet, std::uint64_t number) noexcept;
  void unhold(std::uint32_t slot) noexcept;
  /// Hands a whole number of one packet on. @returns false if the number waits for another copy.
  bool hand_on(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  void retry(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  void complete(std::uint64_t number, Line line) noexcept;
  void settle_undecodable(Sink& sink) noexcept;
  void drain(Sink& sink) noexcept;
  void end_gathering(Sink& sink) noexcept;
  /// Gives up the missing numbers from next_ on, up to `limit` or the first held number; then drains.
  void give_up_to(std::uint64_t limit, Sink& sink) noexcept;
  void lose(std::uint64_t number) noexcept;
  void declare(std::uint64_t first, std::uint64_t count, Sink& sink) noexcept;
  void close_oldest(GapReason reason, Sink& sink) noexcept;
  void close_windows(bool everything, Sink& sink) noexcept;
  void advance(std::uint64_t top) noexcept;
  void judge(std::size_t line, std::uint64_t until, std::uint64_t max_steps) noexcept;
  void count_late(const Packet& packet, std::uint64_t late_ns, Sink& sink) noexcept;
  void count_in_vain(const Stranger& stranger, const Packet& packet, std::uint64_t late_ns, Sink& sink) noexcept;
  /// Copies the packet; datagram_bytes must suffice.
  [[nodiscard]] std::uint32_t take_slot(const Packet& packet, std::uint64_t number) noexcept;
  void free_slot(std::uint32_t slot) noexcept;

  Options options_;
  std::uint64_t sequence_mask_;
  std::uint64_t until_t_ns_ = 0;   ///< Everything before it has been offered.
  std::uint64_t latest_t_ns_ = 0;  ///< Of any packet, or until_t_ns_.

  // The run. Numbers are 64 bits and never wrap in practice; their low bits are those on the wire.
  bool running_ = false;
  bool gathering_ = false;  ///< Ordered: nothing is delivered from next_ on yet, lower numbers may still come.
  bool dirty_ = false;      ///< entries_ have been used.
  bool has_floor_ = false;  ///< Numbers below first_ are known to have been delivered, or lost.
  std::uint16_t epoch_ = 0;
  std::uint64_t sender_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t undecided_ = 0;      ///< Everything below is delivered or lost. next_, or less after a jump.
  std::uint64_t next_ = 0;           ///< Delivered next.
  std::uint64_t top_ = 0;            ///< The highest that came.
  std::uint64_t alive_t_ns_ = 0;     ///< Arrival of the latest packet of the run.
  std::uint64_t progress_t_ns_ = 0;  ///< Arrival of the latest new number of the run.
  std::uint64_t began_t_ns_ = 0;     ///< Arrival of the packet that began the run.
  Sources own_;                      ///< Where its packets come from; empty = unknown.
  std::array<Candidate, 4> candidates_;
  std::size_t next_candidate_ = 0;
  GapReason skipped_as_ = GapReason::Leap;  ///< Why undecided_ is below next_ while packets are gathered.
  bool has_undecodable_ = false;
  std::uint64_t undecodable_ = 0;  ///< The number whose first copy did not decode, and whose other copy may.
  std::uint64_t undecodable_t_ns_ = 0;
  ErrorSample evidence_;
  Account run_;
  Account earlier_;  ///< Of the runs before.

  // Earlier runs, the latest first, and the range before the last leap.
  std::array<OldRun, kOldRuns> old_;
  std::size_t old_count_ = 0;
  std::uint64_t stretch_resumed_ = 0;  ///< Packets of the run before it was left and gone back to.
  std::uint64_t stretch_began_ = 0;    ///< Delivered when the last leap was made.
  bool has_leapt_ = false;
  std::uint64_t leapt_from_ = 0;
  std::uint64_t leapt_to_ = 0;
  std::uint64_t leapt_t_ns_ = 0;

  // Said from outside.
  bool has_announced_ = false;
  std::uint64_t announced_ = 0;
  std::uint64_t announced_t_ns_ = 0;
  bool has_known_ = false;  ///< Numbers that another process delivered.
  std::uint64_t known_sender_ = 0;
  std::uint64_t known_last_ = 0;

  // Carousel.
  std::uint32_t cycle_ = 0;
  std::uint64_t cycle_began_ns_ = 0;

  std::array<LineState, kLines> lines_;
  std::array<LineStats, kLines> stats_;
  std::array<Stranger, kStrangers> strangers_;
  std::uint32_t stranger_count_ = 0;
  std::uint32_t set_aside_ = 0;  ///< Packets of strangers.
  Histogram late_by_;
  std::uint64_t gaps_ = 0;
  std::uint64_t runs_ = 0;
  std::uint64_t conflicts_ = 0;

  std::unique_ptr<Entry[], FreeDeleter> entries_;  ///< By number, a ring: (top_ - history, top_].
  std::unique_ptr<ChunkMasks[]> masks_;            ///< The same; only with chunks.
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<std::byte[]> payloads_;  ///< datagram_bytes for each slot; uninitialised.
  std::uint32_t free_ = kNone;             ///< Chained by next_chunk.
  std::uint32_t oldest_ = kNone;           ///< Held in the run, by arrival.
  std::uint32_t newest_ = kNone;
  std::uint32_t waiting_ = 0;  ///< Held in the run; strangers come on top.
};

}  // namespace stopbit::arbitrate
