// The entrances of the arbiter, and the way of a packet through it.

#include "host/feed/arbitrate/arbiter.hpp"

#include <algorithm>

#include "host/feed/arbitrate/rules.hpp"

namespace stopbit::arbitrate {
namespace {

constexpr std::uint16_t kMaxChunks = 64;  ///< Bits of a mask.

}  // namespace

Arbiter::Arbiter(const Options& options)
    : options_(checked(options)),
      numbering_(options_.sequence_bits),
      table_(options_),
      // Those that wait, one that makes the room too small, and one on its way from the strangers to the run.
      slots_(most_held(options_.room_packets) + 2, options_.datagram_bytes),
      held_(slots_, table_),
      strangers_(slots_, numbering_),
      book_(options_, numbering_, table_),
      cycles_(options_) {}

void Arbiter::offer(const Packet& packet, Sink& sink) noexcept {
  latest_t_ns_ = std::max(latest_t_ns_, packet.t_ns);
  ++run_.packets.received[index(packet.line)];
  offered_ = {.bytes = packet.payload.data()};
  book_.note_arrival(packet);
  const net::Preamble& preamble = packet.preamble;
  const std::uint16_t max_chunks = options_.chunks ? kMaxChunks : 1;
  if (preamble.error != ErrorCode::None || preamble.chunk == 0 || preamble.chunk > preamble.chunks ||
      preamble.chunks > max_chunks || (preamble.chunks > 1 && packet.payload.size() > options_.datagram_bytes)) {
    ++run_.packets.malformed;
  } else if (options_.sequence_bits == 0) {
    take_without_number(packet, sink);
  } else if (options_.carousel) {
    take_of_carousel(packet, sink);
  } else {
    take(packet, sink);
  }
}

void Arbiter::tick(std::uint64_t until_t_ns, Sink& sink) noexcept {
  until_t_ns_ = std::max(until_t_ns_, until_t_ns);
  latest_t_ns_ = std::max(latest_t_ns_, until_t_ns_);
  close_windows(false, sink);
  if (strangers_.empty()) return;
  judge_strangers(false, sink);
  close_windows(false, sink);  // what the strangers brought
}

std::optional<std::uint64_t> Arbiter::next_deadline() const noexcept {
  std::uint64_t deadline = kNever;
  if (!held_.empty()) {
    deadline = held_.oldest().packet.t_ns + options_.window_ns;
    if (held_.count() >= options_.window_packets) deadline = std::min(deadline, held_.newest().packet.t_ns + 1);
  }
  if (options_.ordered && undecodable_.is_awaited)
    deadline = std::min(deadline, undecodable_.t_ns + options_.window_ns);
  if (!strangers_.empty()) {
    for (const Stranger& stranger : strangers_) {
      if (stranger.fit == Fit::InRun) continue;
      deadline = std::min({deadline, refuted_at(stranger), acceptable_at(stranger)});
    }
  }
  if (deadline == kNever) return std::nullopt;
  return deadline;
}

void Arbiter::finish(Sink& sink) noexcept {
  close_windows(true, sink);
  judge_strangers(true, sink);
  close_windows(true, sink);  // what the strangers brought
  if (running_) book_.judge_all(undecided_);
}

void Arbiter::announce(std::uint64_t sequence) noexcept {
  if (running_ && distance(sequence, next_) >= 0 && distance(sequence, next_) <= leap()) return;  // it goes on there
  announced_ = {.is_set = true, .number = wire(sequence), .t_ns = latest_t_ns_};
}

void Arbiter::resume_after(std::uint64_t sender, std::uint64_t last_sequence, std::uint16_t epoch,
                           std::uint64_t t_ns) noexcept {
  if (!running_) epoch_ = epoch;
  known_ = {.is_set = !running_, .number = last_sequence, .sender = sender, .t_ns = t_ns};
}

void Arbiter::hand_over(Sink& sink) noexcept {
  finish(sink);
  if (!running_) return;
  earlier_ += account();
  run_ = {};
  running_ = false;
  known_ = {};
  announced_ = {};
  // Whatever goes on meanwhile, nothing leads back to what was before it.
  old_runs_ = {};
  stretch_resumed_ = stretch_began_ = 0;
}

void Arbiter::go_on_from(const Arbiter& before, bool same) noexcept {
  if (running_) return;
  epoch_ = static_cast<std::uint16_t>(before.epoch_ + (before.running_ ? 1 : 0));
  if (!same) return;
  if (before.running_) {
    resume_after(before.sender_, wire(before.next_) - 1, epoch_);
  } else {
    known_ = before.known_;
  }
}

Account Arbiter::account() const noexcept {
  Account account = run_;
  account.packets.held = held_.count() + held_.copies() + strangers_.packets();
  if (running_) {
    account.numbers.expected = table_.top() + 1 - first_;
    account.numbers.held = table_.top() + 1 - undecided_;
  }
  return account;
}

Account Arbiter::total() const noexcept {
  Account sum = earlier_;
  sum += account();
  return sum;
}

std::optional<std::uint64_t> Arbiter::next_sequence() const noexcept {
  if (!running_) return std::nullopt;
  return wire(next_);
}

/// The next number of a run that nothing else competes with, from a line and an address that have brought some of it.
bool Arbiter::is_usual(const Packet& packet) const noexcept {
  return running_ && packet.preamble.sequence == wire(next_) && packet.preamble.sender == sender_ &&
         strangers_.empty() && book_.has_heard(packet.line) && (packet.source == 0 || own_.has(packet.source));
}

void Arbiter::take(const Packet& packet, Sink& sink) noexcept {
  if (is_usual(packet)) return place(packet, next_, sink);
  if (!running_) {
    if (is_known(packet)) return count_late(packet, 0, sink);
    begin_run(NewRun::Reason::Start, packet, &packet, packet.preamble.sequence, sink);
  }
  const Fit fit = fit_of(packet);
  if (fit == Fit::Passed) {
    count_late(packet, since(latest_t_ns_, old_runs_.all().front().left_t_ns), sink);
  } else if (fit != Fit::InRun) {
    set_aside(packet, fit, sink);
  } else {
    const bool is_new_source = packet.source != 0 && !own_.has(packet.source);
    const std::uint64_t number = number_of(packet);
    if (is_new_source && shows_life(packet, number)) learn_source(packet, is_foreign(packet));
    if (!strangers_.empty() && !options_.ordered) place_below(number, sink);
    place(packet, number, sink);
    if (is_new_source) note_candidate(packet, number);
    if (!strangers_.empty()) place_strangers(sink);
  }
}

/// There is nothing to arbitrate by: everything is delivered.
void Arbiter::take_without_number(const Packet& packet, Sink& sink) noexcept {
  if (!running_) begin_run(NewRun::Reason::Start, packet, &packet, 0, sink);
  gathering_ = false;
  ++run_.packets.delivered;
  ++run_.numbers.delivered;
  table_.set_top(next_++);
  undecided_ = next_;
  (void)sink.deliver(packet, epoch_);
}

void Arbiter::take_of_carousel(const Packet& packet, Sink& sink) noexcept {
  if (!admit_to_cycle(packet, sink)) {
    count_late(packet, 0, sink);
    return;
  }
  const std::int64_t ahead = distance(packet.preamble.sequence, next_);
  if (ahead < -reach()) {
    count_late(packet, 0, sink);
  } else if (ahead > reach() || distance(packet.preamble.sequence, table_.top() + 1) > leap()) {
    set_aside(packet, Fit::Ahead, sink);
  } else {
    place(packet, number_of(packet), sink);
    if (!strangers_.empty()) place_strangers(sink);
  }
}

/// Whether the packet is of the cycle that is followed; begins the next one when its time has come.
bool Arbiter::admit_to_cycle(const Packet& packet, Sink& sink) noexcept {
  const std::int64_t ahead = distance(packet.preamble.sequence, next_);
  const Cycles::Seen seen{.is_running = running_,
                          .is_near_next = magnitude(ahead) <= options_.window_packets,
                          .is_silent = since(packet.t_ns, alive_t_ns_) >= options_.switch_silence_ns,
                          .is_new_to_line = (table_[number_of(packet)].brought & bit_of(index(packet.line))) == 0,
                          .match = match_of(packet)};
  const Cycles::Verdict verdict = cycles_.judge(packet, seen);
  if (verdict != Cycles::Verdict::Begin) return verdict == Cycles::Verdict::Join;
  const NewRun::Reason reason = running_ ? NewRun::Reason::Cycle : NewRun::Reason::Start;
  for (Stranger& stranger : strangers_) drop(stranger, sink);  // of another cycle: other data
  cycles_.begin(packet, seen.match);
  begin_run(reason, packet, &packet, packet.preamble.sequence, sink);
  return true;
}

/// Fast mode: the number goes past those that wait to be believed.
void Arbiter::place_below(std::uint64_t number, Sink& sink) noexcept {
  for (Stranger& stranger : strangers_) {
    if (stranger.fit != Fit::Ahead || stranger.sender != sender_) continue;
    while (stranger.packets != 0) {
      const Packet& packet = strangers_.first(stranger);
      const std::int64_t ahead = distance(packet.preamble.sequence, next_);
      if (ahead < 0 || ahead >= static_cast<std::int64_t>(number - next_)) break;
      const std::uint32_t slot = strangers_.unlink_first(stranger);
      place(slots_[slot].packet, next_ + static_cast<std::uint64_t>(ahead), sink);
      slots_.free(slot);
    }
    strangers_.release_if_empty(stranger);
  }
}

void Arbiter::count_late(const Packet& packet, std::uint64_t late_ns, Sink& sink) noexcept {
  ++run_.packets.late;
  sink.late(packet, late_ns);
}

}  // namespace stopbit::arbitrate
