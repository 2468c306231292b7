#include "host/feed/arbitrate/cycles.hpp"

#include <algorithm>
#include <utility>

#include "host/feed/arbitrate/line_book.hpp"

namespace stopbit::arbitrate {

Cycles::Verdict Cycles::judge(const Packet& packet, const Seen& seen) noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  Cycle& line = lines_[index(packet.line)];
  const bool is_first = !line.is_known;
  const bool is_in_step = !is_first && line.number == present_;
  const bool is_opening = !is_first && opens(line, packet, seen.match, is_in_step);
  note(line, packet, is_first || is_opening);
  if (is_in_step && seen.match == Match::Same && std::exchange(line.has_been_led, false)) {
    line.highest = sequence;
    line.opened_ns = packet.t_ns;
  }

  // The line seemed to be in this cycle already, because it was read late: it is its copy of what the other has
  // brought.
  const bool is_copy = seen.match == Match::Same &&
                       (seen.is_new_to_line || (sequence == 1 && apart(packet.t_ns, began_ns_) <= options_.window_ns));
  // What came before the present cycle began is of no later one: the line is read late.
  const bool is_older = packet.t_ns + options_.window_ns < began_ns_;
  if (!seen.is_running || (is_opening && is_in_step && !is_copy && !is_older)) return Verdict::Begin;
  const auto joins = [&](bool is_same) {
    if (is_same && !is_in_step) line.highest = sequence;  // not that of the cycle that it was in
    line.number = is_same ? present_ : present_ - 1;
    return is_same;
  };
  if (seen.match != Match::Unknown) {
    if (joins(seen.match == Match::Same)) return Verdict::Join;
  } else if (is_in_step) {
    return Verdict::Join;
  } else if ((is_first && seen.is_near_next && !is_older) ||
             // A cycle that began long before is of a line that is read late: an earlier cycle, which has been
             // delivered.
             ((is_opening || (is_first && sequence == 1)) && apart(packet.t_ns, began_ns_) <= options_.window_ns)) {
    (void)joins(true);
    return Verdict::Join;
  }
  if (is_first) line.number = present_ - 1;  // its next cycle will tell
  return is_opening && seen.is_silent ? Verdict::Begin : Verdict::Ignore;
}

void Cycles::note(Cycle& line, const Packet& packet, bool is_new) const noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  // A number further ahead may be wild: it counts when others have confirmed it.
  const bool is_near = sequence <= line.highest + options_.window_packets;
  line.is_known = true;
  line.t_ns = std::max(line.t_ns, packet.t_ns);
  if (is_new) {
    line.highest = sequence;
    line.opened_ns = packet.t_ns;
    line.first_hash = 0;
  } else if (is_near) {
    line.highest = std::max(line.highest, sequence);
  }
  if (sequence == 1 && packet.preamble.chunk == 1) {
    line.first_hash = hash_of(packet.payload);
    line.first_packet_ns = packet.t_ns;
  }
}

void Cycles::begin(const Packet& packet, Match match) noexcept {
  Cycle& line = lines_[index(packet.line)];
  for (Cycle& other : lines_) {
    // Out of step so far, and a little earlier than the leader in this cycle. Where each cycle has data of its own, a
    // line that had the same is in step.
    const bool repeats = match != Match::Other && apart(other.opened_ns, began_ns_) > options_.window_ns;
    const bool is_ahead = other.number != present_ || repeats;
    const bool returns = other.is_known && is_ahead && apart(packet.t_ns, other.opened_ns) <= options_.window_ns;
    if (&other == &line || !returns) continue;
    other.number = present_ + 1;
    other.has_been_led = true;
  }
  ++present_;
  began_ns_ = packet.t_ns;
  line.number = present_;
  line.has_been_led = false;
}

void Cycles::reach(const Packet& packet) noexcept {
  Cycle& line = lines_[index(packet.line)];
  line.highest = std::max(line.highest, packet.preamble.sequence);
}

/// Whether the line begins a cycle with this packet: it is back at a number that it has passed, with other bytes or
/// after a pause. A delayed packet or a second copy comes within the window. Of a number in several chunks only the
/// first counts, but after a pause any of a number that the line has passed: the first may be lost.
bool Cycles::opens(const Cycle& line, const Packet& packet, Match match, bool is_in_step) const noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  if (sequence > line.highest) return false;
  const bool was_silent = since(packet.t_ns, line.t_ns) >= options_.window_ns;
  if (packet.preamble.chunk > 1 && !(was_silent && sequence < line.highest)) return false;
  if (is_in_step && match == Match::Other) return true;
  // The line's latest packet once more is a second copy, which may be read long after the first.
  if (!is_in_step && sequence == line.highest && sequence > 1) return false;
  // One wild packet must not end a cycle: the margin is what one packet can raise the highest by.
  const bool is_far = sequence + options_.window_packets < line.highest;
  // The same bytes: a copy, but for a cycle that repeats its data.
  if (is_in_step && match == Match::Same ? is_far && was_silent : is_far || was_silent) return true;
  if (sequence != 1 || line.highest == 1) return false;
  // Some of the next packets may have overtaken the first one, but not for longer than the window.
  if (line.first_hash == 0) return since(packet.t_ns, line.opened_ns) > options_.window_ns;
  // A second copy has the same bytes.
  return line.first_hash != hash_of(packet.payload) || since(packet.t_ns, line.first_packet_ns) > options_.window_ns;
}

}  // namespace stopbit::arbitrate
