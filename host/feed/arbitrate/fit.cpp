// The run or group that a packet belongs to. Nothing is changed here, but for the addresses that are learnt.

#include "host/feed/arbitrate/arbiter.hpp"

#include <algorithm>

#include "host/feed/arbitrate/rules.hpp"

namespace stopbit::arbitrate {

Fit Arbiter::fit_of(const Packet& packet) noexcept {
  if (packet.preamble.sender == sender_) {
    const Fit fit = fit_of_same_sender(packet);
    return fit == Fit::InRun && is_foreign(packet) ? fit_of_foreign(packet) : fit;
  }
  // A sender that comes back later may have begun anew.
  for (const OldRun& old : old_runs_.all()) {
    if (!may_be_of(old, packet)) continue;
    const std::int64_t from_old = distance(packet.preamble.sequence, old.next);
    if (from_old < 0 && from_old >= -reach()) return Fit::Passed;
  }
  return Fit::OtherSender;
}

/// Whether the run was left just now, and the packet can have come from there.
bool Arbiter::may_be_of(const OldRun& old, const Packet& packet) const noexcept {
  if (old.is_leap || packet.preamble.sender != old.sender || !was_left_just_now(old)) return false;
  return packet.source == 0 || old.sources.empty() || old.sources.has(packet.source);
}

Fit Arbiter::fit_of_same_sender(const Packet& packet) noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  const std::int64_t ahead = distance(sequence, next_);
  const std::int64_t from_top = distance(sequence, table_.top() + 1);
  const Fit side = ahead < 0 ? Fit::Behind : Fit::Ahead;
  const bool is_expected = ahead >= 0 && ahead <= reach() && from_top <= leap();
  const bool has_turned = book_.has_heard(packet.line);

  if (is_expected && is_of_anew(packet)) return Fit::Behind;
  if ((is_expected && has_turned) || is_copy(packet)) return Fit::InRun;
  for (const OldRun& old : old_runs_.all()) {
    if (!may_be_of(old, packet)) continue;
    // A line that has not turned to the new run yet goes on with the old one, even if the two are close.
    const std::int64_t from_old = distance(sequence, old.next);
    const bool is_closer = magnitude(from_old) < magnitude(ahead);
    if (is_closer && from_old <= leap() && from_old >= -reach()) {
      return from_old < 0 ? Fit::Passed : side;
    }
  }
  if (is_expected) return Fit::InRun;
  if (ahead > 0) return Fit::Ahead;
  return fit_behind(packet);
}

/// A packet below the run is a late one of it, or of a run that begins anew.
Fit Arbiter::fit_behind(const Packet& packet) noexcept {
  const std::int64_t ahead = distance(packet.preamble.sequence, next_);
  if (ahead < -reach()) return Fit::Behind;
  if ((is_announced(packet) || rewinds(packet) || comes_after_silence(packet)) && !is_of_late_line(packet)) {
    return Fit::Behind;
  }
  const std::uint64_t number = number_of(packet);
  // The range that was leapt over goes on all the same.
  if (leapt_.has(number)) {
    const Entry& known = table_[number];
    const bool is_skipped =
        known.state == Entry::State::Lost || (gathering_ && before(number, next_) && !may_lower(number));
    if (is_skipped && known.brought == 0) return Fit::Behind;
  }
  return begins_before_run(packet, number) ? Fit::Behind : Fit::InRun;
}

/// Whether it comes from elsewhere while the run's own addresses are alive. Those become known in its first windows.
bool Arbiter::is_foreign(const Packet& packet) const noexcept {
  return packet.source != 0 && !own_.empty() && !own_.has(packet.source) &&
         since(packet.t_ns, alive_t_ns_) < options_.switch_silence_ns &&
         since(packet.t_ns, began_t_ns_) >= kLateWindows * options_.window_ns;
}

bool Arbiter::is_foreign(const Stranger& stranger) const noexcept {
  return own_.excludes(stranger.sources);
}

/// Of another address, where the run's own would be in the run: what goes on, fills a hole or is a copy is believed,
/// because a sender that takes over sends just that. What would make a hole, or has other bytes, is not.
Fit Arbiter::fit_of_foreign(const Packet& packet) noexcept {
  const std::int64_t ahead = distance(packet.preamble.sequence, next_);
  const Fit side = ahead < 0 ? Fit::Behind : Fit::Ahead;
  if (distance(packet.preamble.sequence, table_.top() + 1) > 0 || match_of(packet) == Match::Other) return side;
  return ahead < 0 && may_lower(next_ + static_cast<std::uint64_t>(ahead)) ? side : Fit::InRun;
}

