#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "host/feed/arbitrate/account.hpp"
#include "host/feed/arbitrate/checks.hpp"
#include "host/feed/arbitrate/cycles.hpp"
#include "host/feed/arbitrate/held.hpp"
#include "host/feed/arbitrate/line_book.hpp"
#include "host/feed/arbitrate/number_table.hpp"
#include "host/feed/arbitrate/numbering.hpp"
#include "host/feed/arbitrate/old_runs.hpp"
#include "host/feed/arbitrate/options.hpp"
#include "host/feed/arbitrate/sink.hpp"
#include "host/feed/arbitrate/slots.hpp"
#include "host/feed/arbitrate/sources.hpp"
#include "host/feed/arbitrate/strangers.hpp"

/// One channel's packets from several lines, merged into one run of sequence numbers: each packet once, in order;
/// missing numbers are reported. Pure state machines: the clock is an argument, nothing here does I/O.
namespace stopbit::arbitrate {

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
///   - two of its packets confirm each other (two numbers, two chunks, or one number on both lines), or its only packet
///     has waited for the switch silence,
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
  Arbiter(const Arbiter&) = delete;
  Arbiter& operator=(const Arbiter&) = delete;

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

  /// A replay service has sent a number, as on the wire, that was asked for in the run of this epoch. True: it was
  /// given up, and has come now; the caller decodes it. False: it is a copy, or of no use any more.
  [[nodiscard]] bool recover(std::uint64_t sequence, std::uint16_t epoch) noexcept;

  /// Before the first packet: the number that another process delivered last, of this sender. If the first run goes on
  /// after it, what is missing is a gap (GapReason::Down); else the first run is a new one. What comes before that just
  /// below it is late. `epoch` is that of the first run. `t_ns`: when that number was delivered, if that is known;
  /// copies that come soon after that are late, however low the numbers are.
  void resume_after(std::uint64_t sender, std::uint64_t last_sequence, std::uint16_t epoch = 0,
                    std::uint64_t t_ns = 0) noexcept;

  /// Something else goes on with the numbers: the run ends here, what waits is given up, and the next packet is a first
  /// one again (resume_after). The account goes on; runs of before are forgotten.
  void hand_over(Sink& sink) noexcept;

  /// Before the first packet, in place of another arbiter of the channel in this process, which has finished: has none
  /// of its epochs and, if the numbers are the `same`, goes on after them.
  void go_on_from(const Arbiter& before, bool same) noexcept;

  /// Of the current run.
  [[nodiscard]] Account account() const noexcept;
  /// Of all runs, the current one included.
  [[nodiscard]] Account total() const noexcept;
  /// Of all runs, but last_sequence.
  [[nodiscard]] const LineStats& line(Line line) const noexcept { return book_.stats(line); }
  /// How long after they were given up numbers came all the same.
  [[nodiscard]] const Histogram& late_by() const noexcept { return late_by_; }
  [[nodiscard]] std::uint16_t epoch() const noexcept { return epoch_; }
  /// The number that is delivered next if nothing is missing; nothing before the first packet.
  [[nodiscard]] std::optional<std::uint64_t> next_sequence() const noexcept;
  [[nodiscard]] std::uint64_t gaps() const noexcept { return gaps_; }
  /// The most packets that can wait at once: the run's, second copies of those, those of strangers, and the few that
  /// each stranger has of its own.
  [[nodiscard]] static constexpr std::size_t most_held(std::uint32_t room_packets) noexcept {
    return 2 * std::size_t{room_packets} + Held::kMostCopies + Strangers::kMost * Strangers::kOwnRoom;
  }
  /// How many runs there were, the current one included.
  [[nodiscard]] std::uint64_t runs() const noexcept { return runs_; }
  /// Numbers of which the copies differ.
  [[nodiscard]] std::uint64_t conflicts() const noexcept { return conflicts_; }
  /// Sender of the current run, as in the preamble.
  [[nodiscard]] std::uint64_t sender() const noexcept { return sender_; }

 private:
  /// Why the next gap is declared, and by what.
  struct Evidence {
    GapReason reason = GapReason::Window;
    std::uint64_t wall_ns = 0;
    std::uint64_t t_ns = 0;
  };
  /// The number whose first copy did not decode, and whose other copy may.
  struct Undecodable {
    bool is_awaited = false;
    std::uint64_t number = 0;
    std::uint64_t t_ns = 0;
  };
  /// The bytes of the packet that is offered, and their check, which several rules ask for.
  struct Offered {
    const std::byte* bytes = nullptr;
    bool has_check = false;
    std::uint16_t check = 0;
  };
  /// A number that was said from outside: where a run begins, or where that of another process has ended.
  struct Said {
    bool is_set = false;
    std::uint64_t number = 0;
    std::uint64_t sender = 0;
    std::uint64_t t_ns = 0;
  };

