// A run begins, goes on after a leap, or ends.

#include "host/feed/arbitrate/arbiter.hpp"
#include "host/feed/arbitrate/rules.hpp"

namespace stopbit::arbitrate {

/// Packets that nothing has become of yet are of the new run: takes them out of the account.
Packets Arbiter::carry_over(const Packet* in_hand) noexcept {
  Packets carried;
  if (in_hand != nullptr) ++carried.received[index(in_hand->line)];
  for (const Stranger& stranger : strangers_) {
    if (stranger.fit == Fit::InRun) continue;
    for (std::uint32_t slot = stranger.first; slot != kNone; slot = slots_[slot].newer) {
      ++carried.received[index(slots_[slot].packet.line)];
    }
  }
  for (std::size_t line = 0; line < kLines; ++line) run_.packets.received[line] -= carried.received[line];
  return carried;
}

void Arbiter::begin_run(NewRun::Reason reason, const Packet& packet, const Packet* in_hand, std::uint64_t sequence,
                        Sink& sink, const OldRun* entered) noexcept {
  NewRun run{.reason = reason,
             .sender = packet.preamble.sender,
             .sequence = sequence,
             .wall_ns = packet.arrival_ns,
             .packet = packet.number,
             .before = {}};
  const Sources entered_sources = entered != nullptr ? entered->sources : Sources();
  Packets carried = carry_over(in_hand);
  if (running_) {
    end_run(sink);
    run.before = account();
    run.before.packets.held = 0;  // what strangers hold is carried over
    ++epoch_;
    leave_run(entered);  // `entered` is another one from here on
  } else {
    // Packets before the first number were malformed, or late; they stay in sight.
    for (std::size_t line = 0; line < kLines; ++line) carried.received[line] += run_.packets.received[line];
    carried.malformed = run_.packets.malformed;
    carried.late = run_.packets.late;
    run_ = {};
  }
  earlier_ += run.before;
  run_ = {.packets = carried, .numbers = {}};
  run.epoch = epoch_;
  ++runs_;

  const bool is_first = !running_;
  running_ = true;
  gathering_ = options_.ordered;
  leapt_ = {};
  sender_ = run.sender;
  first_ = undecided_ = next_ = sequence;
  table_.begin(sequence - 1);
  book_.begin_run(sequence);
  alive_t_ns_ = began_t_ns_ = packet.t_ns;
  own_ = entered_sources;
  own_.add(packet.source);
  candidates_.clear();
  if (reason == NewRun::Reason::SequenceReset || reason == NewRun::Reason::Back) {
    sink.reset(run);
  } else {
    sink.epoch(run);
  }
  announced_ = {};
  has_floor_ = reason == NewRun::Reason::Back;
  if (is_first && known_.is_set && !options_.carousel && sender_ == known_.sender) go_on_after_known(packet, sink);
  known_ = {};
}

/// Remembers where the run that is left would go on. A run that is entered again is no longer remembered.
void Arbiter::leave_run(const OldRun* entered) noexcept {
  const std::uint64_t resumed = entered != nullptr ? entered->packets : 0;
  if (entered != nullptr) old_runs_.forget(*entered);
  old_runs_.remember(
      {.sender = sender_, .next = next_, .packets = stretch(), .left_t_ns = latest_t_ns_, .sources = own_});
  stretch_resumed_ = resumed;
  stretch_began_ = 0;
}

/// A line brings late what another process has delivered, or passed. A sender that has begun anew would hardly have
/// come just there.
bool Arbiter::is_known(const Packet& packet) const noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  if (!known_.is_set || packet.preamble.sender != known_.sender) return false;
  const bool is_soon = since(packet.t_ns, known_.t_ns) < kLateWindows * options_.window_ns;
  if (sequence <= kRestartNumbers && !is_soon) return false;
  const std::int64_t ahead = distance(sequence, known_.number);
  return ahead <= 0 && ahead > -leap();
}

/// The first run of this process is that of another one, if its numbers go on after those.
void Arbiter::go_on_after_known(const Packet& packet, Sink& sink) noexcept {
  const std::int64_t ahead = distance(next_, known_.number + 1);
  // Just after the last number, or of a sender that has begun anew: nothing is missing.
  if (ahead <= 0) return;
  has_floor_ = true;
  first_ = undecided_ = next_ - static_cast<std::uint64_t>(ahead);
  skipped_as_ = GapReason::Down;
  // The packet may be wild: what was skipped may go on.
  if (ahead > leap()) leapt_ = {.has_leapt = true, .from = first_, .to = next_, .t_ns = latest_t_ns_};
  if (!options_.ordered) {
    evidence_ = {GapReason::Down, packet.arrival_ns, packet.t_ns};
    end_gathering(sink);
  }
}

void Arbiter::end_run(Sink& sink) noexcept {
  close_windows(true, sink);
  book_.judge_all(undecided_);
}

/// The run passes over numbers that may still come to go on.
void Arbiter::remember_leap(std::uint64_t from, std::uint64_t to, const Sources& sources) noexcept {
  const Entry& last = table_[from - 1];
  const bool knows_last = table_.remembers(from - 1) && last.state == Entry::State::Delivered;
  leapt_ = {.has_leapt = true, .from = from, .to = to, .t_ns = latest_t_ns_, .before_t_ns = knows_last ? last.t_ns : 0};
  old_runs_.remember({.is_leap = true,
                      .sender = sender_,
                      .next = from,
                      .packets = stretch(),
                      .left_t_ns = latest_t_ns_,
                      .sources = sources});
  stretch_resumed_ = 0;
  stretch_began_ = run_.packets.delivered;
}

/// The run goes on at a number far ahead.
void Arbiter::jump(std::uint64_t number, Sink& sink) noexcept {
  const Evidence evidence = evidence_;
  close_windows(true, sink);
  if (!before(next_, number)) return;  // what was held goes on beyond it
  evidence_ = evidence;
  remember_leap(next_, number, own_);
  advance(number - 1);
  next_ = number;
  skipped_as_ = evidence.reason;
  if (options_.ordered) {
    gathering_ = true;  // lower ones may still come: the gap is declared when they cannot any more
  } else {
    end_gathering(sink);
  }
}

}  // namespace stopbit::arbitrate