/// The packet has its place in the run. Another address has to bring a few of the next numbers, or a copy of what the
/// run's own has brought: strangers come on both lines, too.
void Arbiter::learn_source(const Packet& packet, bool was_foreign) noexcept {
  if (!was_foreign) return own_.add(packet.source);
  const bool goes_on = distance(packet.preamble.sequence, table_.top() + 1) == 0;
  const bool is_copy = match_of(packet) == Match::Same && table_[number_of(packet)].is_of_candidate == 0;
  const std::uint32_t numbers = is_copy ? Candidates::kEnough : goes_on ? 1 : 0;
  if (candidates_.add(packet.source, numbers)) own_.add(packet.source);
}

/// The packet has been placed.
void Arbiter::note_candidate(const Packet& packet, std::uint64_t number) noexcept {
  Entry& known = table_[number];
  if (!own_.has(packet.source) && known.brought == bit_of(index(packet.line))) known.is_of_candidate = 1;
}

/// Whether the line, which is late, goes on with a number that was given up just now.
bool Arbiter::is_of_late_line(const Packet& packet) const noexcept {
  if (!book_.has_heard(packet.line) || !fills_hole(packet)) return false;
  const std::int64_t ahead = distance(packet.preamble.sequence, book_.highest(packet.line));
  return ahead > 0 && ahead <= leap();
}

/// Leaps may have led the run round all numbers: then it has come to them since.
bool Arbiter::is_below_first(std::uint64_t number) const noexcept {
  return before(number, first_) && table_[number].state == Entry::State::Open;
}

/// Within reach, and neither delivered nor given up by anybody.
bool Arbiter::is_before_run(std::uint64_t number) const noexcept {
  return !has_floor_ && is_below_first(number) && next_ - number <= static_cast<std::uint64_t>(reach());
}

/// Too far before the first number for a late line, or what goes on there.
bool Arbiter::begins_before_run(const Packet& packet, std::uint64_t number) noexcept {
  // What a line brings late comes soon after the run has begun.
  const bool is_soon = since(packet.t_ns, began_t_ns_) < kLateWindows * options_.window_ns;
  if (has_floor_) return is_below_first(number) && !is_soon;
  if (!is_before_run(number) || may_lower(number)) return false;
  if (first_ - number > static_cast<std::uint64_t>(leap())) return true;
  const Stranger* const stranger = stranger_of(packet);
  return stranger != nullptr && stranger->is_early;
}

bool Arbiter::was_left_just_now(const OldRun& old) const noexcept {
  return since(latest_t_ns_, old.left_t_ns) < std::min(options_.switch_silence_ns, kLateWindows * options_.window_ns);
}

bool Arbiter::is_announced(const Packet& packet) const noexcept {
  if (!announced_.is_set) return false;
  const std::int64_t apart = distance(packet.preamble.sequence, announced_.number);
  return apart >= 0 && apart <= leap();
}

/// Computed once for a packet that is offered; those that waited have their bytes in slots.
std::uint16_t Arbiter::check_for(const Packet& packet) noexcept {
  if (packet.payload.data() != offered_.bytes) return check_of(packet.payload);
  if (!offered_.has_check) offered_ = {.bytes = offered_.bytes, .has_check = true, .check = check_of(packet.payload)};
  return offered_.check;
}

/// What the bytes say, if the run has the number, or this chunk of it.
Match Arbiter::match_of(const Packet& packet) noexcept {
  if (!options_.carousel && !has_both_lines()) return Match::Unknown;
  const std::uint64_t number = number_of(packet);
  if (!running_ || before(table_.top(), number) || !table_.remembers(number)) return Match::Unknown;
  const Entry& known = table_[number];
  const std::uint16_t chunk = packet.preamble.chunk;
  if (options_.chunks && known.chunks != 0 && known.chunks != packet.preamble.chunks) return Match::Other;
  const bool has_check = options_.chunks ? table_.has_check(number, chunk) : known.brought != 0;
  if (!has_check || known.in_conflict != 0) return Match::Unknown;
  return table_.check(number, chunk) == check_for(packet) ? Match::Same : Match::Other;
}