  [[nodiscard]] std::int64_t distance(std::uint64_t wire, std::uint64_t number) const noexcept {
    return numbering_.distance(wire, number);
  }
  [[nodiscard]] std::uint64_t wire(std::uint64_t number) const noexcept { return numbering_.wire(number); }
  /// The packet's number in the present run.
  [[nodiscard]] std::uint64_t number_of(const Packet& packet) const noexcept {
    return next_ + static_cast<std::uint64_t>(distance(packet.preamble.sequence, next_));
  }
  [[nodiscard]] std::int64_t reach() const noexcept { return table_.reach(); }
  /// How far ahead a number is believed on the word of one packet: bursts of losses are as long, and a window gives
  /// them up.
  [[nodiscard]] std::int64_t leap() const noexcept {
    return options_.window_packets > 64 ? options_.window_packets : 64;
  }
  [[nodiscard]] bool has_both_lines() const noexcept { return options_.lines[0] && options_.lines[1]; }

  // fit.cpp: the run or group that a packet belongs to.
  [[nodiscard]] Fit fit_of(const Packet& packet) noexcept;
  [[nodiscard]] Fit fit_of_same_sender(const Packet& packet) noexcept;
  [[nodiscard]] Fit fit_behind(const Packet& packet) noexcept;
  [[nodiscard]] Fit fit_of_foreign(const Packet& packet) noexcept;
  [[nodiscard]] bool may_be_of(const OldRun& old, const Packet& packet) const noexcept;
  [[nodiscard]] bool is_foreign(const Packet& packet) const noexcept;
  [[nodiscard]] bool is_foreign(const Stranger& stranger) const noexcept;
  void learn_source(const Packet& packet, bool was_foreign) noexcept;
  void note_candidate(const Packet& packet, std::uint64_t number) noexcept;
  [[nodiscard]] std::uint16_t check_for(const Packet& packet) noexcept;
  [[nodiscard]] Match match_of(const Packet& packet) noexcept;
  [[nodiscard]] bool is_copy(const Packet& packet) noexcept;
  [[nodiscard]] bool is_shared(std::uint64_t number) const noexcept;
  [[nodiscard]] bool is_restart(const Packet& packet) const noexcept;
  [[nodiscard]] bool is_far_beyond(const Packet& packet) const noexcept;
  [[nodiscard]] bool is_of_anew(const Packet& packet) noexcept;
  [[nodiscard]] bool rewinds(const Packet& packet) noexcept;
  [[nodiscard]] bool comes_after_silence(const Packet& packet) noexcept;
  [[nodiscard]] bool goes_on(const Stranger& anew, const Packet& packet) const noexcept;
  [[nodiscard]] bool is_announced(const Packet& packet) const noexcept;
  [[nodiscard]] bool is_of_late_line(const Packet& packet) const noexcept;
  [[nodiscard]] bool is_below_first(std::uint64_t number) const noexcept;
  [[nodiscard]] bool is_before_run(std::uint64_t number) const noexcept;
  [[nodiscard]] bool begins_before_run(const Packet& packet, std::uint64_t number) noexcept;

  // arbiter.cpp: the way of a packet.
  [[nodiscard]] bool is_usual(const Packet& packet) const noexcept;
  void take(const Packet& packet, Sink& sink) noexcept;
  void take_without_number(const Packet& packet, Sink& sink) noexcept;
  void take_of_carousel(const Packet& packet, Sink& sink) noexcept;
  [[nodiscard]] bool admit_to_cycle(const Packet& packet, Sink& sink) noexcept;
  void place_below(std::uint64_t number, Sink& sink) noexcept;
  void count_late(const Packet& packet, std::uint64_t late_ns, Sink& sink) noexcept;

