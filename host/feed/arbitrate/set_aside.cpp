// Packets of strangers are set aside, and dropped when they come to nothing or there is no room.

#include "host/feed/arbitrate/arbiter.hpp"

#include <algorithm>
#include <array>

#include "host/feed/arbitrate/rules.hpp"

namespace stopbit::arbitrate {
namespace {

/// Arrivals of the numbers last seen on one line.
class Arrivals {
 public:
  void add(std::uint64_t t_ns) noexcept { t_ns_[count_++ % t_ns_.size()] = t_ns; }
  /// Whether they are enough to tell, and most came after `t_ns`: some may have been delayed.
  [[nodiscard]] bool are_after(std::uint64_t t_ns) const noexcept {
    const auto after = std::ranges::count_if(t_ns_, [&](std::uint64_t arrival) { return arrival > t_ns; });
    return count_ >= t_ns_.size() && static_cast<std::size_t>(after) > t_ns_.size() / 2;
  }

 private:
  std::array<std::uint64_t, 8> t_ns_ = {};
  std::size_t count_ = 0;
};

}  // namespace

/// The one that the packet continues, or is a copy of a packet of.
Stranger* Arbiter::stranger_of(const Packet& packet) noexcept {
  if (strangers_.empty()) return nullptr;
  Stranger* found = nullptr;
  for (Stranger& stranger : strangers_) {
    if (stranger.fit == Fit::InRun || stranger.sender != packet.preamble.sender) continue;
    if (distance(packet.preamble.sequence, strangers_.last(stranger).preamble.sequence) > leap() ||
        distance(packet.preamble.sequence, strangers_.first(stranger).preamble.sequence) < -leap()) {
      continue;
    }
    if (!is_related(stranger, packet) && !strangers_.has_copy(stranger, packet)) continue;
    if (found == nullptr || is_outlived_by(*found, packet)) {
      found = &stranger;
    } else if (packet.source != 0 && !is_outlived_by(stranger, packet)) {  // it shows that both are the same
      run_.packets.duplicate += strangers_.merge(*found, stranger);
      refit(*found);
    }
  }
  return found;
}

/// Whether packets from there may be of the same sender as the stranger's.
bool Arbiter::is_related(const Stranger& stranger, const Packet& packet) const noexcept {
  const std::uint32_t source = packet.source;
  const Sources& sources = stranger.sources;
  if (options_.carousel || source == 0 || sources.empty() || sources.has(source)) return true;
  if ((stranger.lines & bit_of(index(packet.line))) == 0) return true;  // each line may have a sender of its own
  if (own_.has(source) && own_.meets(sources)) return true;
  return old_runs_.join(source, sources);
}

/// Whether something speaks for it: it is confirmed, or ahead of the run by no more than what it can hold. Random
/// numbers come on both lines, too; few of them come there.
bool Arbiter::is_likely(const Stranger& stranger) const noexcept {
  const std::int64_t ahead = distance(strangers_.first(stranger).preamble.sequence, table_.top() + 1);
  const bool is_sparse = options_.sequence_bits > 16;  // of 65,536 numbers too many are near by chance
  const bool is_lone = is_foreign(stranger) && stranger.packets == 1;
  return (stranger.is_confirmed && !is_lone) || (is_sparse && stranger.fit == Fit::Ahead && ahead <= reach());
}

/// Room for one more: a free place, or that of the one for which the least speaks, the oldest of them.
Stranger& Arbiter::new_stranger(const Packet& packet, Fit fit, Sink& sink) noexcept {
  Stranger* place = strangers_.begin();
  for (Stranger& stranger : strangers_) {
    if (stranger.fit == Fit::InRun) {
      place = &stranger;
      break;
    }
    // Many senders of random numbers must not push out the first packet after a loss, which has the run's address.
    const bool is_own = own_.meets(stranger.sources);
    const bool is_weaker = is_likely(stranger) != is_likely(*place) ? is_likely(*place)
                           : is_own != own_.meets(place->sources)   ? !is_own
                           : stranger.packets != place->packets     ? stranger.packets < place->packets
                                                                    : stranger.last_t_ns < place->last_t_ns;
    if (is_weaker) place = &stranger;
  }
  if (place->fit != Fit::InRun) drop(*place, sink);
  const std::uint64_t number = number_of(packet);
  strangers_.put(*place, {.fit = fit,
                          .is_confirmed = is_announced(packet),
                          .is_late = fit == Fit::Behind && !is_announced(packet) && leapt_.has(number),
                          .is_early = fit == Fit::Behind && is_before_run(number),
                          .is_given_up = was_given_up(packet) || may_be_late(packet),
                          .fills_holes = fit == Fit::Behind,
                          .sender = packet.preamble.sender,
                          .begin_t_ns = packet.t_ns,
                          .last_t_ns = packet.t_ns});
  return *place;
}

/// The stranger that the packet belongs to, with what the packet shows of it.
Stranger& Arbiter::group_of(const Packet& packet, Fit fit, Sink& sink) noexcept {
  Stranger* known = stranger_of(packet);
  if (known != nullptr && is_outlived_by(*known, packet)) {
    drop(*known, sink);
    known = nullptr;
  }
  Stranger& stranger = known != nullptr ? *known : new_stranger(packet, fit, sink);
  stranger.begin_t_ns = std::min(stranger.begin_t_ns, packet.t_ns);
  stranger.last_t_ns = std::max(stranger.last_t_ns, packet.t_ns);
  stranger.fills_holes = stranger.fills_holes && fills_hole(packet);
  stranger.line_top[index(packet.line)] = book_.highest(packet.line);
  if (!options_.carousel) stranger.sources.add(packet.source);
  stranger.lines = static_cast<std::uint8_t>(stranger.lines | bit_of(index(packet.line)));
  return stranger;
}

void Arbiter::set_aside(const Packet& packet, Fit fit, Sink& sink) noexcept {
  if (packet.payload.size() > options_.datagram_bytes) {
    ++run_.packets.malformed;
    return;
  }
  Stranger& stranger = group_of(packet, fit, sink);
  std::uint32_t below = strangers_.at_or_below(stranger, packet);
  if (below != kNone && strangers_.distance(packet.preamble, slots_[below].packet.preamble) == 0) {
    return note_second_copy(stranger, below, packet);
  }
  if (stranger.packets != 0) stranger.is_confirmed = true;  // by another number, or another chunk of the same
  if (stranger.packets >= Strangers::kOwnRoom && strangers_.in_common_room() >= options_.room_packets) {
    Stranger& largest = first_to_yield(stranger);
    // No room to wait for what a leap leaves out.
    Stranger* const lowest = is_foreign(largest) ? nullptr : first_to_accept();
    if (lowest != nullptr) {
      strangers_.release_if_empty(stranger);
      accept(*lowest, GapReason::Room, &packet, sink);
      return take(packet, sink);
    }
    if (&largest == &stranger && below == kNone) {  // it would be the first to go
      strangers_.note_dropped(stranger, packet.preamble.sequence);
      return count_in_vain(stranger, packet, 0, sink);
    }
    if (&largest == &stranger && below == stranger.first) below = kNone;
    strangers_.note_dropped(largest, strangers_.first(largest).preamble.sequence);
    drop_first(largest, sink);
  }
  strangers_.insert(stranger, packet, below);
  believe_successor(stranger, sink);
}

/// The slot has the packet's number and chunk already.
void Arbiter::note_second_copy(Stranger& stranger, std::uint32_t slot, const Packet& packet) noexcept {
  const Packet& held = slots_[slot].packet;
  if (held.line != packet.line) stranger.is_confirmed = true;  // a second copy on the same line proves nothing
  // The one that is held was the run's own, late or a second copy, and what begins anew has come to its number. Copies
  // of one number are not as far apart.
  const bool was_before = came_with_run(held.t_ns) && known_of(held) != nullptr &&
                          since(packet.t_ns, held.t_ns) > kLateWindows * options_.window_ns;
  if (stranger.fit == Fit::Behind && (was_before || match_of(held) == Match::Same || may_be_late(held)) &&
      !std::ranges::equal(held.payload, packet.payload)) {
    slots_.put(slot, packet);
  }
  ++run_.packets.duplicate;
}

/// There is no room: what nothing confirms goes first, then what takes the most room.
Stranger& Arbiter::first_to_yield(Stranger& in_need) noexcept {
  Stranger* largest = &in_need;
  for (Stranger& other : strangers_) {
    if (other.fit == Fit::InRun || other.packets <= Strangers::kOwnRoom) continue;
    const bool is_worse =
        other.is_confirmed != largest->is_confirmed ? largest->is_confirmed : other.packets > largest->packets;
    if (is_worse) largest = &other;
  }
  return *largest;
}

/// The lowest of those ahead that wait only for what they leave out; null if there is none.
Stranger* Arbiter::first_to_accept() noexcept {
  Stranger* lowest = nullptr;
  for (Stranger& other : strangers_) {
    if (other.fit != Fit::Ahead || other.packets == 0 || other.sender != sender_ || !other.is_confirmed ||
        is_refuted(other) || silent_enough_at(other) > until_t_ns_) {
      continue;
    }
    if (lowest == nullptr || strangers_.is_before(other, *lowest)) lowest = &other;
  }
  return lowest;
}

/// Several numbers one after the other, not far ahead: another sender has taken over, and some numbers were lost. Wild
/// numbers are hardly ever neighbours.
void Arbiter::believe_successor(Stranger& stranger, Sink& sink) noexcept {
  if (stranger.fit != Fit::Ahead || stranger.successions + 1 < Candidates::kEnough || !is_foreign(stranger)) return;
  if (distance(strangers_.begin_of(stranger), table_.top() + 1) > kFarLeaps * leap()) return;
  take_along(stranger, sink);
  own_.add(stranger.sources);
  place_strangers(sink);
}

/// The stranger was something late: the run has outlived it, and what comes now comes much later.
bool Arbiter::is_outlived_by(const Stranger& stranger, const Packet& packet) noexcept {
  // Both lines have brought other bytes than the run's, or one has brought neighbours; copies that differ come apart.
  const bool is_more = stranger.lines == 3 || stranger.successions != 0;
  if (stranger.is_confirmed && is_more && match_of(strangers_.first(stranger)) == Match::Other) return false;
  if (stranger.fit != Fit::Behind) return false;
  // What came late just before the run fell silent, and a sender that begins anew long after.
  if (was_passed(stranger)) return true;
  if (stranger.fills_holes && !fills_hole(packet) &&
      since(packet.t_ns, stranger.last_t_ns) > kLateWindows * options_.window_ns) {
    return true;
  }
  // What came with the run's last packets, late, and a sender that begins anew below it long after.
  const std::uint64_t late_ns = kLateWindows * options_.window_ns;
  if (is_restart(packet) && stranger.last_t_ns <= alive_t_ns_ + late_ns &&
      since(packet.t_ns, stranger.last_t_ns) > late_ns &&
      distance(packet.preamble.sequence, strangers_.first(stranger).preamble.sequence) < 0) {
    return true;
  }
  if (stranger.last_t_ns >= progress_t_ns_) return false;
  // What begins anew does not come to the numbers that the run has just given up, and to no other.
  if (stranger.fills_holes && !fills_hole(packet)) return true;
  // What begins anew with one of the first numbers does not have brought much higher ones before.
  if (is_restart(packet) && distance(strangers_.first(stranger).preamble.sequence, packet.preamble.sequence) >
                                static_cast<std::int64_t>(kRestartNumbers)) {
    return true;
  }
  // Both lines have brought it, and it goes on with its next number: whatever its time says, it is no late copy.
  if (stranger.lines == 3 && distance(packet.preamble.sequence, strangers_.last(stranger).preamble.sequence) == 1) {
    return false;
  }
  return since(packet.t_ns, alive_t_ns_) > kLateWindows * options_.window_ns;
}

/// Whether one of its lines has gone on in the run since, by more than what can overtake a packet.
bool Arbiter::was_passed(const Stranger& stranger) const noexcept {
  for (const Line line : {Line::A, Line::B}) {
    if ((stranger.lines & bit_of(index(line))) == 0 || !book_.has_heard(line)) continue;
    if (static_cast<std::int64_t>(book_.highest(line) - stranger.line_top[index(line)]) > leap()) return true;
  }
  return false;
}

/// Drops the packet with the lowest number.
void Arbiter::drop_first(Stranger& stranger, Sink& sink) noexcept {
  const std::uint32_t slot = strangers_.unlink_first(stranger);
  count_in_vain(stranger, slots_[slot].packet, stranger.is_late ? since(latest_t_ns_, leapt_.t_ns) : 0, sink);
  slots_.free(slot);
}

/// Among the packets of what begins anew may be late ones and second copies of the present run's that came with it.
void Arbiter::drop_leftovers(Stranger& stranger, Sink& sink) noexcept {
  if (stranger.fit != Fit::Behind) return;
  const auto is_of_run = [&](const Packet& packet) {
    return came_with_run(packet.t_ns) && match_of(packet) == Match::Same;
  };
  // All may be the same: then it is a run that repeats its data.
  std::uint32_t last = stranger.first;
  while (last != kNone && is_of_run(slots_[last].packet)) last = slots_[last].newer;
  while (last != kNone && stranger.first != last) drop_leftover(stranger, stranger.first, sink);
  // One that came long before the number below it; or, if the run has passed its number, before most of those below it
  // that its line has brought.
  std::array<Arrivals, kLines> below_it;
  for (std::uint32_t slot = last; slot != kNone;) {
    const Packet& packet = slots_[slot].packet;
    const std::uint32_t above = slots_[slot].newer;
    const std::uint32_t below = slots_[slot].older;
    Arrivals& lower = below_it[index(packet.line)];
    const bool is_copy =
        below != kNone && is_of_run(packet) && since(slots_[below].packet.t_ns, packet.t_ns) > options_.window_ns;
    const bool may_be_leftover = came_with_run(packet.t_ns) && known_of(packet) != nullptr;
    if (is_copy || (may_be_leftover && lower.are_after(packet.t_ns + options_.window_ns))) {
      drop_leftover(stranger, slot, sink);
    } else {
      lower.add(packet.t_ns);
    }
    slot = above;
  }
}

void Arbiter::drop_leftover(Stranger& stranger, std::uint32_t slot, Sink& sink) noexcept {
  const Packet& packet = slots_[slot].packet;
  strangers_.unlink(stranger, slot);
  if (was_given_up(packet)) {
    count_late(packet, 0, sink);
  } else {
    ++run_.packets.duplicate;
  }
  slots_.free(slot);
}

void Arbiter::drop(Stranger& stranger, Sink& sink) noexcept {
  while (stranger.packets != 0) drop_first(stranger, sink);
  strangers_.release_if_empty(stranger);
}

/// Before a leap: what the run has outlived is late, or a copy, and nothing that the leap could go on to.
void Arbiter::drop_outlived(Sink& sink) noexcept {
  for (Stranger& stranger : strangers_) {
    if (stranger.fit == Fit::Behind && !stranger.is_late && stranger.last_t_ns < alive_t_ns_) drop(stranger, sink);
  }
}

/// Whether its number is one that the run has just given up, but not in a leap, after which many others may come.
bool Arbiter::fills_hole(const Packet& packet) const noexcept {
  const Entry* const known = known_of(packet);
  return known != nullptr && known->brought == 0 && known->state == Entry::State::Lost &&
         !leapt_.has(number_of(packet)) && since(packet.t_ns, known->t_ns) < kLateWindows * options_.window_ns;
}

/// Whether it may be late, or a second copy on the only line, of which the bytes are not compared.
bool Arbiter::may_be_late(const Packet& packet) const noexcept {
  if (fills_hole(packet)) return true;
  const Entry* const known = known_of(packet);
  return !has_both_lines() && known != nullptr && known->brought != 0 &&
         since(packet.t_ns, known->t_ns) < kLateWindows * options_.window_ns;
}

/// Whether it came before the run fell silent, or soon after.
bool Arbiter::came_with_run(std::uint64_t t_ns) const noexcept {
  return t_ns <= alive_t_ns_ + kLateWindows * options_.window_ns;
}

/// Whether its number is one of the run's that were given up.
bool Arbiter::was_given_up(const Packet& packet) const noexcept {
  const Entry* const known = known_of(packet);
  return known != nullptr && known->state == Entry::State::Lost;
}

/// What is known of its number, if the run has passed it within reach; else null.
const Entry* Arbiter::known_of(const Packet& packet) const noexcept {
  const std::int64_t ahead = distance(packet.preamble.sequence, next_);
  if (!running_ || packet.preamble.sender != sender_ || ahead >= 0 || ahead < -reach()) return nullptr;
  return &table_[number_of(packet)];
}

/// A packet of a stranger that comes to nothing.
void Arbiter::count_in_vain(const Stranger& stranger, const Packet& packet, std::uint64_t late_ns,
                            Sink& sink) noexcept {
  if (stranger.is_late || stranger.is_early || was_given_up(packet)) {
    count_late(packet, late_ns, sink);
  } else {
    ++run_.packets.malformed;
  }
}

}  // namespace stopbit::arbitrate