/// The line's copy of what another has brought, however late if the line has not come far beyond it, or one that
/// follows soon: no sign of another run.
bool Arbiter::is_copy(const Packet& packet) noexcept {
  const std::int64_t ahead = distance(packet.preamble.sequence, next_);
  if (ahead >= 0 || ahead < -reach() || !has_both_lines()) return false;
  const std::uint64_t number = number_of(packet);
  const std::uint16_t chunk = packet.preamble.chunk;
  const Entry& known = table_[number];
  if (options_.chunks ? !table_.has_check(number, chunk) : known.brought == 0) return false;
  const std::size_t line = index(packet.line);
  const bool is_other_line =
      options_.chunks ? (table_.masks(number)[line] >> (chunk - 1) & 1) == 0 : (known.brought & bit_of(line)) == 0;
  // What begins anew may repeat its bytes; a second copy comes with the line's first one.
  const std::uint64_t patience_ns = is_restart(packet)
                                        ? std::min(options_.switch_silence_ns, kLateWindows * options_.window_ns)
                                        : options_.switch_silence_ns;
  const bool is_soon = since(packet.t_ns, known.t_ns) < patience_ns;
  // Of the many packets that a line sends beyond that, one has the same check by chance.
  const bool is_yet_to_come = is_other_line && !is_far_beyond(packet);
  return (is_yet_to_come || is_soon) && table_.check(number, chunk) == check_for(packet);
}

/// Whether both lines have brought the number, with the same bytes.
bool Arbiter::is_shared(std::uint64_t number) const noexcept {
  const Entry& known = table_[number];
  return (known.brought & 3U) == 3U && known.in_conflict == 0;
}

/// Whether the line has come further than what is believed ahead beyond the packet.
bool Arbiter::is_far_beyond(const Packet& packet) const noexcept {
  return book_.has_heard(packet.line) && distance(packet.preamble.sequence, book_.highest(packet.line)) < -leap();
}

/// A line that has come far is back at one of the numbers that a sender begins anew with.
bool Arbiter::is_restart(const Packet& packet) const noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  const bool has_come = book_.has_heard(packet.line);
  const std::uint64_t highest = book_.highest(packet.line);
  const auto margin = static_cast<std::int64_t>(std::max<std::uint64_t>(options_.window_packets, kRestartNumbers));
  return has_come && sequence <= kRestartNumbers && sequence < wire(highest) && distance(sequence, highest) < -margin;
}

/// Whether the packet goes on with what begins anew. What may be late does so only where that has come to.
bool Arbiter::goes_on(const Stranger& anew, const Packet& packet) const noexcept {
  const std::int64_t ahead = distance(packet.preamble.sequence, strangers_.last(anew).preamble.sequence);
  return ahead <= static_cast<std::int64_t>(kRestartNumbers) || !may_be_late(packet);
}

/// Whether what has begun anew on the line has come to the numbers where the run fell silent: it goes on, not the run.
/// The feed has announced it, or the run had been silent for so long that it waits only until all ports have been read.
bool Arbiter::is_of_anew(const Packet& packet) noexcept {
  if (strangers_.empty() || since(packet.t_ns, alive_t_ns_) <= options_.window_ns) return false;
  const Stranger* const anew = stranger_of(packet);
  if (anew == nullptr || anew->fit != Fit::Behind || anew->is_late) return false;
  const bool is_after_silence =
      !is_foreign(*anew) && since(anew->begin_t_ns, alive_t_ns_) >= options_.switch_silence_ns;
  const bool is_announced_one = announced_.is_set && !anew->is_early && is_announced(strangers_.first(*anew));
  const bool has_neighbours = anew->successions + 1 >= Candidates::kEnough;
  // One number is enough if it is among those that a sender begins anew with, and the run's own address brought it with
  // other bytes than the run had.
  const Packet& first = strangers_.first(*anew);
  const bool begins =
      first.preamble.sequence <= kRestartNumbers && own_.meets(anew->sources) && match_of(first) == Match::Other;
  const bool is_believed = (is_after_silence && (has_neighbours || begins)) || (is_announced_one && has_neighbours);
  const bool has_line = (anew->lines & bit_of(index(packet.line))) != 0;
  const std::int64_t ahead = distance(packet.preamble.sequence, strangers_.last(*anew).preamble.sequence);
  return is_believed && has_line && anew->last_t_ns > alive_t_ns_ &&
         ahead <= static_cast<std::int64_t>(kRestartNumbers);
}