  // set_aside.cpp: packets of strangers come in and go out.
  [[nodiscard]] Stranger* stranger_of(const Packet& packet) noexcept;
  [[nodiscard]] bool is_related(const Stranger& stranger, const Packet& packet) const noexcept;
  [[nodiscard]] bool is_likely(const Stranger& stranger) const noexcept;
  [[nodiscard]] Stranger& new_stranger(const Packet& packet, Fit fit, Sink& sink) noexcept;
  [[nodiscard]] Stranger& group_of(const Packet& packet, Fit fit, Sink& sink) noexcept;
  void set_aside(const Packet& packet, Fit fit, Sink& sink) noexcept;
  void note_second_copy(Stranger& stranger, std::uint32_t slot, const Packet& packet) noexcept;
  [[nodiscard]] Stranger& first_to_yield(Stranger& in_need) noexcept;
  [[nodiscard]] Stranger* first_to_accept() noexcept;
  [[nodiscard]] bool is_outlived_by(const Stranger& stranger, const Packet& packet) noexcept;
  [[nodiscard]] bool was_passed(const Stranger& stranger) const noexcept;
  void believe_successor(Stranger& stranger, Sink& sink) noexcept;
  void drop_first(Stranger& stranger, Sink& sink) noexcept;
  void drop_leftovers(Stranger& stranger, Sink& sink) noexcept;
  void drop_leftover(Stranger& stranger, std::uint32_t slot, Sink& sink) noexcept;
  void drop(Stranger& stranger, Sink& sink) noexcept;
  void drop_outlived(Sink& sink) noexcept;
  [[nodiscard]] const Entry* known_of(const Packet& packet) const noexcept;
  [[nodiscard]] bool came_with_run(std::uint64_t t_ns) const noexcept;
  [[nodiscard]] bool was_given_up(const Packet& packet) const noexcept;
  [[nodiscard]] bool fills_hole(const Packet& packet) const noexcept;
  [[nodiscard]] bool may_be_late(const Packet& packet) const noexcept;
  void count_in_vain(const Stranger& stranger, const Packet& packet, std::uint64_t late_ns, Sink& sink) noexcept;

  // switch_over.cpp: a stranger becomes the run, or part of it.
  /// What a stranger begins with, before it is taken apart.
  struct Entrance {
    Packet first;           ///< Its bytes stay until the slot is freed.
    std::uint64_t begin;    ///< The lowest number that came, even if there was no room for it.
    const Packet* in_hand;  ///< Received, but neither disposed of nor held yet; null: there is none.
    [[nodiscard]] std::uint64_t sequence() const noexcept { return first.preamble.sequence; }
  };
  [[nodiscard]] std::uint64_t refuted_at(const Stranger& stranger) const noexcept;
  [[nodiscard]] bool is_refuted(const Stranger& stranger) const noexcept { return refuted_at(stranger) <= until_t_ns_; }
  [[nodiscard]] std::uint64_t silent_enough_at(const Stranger& stranger) const noexcept;
  [[nodiscard]] std::uint64_t acceptable_at(const Stranger& stranger) const noexcept;
  void judge_strangers(bool everything, Sink& sink) noexcept;
  [[nodiscard]] bool waits_for_nearer(const Stranger& stranger) const noexcept;
  [[nodiscard]] bool waits_for_own(const Stranger& stranger) const noexcept;
  [[nodiscard]] Stranger* best_stranger(bool everything, Sink& sink) noexcept;
  void accept(Stranger& stranger, GapReason leap_as, const Packet* in_hand, Sink& sink) noexcept;
  void take_along(Stranger& believed, Sink& sink) noexcept;
  [[nodiscard]] const OldRun* continued_by(const Stranger& stranger, const Entrance& entrance) const noexcept;
  [[nodiscard]] bool fits_better(const Stranger& stranger, std::uint64_t begin, const OldRun& left,
                                 const OldRun& right) const noexcept;
  [[nodiscard]] bool is_ahead_of_present(const Stranger& stranger, std::uint64_t begin,
                                         const OldRun& old) const noexcept;
  [[nodiscard]] bool continues(const OldRun& old, const Stranger& stranger, const Entrance& entrance) const noexcept;
  [[nodiscard]] std::int64_t from_old(const OldRun& old, const Entrance& entrance) const noexcept;
  [[nodiscard]] bool go_back(const Stranger& stranger, const OldRun* old, const Entrance& entrance,
                             Sink& sink) noexcept;
  void drop_late_before(const Stranger& next, Sink& sink) noexcept;
  void begin_anew(const Stranger& stranger, const Entrance& entrance, Sink& sink) noexcept;
  void lose_dropped(std::uint64_t sequence, const Packet& shown_by, Sink& sink) noexcept;
  void refit(Stranger& stranger) noexcept;
  void place_strangers(Sink& sink) noexcept;
  void note_no_room(const Stranger& stranger) noexcept;
  [[nodiscard]] Packet as_reached(Packet packet) const noexcept;
  void place_all(Stranger& stranger, Sink& sink) noexcept;
  void place_foreign(Stranger& stranger, Sink& sink) noexcept;

