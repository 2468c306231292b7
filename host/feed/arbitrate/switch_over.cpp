// A stranger becomes the run, or part of it: when, as what, and what is missing then.

#include "host/feed/arbitrate/arbiter.hpp"

#include <algorithm>

#include "host/feed/arbitrate/rules.hpp"

namespace stopbit::arbitrate {
namespace {

/// A sender that takes over with some numbers missing does so when the one before has been silent for this long.
constexpr std::uint64_t kTakeOverWindows = 2;

/// Copies of the last numbers of a run may come first, but not the numbers that a sender begins anew with.
constexpr std::int64_t most_copies(std::uint64_t begin) noexcept {
  return begin > kRestartNumbers ? kRestartNumbers : 0;
}

}  // namespace

/// The run has gone on for a while, and the stranger has not: up to when every port must have been read to know it.
/// Lines may be apart by the window. One of its own lines has gone on far below it: its number was wild.
std::uint64_t Arbiter::refuted_at(const Stranger& stranger) const noexcept {
  const bool was_wild = stranger.fit == Fit::Ahead && was_passed(stranger);
  const std::uint64_t while_ns =
      was_wild ? options_.window_ns : std::max(options_.switch_silence_ns / 4, 2 * options_.window_ns);
  return since(progress_t_ns_, stranger.last_t_ns) > while_ns ? stranger.last_t_ns + while_ns + 1 : kNever;
}

/// When the present run has been silent for long enough, if it stays so.
std::uint64_t Arbiter::silent_enough_at(const Stranger& stranger) const noexcept {
  std::uint64_t silence = options_.switch_silence_ns;
  if (stranger.fit == Fit::Ahead) {
    const std::int64_t skipped = distance(strangers_.begin_of(stranger), table_.top() + 1) - leap();
    if (is_foreign(stranger)) {  // a sender that takes over may have lost a few numbers, not many
      return alive_t_ns_ + (skipped > 0 ? silence : std::min(silence, kTakeOverWindows * options_.window_ns));
    }
    const std::uint64_t most = silence / kNsPerSkippedNumber;
    const std::uint64_t numbers = skipped > 0 ? static_cast<std::uint64_t>(skipped) : 0;
    silence = numbers < most ? numbers * kNsPerSkippedNumber : silence;
  }
  return alive_t_ns_ + silence;
}

std::uint64_t Arbiter::acceptable_at(const Stranger& stranger) const noexcept {
  // A packet that the run outlives is late, or a copy.
  if (stranger.fit != Fit::Ahead && stranger.last_t_ns < alive_t_ns_) return kNever;
  // One number that was given up has come very late, or several have just come too late.
  if (stranger.fills_holes || (stranger.is_given_up && stranger.packets == 1)) return kNever;
  // So have second copies, with the run's last packets: a sender that begins anew has neighbours, or goes on later.
  if (stranger.is_given_up && stranger.successions == 0 && came_with_run(stranger.last_t_ns)) return kNever;
  // Numbers that were given up are late ones, but if they go on when the run does not.
  if (stranger.is_late && stranger.last_t_ns < alive_t_ns_ + options_.switch_silence_ns / 2) return kNever;
  // Like any missing numbers, those that it leaves out may come until the window closes, by its time or its count.
  const bool is_leap = stranger.fit == Fit::Ahead && stranger.packets < options_.window_packets;
  std::uint64_t shown_ns = is_leap ? stranger.begin_t_ns + options_.window_ns : 0;
  // So may those that the run's held packets leave out.
  if (stranger.fit == Fit::Ahead && !held_.empty()) {
    shown_ns = std::max(shown_ns, held_.newest().packet.t_ns + options_.window_ns);
  }
  const std::uint64_t at = std::max(silent_enough_at(stranger), shown_ns);
  return stranger.is_confirmed ? at : std::max(at, stranger.begin_t_ns + options_.switch_silence_ns);
}

void Arbiter::judge_strangers(bool everything, Sink& sink) noexcept {
  while (!strangers_.empty()) {
    Stranger* const best = best_stranger(everything, sink);
    if (best == nullptr) break;
    accept(*best, GapReason::Leap, nullptr, sink);
  }
  if (!everything) return;
  for (Stranger& stranger : strangers_) drop(stranger, sink);
}

/// Whether a confirmed one that leaves out less is about to be believed: then what is far ahead was wild, or is reached
/// from there.
bool Arbiter::waits_for_nearer(const Stranger& stranger) const noexcept {
  if (stranger.fit != Fit::Ahead) return false;
  // It may have been confirmed by its latest packet only.
  const std::uint64_t at = std::max(acceptable_at(stranger), stranger.last_t_ns);
  return std::ranges::any_of(strangers_, [&](const Stranger& other) {
    return other.fit == Fit::Ahead && other.is_confirmed && !is_refuted(other) &&
           strangers_.is_before(other, stranger) && acceptable_at(other) <= at + options_.window_ns;
  });
}

/// Whether packets with the run's own sender and addresses wait only for what they leave out: the run goes on with
/// them, and has not fallen silent for another.
bool Arbiter::waits_for_own(const Stranger& stranger) const noexcept {
  if (stranger.fit != Fit::OtherSender) return false;
  const std::uint64_t at = std::max(acceptable_at(stranger), stranger.last_t_ns);
  return std::ranges::any_of(strangers_, [&](const Stranger& other) {
    return other.fit == Fit::Ahead && other.is_confirmed && !is_foreign(other) && !is_refuted(other) &&
           other.last_t_ns >= stranger.begin_t_ns && silent_enough_at(other) <= until_t_ns_ &&
           acceptable_at(other) <= at + options_.switch_silence_ns;
  });
}

/// The first that could be accepted: it does not depend on how far apart the ticks are. Drops those that are refuted.
Stranger* Arbiter::best_stranger(bool everything, Sink& sink) noexcept {
  Stranger* best = nullptr;
  for (Stranger& stranger : strangers_) {
    if (stranger.fit == Fit::InRun) continue;
    if (is_refuted(stranger)) {
      drop(stranger, sink);
      continue;
    }
    // At the end there is no more time to wait for: the silence must have been seen. Only the window, in which
    // another line might have filled a leap, is over.
    const std::uint64_t confirmed_at = stranger.is_confirmed ? 0 : stranger.begin_t_ns + options_.switch_silence_ns;
    const bool is_late_leap = everything && stranger.fit == Fit::Ahead && stranger.last_t_ns >= progress_t_ns_ &&
                              std::max(silent_enough_at(stranger), confirmed_at) <= latest_t_ns_;
    if (!is_late_leap && acceptable_at(stranger) > (everything ? stranger.last_t_ns : until_t_ns_)) continue;
    if (!everything && (waits_for_nearer(stranger) || waits_for_own(stranger))) continue;
    if (best == nullptr || acceptable_at(stranger) < acceptable_at(*best)) best = &stranger;
  }
  return best;
}

/// Gives the channel to the stranger.
void Arbiter::accept(Stranger& stranger, GapReason leap_as, const Packet* in_hand, Sink& sink) noexcept {
  drop_leftovers(stranger, sink);
  refit(stranger);  // without its dropped packets it may be over half of all numbers ahead, which means below
  if (stranger.fit == Fit::Ahead) take_along(stranger, sink);
  const Entrance entrance{
      .first = strangers_.first(stranger), .begin = strangers_.begin_of(stranger), .in_hand = in_hand};
  const Packet& first = entrance.first;
  const std::uint64_t last_t_ns = stranger.last_t_ns;
  const Sources sources = stranger.sources;
  const OldRun* const old = continued_by(stranger, entrance);
  bool has_dropped = false;
  if (!options_.carousel && (old != nullptr || stranger.is_late)) {
    has_dropped = go_back(stranger, old, entrance, sink);
  } else if (stranger.fit == Fit::Ahead) {
    drop_outlived(sink);
    evidence_ = {leap_as, first.arrival_ns, first.t_ns};
    jump(next_ + static_cast<std::uint64_t>(distance(entrance.begin, next_)), sink);
    has_dropped = entrance.begin != entrance.sequence();
  } else {
    drop_late_before(stranger, sink);
    begin_anew(stranger, entrance, sink);
  }
  if (!gathering_ && undecided_ != next_) {
    evidence_ = {skipped_as_, first.arrival_ns, first.t_ns};
    end_gathering(sink);
  }
  if (has_dropped) lose_dropped(entrance.sequence(), first, sink);
  if (stranger.has_dropped) note_no_room(stranger);
  alive_t_ns_ = last_t_ns;
  own_.add(sources);
  place_all(stranger, sink);
  for (Stranger& other : strangers_) refit(other);
  place_strangers(sink);
}

/// Those that the run is about to believe show that it has come far, and that their address is its own: so is a single
/// number just ahead of the run, or just before theirs, that this address or the run's own has brought.
void Arbiter::take_along(Stranger& believed, Sink& sink) noexcept {
  for (Stranger& other : strangers_) {
    if (&other == &believed || other.fit != Fit::Ahead || other.packets != 1 || other.sender != believed.sender)
      continue;
    if (!strangers_.is_before(other, believed)) continue;
    if (!other.sources.empty() && !believed.sources.meets(other.sources) && !own_.meets(other.sources)) continue;
    const std::uint64_t sequence = strangers_.first(other).preamble.sequence;
    if (distance(sequence, table_.top() + 1) <= leap()) {
      place_all(other, sink);
    } else if (distance(strangers_.first(believed).preamble.sequence, sequence) <= leap()) {
      run_.packets.duplicate += strangers_.merge(believed, other);
    }
  }
}

/// How far after the place where the old run stopped the stranger begins. Packets dropped below that place are not
/// missing there: they were another stranger's, unless they are those that a sender begins anew with.
std::int64_t Arbiter::from_old(const OldRun& old, const Entrance& entrance) const noexcept {
  const std::int64_t from_begin = distance(entrance.begin, old.next);
  const bool is_of_another = entrance.begin > kRestartNumbers && distance(entrance.sequence(), old.next) >= 0;
  return from_begin < 0 && is_of_another ? 0 : from_begin;
}

/// Whether the stranger is what the old run goes on with.
bool Arbiter::continues(const OldRun& old, const Stranger& stranger, const Entrance& entrance) const noexcept {
  // Numbers ahead are an old run's if no sender can have sent all those between since this run was heard: soon after
  // the switch; or if it is far to them, and they begin just where the old run stopped.
  const std::int64_t skipped = std::max<std::int64_t>(distance(entrance.begin, table_.top() + 1) - leap(), 0);
  const bool is_leap = since(until_t_ns_, alive_t_ns_) / kNsPerSkippedNumber >= static_cast<std::uint64_t>(skipped);
  const std::int64_t from = from_old(old, entrance);
  // Copies of its last numbers come soon after them; much later they are a sender's that begins there.
  const bool may_be_copies = since(stranger.begin_t_ns, old.left_t_ns) <= kLateWindows * options_.window_ns;
  const std::int64_t copies = may_be_copies ? most_copies(entrance.begin) : 0;
  if (stranger.sender != old.sender || from < -copies || from > reach()) return false;
  if (distance(strangers_.last(stranger).preamble.sequence, old.next) < 0) return false;
  const bool is_recent = since(latest_t_ns_, old.left_t_ns) < 4 * options_.switch_silence_ns;
  const bool is_there = from <= leap();
  // Another run's address is not this one's; a new one may be.
  const bool is_known = own_.meets(stranger.sources) || old_runs_.meet(stranger.sources);
  // Where packets say which sender they are from, its address may change.
  const bool names_sender = stranger.sender != 0;
  if (!names_sender && old.sources.excludes(stranger.sources) && (is_known || !is_there)) return false;
  if (stranger.fit == Fit::Ahead && !(is_foreign(stranger) && old.sources.meets(stranger.sources)) &&
      ((is_leap && !(is_there && skipped > kFarLeaps * leap())) || !(is_recent || is_there))) {
    return false;
  }
  return is_there || entrance.begin > kRestartNumbers;
}

/// Of two old runs that may go on at `begin`. A stranger's are short; numbers go on after their place, not below it;
/// and of places that are near each other the later one counts, because what came before has been left for it.
bool Arbiter::fits_better(const Stranger& stranger, std::uint64_t begin, const OldRun& left,
                          const OldRun& right) const noexcept {
  // A leap led from one place to the other, and what goes on comes after both: only from the second one on is it not
  // declared yet what is missing.
  const auto led_to = [&](const OldRun& from, const OldRun& to) {
    return from.is_leap && distance(begin, to.next) >= 0 && distance(to.next, from.next) > 0 &&
           to.left_t_ns >= from.left_t_ns;
  };
  if (led_to(left, right) || led_to(right, left)) return led_to(right, left);
  // Just after a place, and from the same addresses: a place is short, too, soon after a gap.
  const auto is_there = [&](const OldRun& old) {
    const std::int64_t from = distance(begin, old.next);
    return from >= -most_copies(begin) && from <= leap() && old.sources.meets(stranger.sources);
  };
  if (is_there(left) != is_there(right)) return is_there(left);
  if (left.is_long() != right.is_long()) return left.is_long();
  const std::int64_t from_left = distance(begin, left.next);
  const std::int64_t from_right = distance(begin, right.next);
  if ((from_left >= 0) != (from_right >= 0)) return from_left >= 0;
  // A sender's later run has taken the place of its earlier one.
  const bool are_runs = left.is_long() && !left.is_leap && !right.is_leap && left.sources.meets(right.sources);
  if (are_runs && left.left_t_ns != right.left_t_ns) return left.left_t_ns > right.left_t_ns;
  if (magnitude(from_left - from_right) <= magnitude(leap())) {
    // What was left for a stranger that passed the place of another run is later than that place.
    return left.left_t_ns != right.left_t_ns ? left.left_t_ns > right.left_t_ns : right.is_leap;
  }
  return magnitude(from_left) < magnitude(from_right);
}

/// The old run that the stranger goes on with; null: none.
const OldRun* Arbiter::continued_by(const Stranger& stranger, const Entrance& entrance) const noexcept {
  const OldRun* found = nullptr;
  for (const OldRun& old : old_runs_.all()) {
    if (!continues(old, stranger, entrance)) continue;
    if (found == nullptr || fits_better(stranger, entrance.begin, old, *found)) found = &old;
  }
  return found != nullptr && is_ahead_of_present(stranger, entrance.begin, *found) ? nullptr : found;
}

/// Whether the present run is about where the old one stopped, both are far below the stranger, and the present one
/// fits better: then the stranger is ahead of this one.
bool Arbiter::is_ahead_of_present(const Stranger& stranger, std::uint64_t begin, const OldRun& old) const noexcept {
  const OldRun present{
      .sender = sender_, .next = next_, .packets = stretch(), .left_t_ns = latest_t_ns_, .sources = own_};
  return stranger.fit == Fit::Ahead && magnitude(distance(old.next, next_)) <= magnitude(leap()) &&
         distance(begin, old.next) > leap() && fits_better(stranger, begin, present, old);
}

/// The old run goes on with the stranger; null: what was leapt over does. @returns whether numbers that the stranger
/// had no room for are missing.
bool Arbiter::go_back(const Stranger& stranger, const OldRun* old, const Entrance& entrance, Sink& sink) noexcept {
  // Numbers that passed meanwhile; the numbers of a leap were declared with it, if it was made there.
  const bool was_leapt_elsewhere =
      old != nullptr && leapt_.has(number_of(entrance.first)) && distance(wire(leapt_.from), old->next) > 0;
  const bool is_told = old == nullptr || old->is_leap || (stranger.is_late && !was_leapt_elsewhere);
  // What it dropped came after all that passed, or is another stranger's.
  const bool has_dropped =
      !is_told && entrance.begin != entrance.sequence() && distance(entrance.begin, old->next) >= 0;
  const std::uint64_t came = has_dropped ? entrance.begin : entrance.sequence();
  const std::int64_t passed = is_told ? 0 : std::max<std::int64_t>(distance(came, old->next), 0);
  const std::uint64_t next = is_told || passed > 0 ? came : old->next;
  const Sources sources = old != nullptr ? old->sources : Sources();
  begin_run(NewRun::Reason::Back, entrance.first, entrance.in_hand, next, sink, old);
  first_ = undecided_ = next - static_cast<std::uint64_t>(passed);
  skipped_as_ = GapReason::Switch;
  // Far ahead it may be wild: then what has passed goes on.
  if (passed > leap()) remember_leap(first_, next, sources);
  return has_dropped;
}

/// What came late of the run that ends, long before the next one began, is no part of that.
void Arbiter::drop_late_before(const Stranger& next, Sink& sink) noexcept {
  for (Stranger& other : strangers_) {
    if (&other == &next || other.fit == Fit::InRun || !other.is_late) continue;
    if (since(next.begin_t_ns, other.last_t_ns) > kLateWindows * options_.window_ns) drop(other, sink);
  }
}

void Arbiter::begin_anew(const Stranger& stranger, const Entrance& entrance, Sink& sink) noexcept {
  const NewRun::Reason reason =
      stranger.fit == Fit::OtherSender ? NewRun::Reason::Sender : NewRun::Reason::SequenceReset;
  const std::uint64_t sequence = entrance.sequence();
  begin_run(reason, entrance.first, entrance.in_hand, sequence, sink);
  if (entrance.begin == sequence) return;
  first_ = undecided_ = sequence - static_cast<std::uint64_t>(distance(sequence, entrance.begin));
  skipped_as_ = GapReason::Room;
  has_floor_ = true;
}

/// After a leap: what the stranger had no room for, up to the first that it holds.
void Arbiter::lose_dropped(std::uint64_t sequence, const Packet& shown_by, Sink& sink) noexcept {
  if (gathering_) end_gathering(sink);
  const std::int64_t ahead = distance(sequence, next_);
  if (ahead <= 0) return;
  const std::uint64_t last = next_ + static_cast<std::uint64_t>(ahead) - 1;
  if (before(table_.top(), last)) advance(last);
  evidence_ = {GapReason::Room, shown_by.arrival_ns, shown_by.t_ns};
  give_up_to(last, sink);
}

/// The run has changed or moved: a stranger that was ahead of it may now be late.
void Arbiter::refit(Stranger& stranger) noexcept {
  if (stranger.fit == Fit::InRun) return;
  const bool was_behind = stranger.fit == Fit::Behind;
  // What it has dropped was below the run, even if the rest is not.
  const std::uint64_t begin = was_behind ? strangers_.begin_of(stranger) : strangers_.first(stranger).preamble.sequence;
  const std::int64_t ahead = distance(begin, next_);
  const std::uint64_t number = next_ + static_cast<std::uint64_t>(ahead);
  stranger.fit = stranger.sender != sender_ ? Fit::OtherSender : ahead < 0 ? Fit::Behind : Fit::Ahead;
  const bool was_leapt = leapt_.has(number);
  const bool was_lost = ahead >= -reach() && table_[number].state == Entry::State::Lost;
  stranger.is_early = stranger.fit == Fit::Behind && is_before_run(number);
  stranger.is_given_up = was_given_up(strangers_.first(stranger)) || may_be_late(strangers_.first(stranger));
  if (stranger.fit != Fit::Behind) {
    stranger.is_late = false;
  } else if (!was_behind) {
    stranger.is_late = was_leapt || was_lost;
  }
  for (const Line line : {Line::A, Line::B}) stranger.line_top[index(line)] = book_.highest(line);
}

/// Those that continue the run by now.
void Arbiter::place_strangers(Sink& sink) noexcept {
  for (Stranger& stranger : strangers_) {
    if (stranger.fit == Fit::InRun || stranger.sender != sender_ || stranger.is_late) continue;
    const std::uint64_t first = strangers_.first(stranger).preamble.sequence;
    // A single one may be wild: the run has to reach it.
    const std::int64_t most = stranger.is_confirmed ? leap() : 0;
    const std::int64_t least = stranger.fit == Fit::Ahead ? -reach() : 0;
    if (distance(first, next_) < least || distance(first, table_.top() + 1) > most) continue;
    if (is_foreign(stranger)) {
      place_foreign(stranger, sink);
    } else {
      if (stranger.has_dropped) note_no_room(stranger);
      place_all(stranger, sink);
    }
  }
}

/// Another line may still bring what the stranger dropped for want of room; else that is why it is missing.
void Arbiter::note_no_room(const Stranger& stranger) noexcept {
  const std::int64_t first = std::max<std::int64_t>(distance(strangers_.begin_of(stranger), next_), 0);
  const std::int64_t last = distance(stranger.highest_dropped, next_);
  if (last < 0 || last > reach()) return;
  const std::uint64_t end = next_ + static_cast<std::uint64_t>(last);
  if (before(table_.top(), end)) advance(end);
  for (std::uint64_t number = next_ + static_cast<std::uint64_t>(first); !before(end, number); ++number) {
    Entry& known = table_[number];
    if (known.brought == 0 && known.chunks == 0) known.had_no_room = 1;
  }
}

/// The packet of a stranger. Where the run has come up to it by itself, it shows from then on that numbers are missing.
Packet Arbiter::as_reached(Packet packet) const noexcept {
  if (distance(packet.preamble.sequence, table_.top() + 1) <= 0) packet.t_ns = std::max(packet.t_ns, progress_t_ns_);
  return packet;
}

/// What goes on, one after the other, until its address is the run's own.
void Arbiter::place_foreign(Stranger& stranger, Sink& sink) noexcept {
  while (stranger.packets != 0 && is_foreign(stranger)) {
    const Packet packet = as_reached(strangers_.first(stranger));
    const bool is_own = own_.has(packet.source);
    if (!is_own && fit_of_foreign(packet) != Fit::InRun) return refit(stranger);  // the run may have passed it
    // What has waited for the run to come to it shows nothing, but with its neighbours.
    if (!is_own && stranger.successions != 0) learn_source(packet, true);
    const std::uint32_t slot = strangers_.unlink_first(stranger);
    const std::uint64_t number = number_of(packet);
    place(packet, number, sink);
    note_candidate(packet, number);
    slots_.free(slot);
  }
  if (stranger.packets != 0) return place_all(stranger, sink);
  strangers_.release_if_empty(stranger);
}

void Arbiter::place_all(Stranger& stranger, Sink& sink) noexcept {
  std::uint32_t slot = strangers_.unlink_all(stranger);
  while (slot != kNone) {
    const Packet packet = as_reached(slots_[slot].packet);
    const std::uint32_t above = slots_[slot].newer;
    const std::uint64_t number = number_of(packet);
    if (distance(packet.preamble.sequence, next_) > reach()) {
      evidence_ = {GapReason::Leap, packet.arrival_ns, packet.t_ns};
      jump(number, sink);
    }
    cycles_.reach(packet);
    place(packet, number, sink);
    slots_.free(slot);
    slot = above;
  }
}

}  // namespace stopbit::arbitrate