/// The run has been silent for long, and a line that had come further is back below, with what the run did not have; or
/// one that had brought nothing, with other bytes or a number that was given up long ago: nothing is as late, so a
/// sender has begun anew. Another address is not believed here: a stranger can send numbers near the run's, too.
bool Arbiter::comes_after_silence(const Packet& packet) noexcept {
  if (since(packet.t_ns, alive_t_ns_) < options_.switch_silence_ns) return false;
  if (packet.source != 0 && !own_.empty() && !own_.has(packet.source)) return false;
  const Match match = match_of(packet);
  if (!book_.has_heard(packet.line)) {
    const Entry& known = table_[number_of(packet)];
    const bool is_old =
        known.state == Entry::State::Lost && since(packet.t_ns, known.t_ns) >= options_.switch_silence_ns;
    return match == Match::Other || (match == Match::Unknown && is_old);
  }
  return match != Match::Same && distance(packet.preamble.sequence, book_.highest(packet.line)) < 0;
}

/// A line is back at the beginning, or where it was, with other bytes. The packet is below the run, within reach.
bool Arbiter::rewinds(const Packet& packet) noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  const bool has_come = book_.has_heard(packet.line);
  const std::uint64_t highest = book_.highest(packet.line);
  const bool restarts = is_restart(packet);
  const Stranger* stranger = stranger_of(packet);
  if (stranger != nullptr && (stranger->fit != Fit::Behind || !goes_on(*stranger, packet))) stranger = nullptr;
  const Entry& known = table_[number_of(packet)];
  // The line goes on with what it has begun already; not if it comes straight from a number of the run, of which the
  // other line has the same bytes: then its copy differs.
  const bool is_next = has_come && distance(sequence, highest) == 1 && is_shared(number_of(packet) - 1);
  // What is late of before the run's first number does not go on among its numbers.
  const auto is_beyond_first = [&] { return !before(number_of(strangers_.last(*stranger)), first_); };
  const bool has_turned = stranger != nullptr && stranger->is_confirmed && (!stranger->is_early || is_beyond_first()) &&
                          !is_next && (stranger->lines & bit_of(index(packet.line))) != 0;
  if (has_turned && (known.brought == 0 || match_of(packet) == Match::Other)) return true;
  // A packet near the line's position was delayed, or is a copy, even if it differs.
  const std::int64_t least = sequence <= kRestartNumbers ? 0 : -leap();
  if (!has_come || distance(sequence, highest) >= least) return false;
  if (stranger != nullptr) return true;
  // A number that was given up just now may be late, even if it is one of the first.
  // But a line that is late is late with all its numbers: it does not go back as far.
  const bool is_back_far = is_far_beyond(packet);
  const bool was_given_up = known.state == Entry::State::Lost && known.brought == 0;
  const bool is_soon = since(packet.t_ns, known.t_ns) < kLateWindows * options_.window_ns;
  if (restarts && !(was_given_up && !is_back_far && is_soon)) return true;
  // Given up so long ago that no line is as late, and the run has been silent for as long. A port without stamps may
  // have read the run's last packets after a pause: the run seems alive then, and only the age counts.
  const bool was_silent = since(packet.t_ns, alive_t_ns_) >= kLateWindows * options_.window_ns;
  const bool is_old = since(packet.t_ns, known.t_ns) >= options_.switch_silence_ns;
  if (was_given_up && is_back_far && !is_soon && (was_silent || is_old)) return true;
  // Copies that differ come from both lines, and soon.
  const bool is_other_line = (known.brought & bit_of(index(packet.line))) == 0;
  if (!has_both_lines()) return !is_other_line && !is_soon && is_back_far;
  // Chunks of a number that the line passed long ago, and is far beyond, with other bytes.
  if (options_.chunks) return is_back_far && !is_soon && match_of(packet) == Match::Other;
  // The line has yet to bring the number, and has not come far beyond it: this is its copy, however late.
  if (is_other_line && !restarts && !is_back_far) return false;
  const bool is_copy = is_other_line || known.in_conflict != 0;
  return known.brought != 0 && !(is_copy && is_soon) && known.check != check_for(packet);
}

}  // namespace stopbit::arbitrate