  // runs.cpp
  /// Packets delivered since the run began, or since its last leap.
  [[nodiscard]] std::uint64_t stretch() const noexcept {
    return stretch_resumed_ + run_.packets.delivered - stretch_began_;
  }
  [[nodiscard]] bool was_left_just_now(const OldRun& old) const noexcept;
  void leave_run(const OldRun* entered) noexcept;
  [[nodiscard]] Packets carry_over(const Packet* in_hand) noexcept;
  /// `packet` began it. `in_hand` is received, but neither disposed of nor held yet; null: there is none. `entered`:
  /// the old run that goes on.
  void begin_run(NewRun::Reason reason, const Packet& packet, const Packet* in_hand, std::uint64_t sequence, Sink& sink,
                 const OldRun* entered = nullptr) noexcept;
  [[nodiscard]] bool is_known(const Packet& packet) const noexcept;
  void go_on_after_known(const Packet& packet, Sink& sink) noexcept;
  void end_run(Sink& sink) noexcept;
  void remember_leap(std::uint64_t from, std::uint64_t to, const Sources& sources) noexcept;
  void jump(std::uint64_t number, Sink& sink) noexcept;

  // in_run.cpp: a packet has its place in the run.
  [[nodiscard]] bool shows_life(const Packet& packet, std::uint64_t number) noexcept;
  void place(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  void place_copy(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  [[nodiscard]] bool keeps_copy(const Packet& packet, std::uint64_t number) noexcept;
  void place_new(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  void place_late(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  /// Notes which line brought it. True if this is the first copy.
  [[nodiscard]] bool note_copy(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  void compare_copies(const Packet& packet, std::uint64_t number, bool is_first, Sink& sink) noexcept;
  [[nodiscard]] bool may_lower(std::uint64_t number) const noexcept;
  void lower_to(std::uint64_t number) noexcept;
  void place_whole(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  enum class Handed : std::uint8_t {
    Decoded,
    Failed,
    Waits,  ///< It did not decode, and another copy may come.
  };
  /// Delivers a packet that is next.
  [[nodiscard]] Handed hand_on(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  void retry(const Packet& packet, std::uint64_t number, Sink& sink) noexcept;
  void complete(std::uint64_t number, Line line) noexcept;
  void settle_undecodable(Sink& sink) noexcept;
  void drain(Sink& sink) noexcept;
  void advance(std::uint64_t top) noexcept;

  // giving_up.cpp: windows close, and missing numbers become gaps.
  void end_gathering(Sink& sink) noexcept;
  /// Gives up the missing numbers from next_ on, up to `limit` or the first held number; then drains.
  void give_up_to(std::uint64_t limit, Sink& sink) noexcept;
  [[nodiscard]] bool had_no_room(std::uint64_t number) const noexcept;
  void lose(std::uint64_t number) noexcept;
  void declare(std::uint64_t first, std::uint64_t count, Sink& sink) noexcept;
  void close_oldest(GapReason reason, Sink& sink) noexcept;
  void close_windows(bool everything, Sink& sink) noexcept;

  const Options options_;
  const Numbering numbering_;
  NumberTable table_;
  Slots slots_;
  Held held_;
  Strangers strangers_;
  LineBook book_;
  Cycles cycles_;  ///< Only of a carousel.

  Offered offered_;
  std::uint64_t until_t_ns_ = 0;   ///< Everything before it has been offered.
  std::uint64_t latest_t_ns_ = 0;  ///< Of any packet, or until_t_ns_.

  // The run.
  bool running_ = false;
  bool gathering_ = false;  ///< Ordered: nothing is delivered from next_ on yet, lower numbers may still come.
  bool has_floor_ = false;  ///< Numbers below first_ are known to have been delivered, or lost.
  std::uint16_t epoch_ = 0;
  std::uint64_t sender_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t undecided_ = 0;      ///< Everything below is delivered or lost. next_, or less after a jump.
  std::uint64_t next_ = 0;           ///< Delivered next.
  std::uint64_t alive_t_ns_ = 0;     ///< Arrival of the latest packet of the run.
  std::uint64_t progress_t_ns_ = 0;  ///< Arrival of the latest packet that went beyond all others of the run.
  std::uint64_t began_t_ns_ = 0;     ///< Arrival of the packet that began the run.
  Sources own_;                      ///< Where its packets come from; empty = unknown.
  Candidates candidates_;
  GapReason skipped_as_ = GapReason::Leap;  ///< Why undecided_ is below next_ while packets are gathered.
  Undecodable undecodable_;
  Evidence evidence_;
  Account run_;      ///< Without the packets that are held.
  Account earlier_;  ///< Of the runs before.

  OldRuns old_runs_;
  LeaptRange leapt_;
  std::uint64_t stretch_resumed_ = 0;  ///< Packets of the run before it was left and gone back to.
  std::uint64_t stretch_began_ = 0;    ///< Delivered when the last leap was made.

  Said announced_;  ///< By the feed.
  Said known_;      ///< The last number that another process delivered.

  Histogram late_by_;
  std::uint64_t gaps_ = 0;
  std::uint64_t runs_ = 0;
  std::uint64_t conflicts_ = 0;
};

}  // namespace stopbit::arbitrate
