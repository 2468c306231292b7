// A packet has its place in the run: it is delivered, held, or a copy, or late.

#include "host/feed/arbitrate/arbiter.hpp"

#include <algorithm>

namespace stopbit::arbitrate {
namespace {

constexpr std::uint64_t kJudgeSteps = 32;

}  // namespace

/// While packets are gathered, a lower number may become the first. What was skipped is no gap yet: as far below as
/// numbers are believed ahead.
bool Arbiter::may_lower(std::uint64_t number) const noexcept {
  const bool is_start = first_ == next_ && !has_floor_;
  const std::uint64_t most = is_start ? options_.window_packets : static_cast<std::uint64_t>(leap());
  return gathering_ && next_ - number <= most && table_.top() - number < static_cast<std::uint64_t>(reach()) &&
         (is_start || !before(number, undecided_));
}

/// The run has begun with its lowest number so far, or goes on with it after a leap.
void Arbiter::lower_to(std::uint64_t number) noexcept {
  if (first_ == next_) first_ = undecided_ = number;
  book_.begin_at(number);
  next_ = number;
}

/// After a silence a number below the latest one is no sign that the run goes on: a sender that begins anew has it,
/// too. The latest one again is, and so are the bytes that another line has brought.
bool Arbiter::shows_life(const Packet& packet, std::uint64_t number) noexcept {
  const bool is_below = before(number, table_.top());
  return !is_below || since(packet.t_ns, alive_t_ns_) < options_.switch_silence_ns || match_of(packet) == Match::Same;
}

void Arbiter::place(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  if (shows_life(packet, number)) alive_t_ns_ = std::max(alive_t_ns_, packet.t_ns);
  if (before(table_.top(), number)) {
    advance(number);
    progress_t_ns_ = std::max(progress_t_ns_, packet.t_ns);
  }
  if (packet.preamble.chunks > 1 || options_.chunks) {
    const Entry& known = table_[number];
    if (known.chunks != 0 && known.chunks != packet.preamble.chunks) {
      ++run_.packets.malformed;
      return;
    }
  }
  if (before(number, next_) && may_lower(number)) lower_to(number);

  if (!note_copy(packet, number, sink)) {
    place_copy(packet, number, sink);
  } else if (before(number, next_)) {
    place_late(packet, number, sink);
  } else {
    place_new(packet, number, sink);
  }
  if (!gathering_ && index(packet.line) < options_.lines.size()) {
    const std::uint64_t passed = book_.highest(packet.line) - options_.window_packets;
    book_.judge(index(packet.line), lower(undecided_, passed), kJudgeSteps);
  }
}

void Arbiter::place_copy(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  if (undecodable_.is_awaited && undecodable_.number == number) {
    retry(packet, number, sink);
  } else if (!keeps_copy(packet, number)) {
    ++run_.packets.duplicate;
  }
}

/// A number waits whose copies differ: the first one may not decode when its turn comes. Equal copies cost one look.
bool Arbiter::keeps_copy(const Packet& packet, std::uint64_t number) noexcept {
  return table_[number].in_conflict != 0 && !options_.chunks && held_.has(number) &&
         packet.payload.size() <= options_.datagram_bytes && held_.keep_copy(packet, number);
}

/// The first copy of a number that was given up, or passed.
void Arbiter::place_late(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  const Entry& known = table_[number];
  const bool was_lost = known.state == Entry::State::Lost;
  const std::uint64_t late_ns = was_lost ? since(packet.t_ns, known.t_ns) : 0;
  if (was_lost) late_by_.add(late_ns);
  count_late(packet, late_ns, sink);
}

bool Arbiter::recover(std::uint64_t sequence, std::uint16_t epoch) noexcept {
  ++run_.packets.received[index(Line::Replay)];
  const std::uint64_t number = next_ + static_cast<std::uint64_t>(distance(sequence, next_));
  const bool is_of_run = running_ && epoch == epoch_ && before(number, undecided_) && table_.remembers(number);
  Entry* const known = is_of_run ? &table_[number] : nullptr;
  if (known != nullptr && known->state == Entry::State::Delivered) {
    ++run_.packets.duplicate;
    return false;
  }
  if (known == nullptr || known->state != Entry::State::Lost) {
    ++run_.packets.late;
    return false;
  }
  known->state = Entry::State::Delivered;
  book_.note_recovered(number);
  ++run_.packets.delivered;
  --run_.numbers.lost;
  ++run_.numbers.recovered;
  return true;
}

/// The first copy of a number that is next, or will be.
void Arbiter::place_new(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  // It did not come to what was announced.
  if (announced_.is_set && since(packet.t_ns, announced_.t_ns) > options_.switch_silence_ns) announced_ = {};
  const bool is_turn = !options_.ordered || (number == next_ && !gathering_ && !undecodable_.is_awaited);
  if (is_turn && table_.is_whole(number)) {
    place_whole(packet, number, sink);
  } else if (packet.payload.size() > options_.datagram_bytes) {  // cannot be held: the window closes on it
    evidence_ = {GapReason::Room, packet.arrival_ns, packet.t_ns};
    if (gathering_) end_gathering(sink);
    while (before(next_, number)) give_up_to(number - 1, sink);
    place_whole(packet, number, sink);
  } else {
    held_.hold(packet, number);
    if (!gathering_) drain(sink);
    while (held_.count() > options_.room_packets) close_oldest(GapReason::Room, sink);
  }
}

bool Arbiter::note_copy(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  book_.note_number(packet.line, number);
  Entry& known = table_[number];
  bool is_first = known.brought == 0;
  bool line_has_it = true;
  if (options_.chunks) {
    const std::uint64_t chunk = std::uint64_t{1} << (packet.preamble.chunk - 1);
    is_first = (table_.chunks_brought(number) & chunk) == 0;
    std::uint64_t& seen = table_.masks(number)[index(packet.line)];
    seen |= chunk;
    line_has_it = seen == all_chunks(packet.preamble.chunks);
  }
  if (known.chunks == 0 && known.state == Entry::State::Open) known.t_ns = packet.t_ns;
  known.chunks = static_cast<std::uint8_t>(packet.preamble.chunks);
  if (!options_.chunks && has_both_lines()) {
    compare_copies(packet, number, is_first, sink);
  } else if ((options_.carousel || has_both_lines()) && is_first) {
    table_.set_check(number, packet.preamble.chunk, check_for(packet));
  }
  if (line_has_it) book_.note_whole(packet, number, first_);
  return is_first;
}

void Arbiter::compare_copies(const Packet& packet, std::uint64_t number, bool is_first, Sink& sink) noexcept {
  Entry& known = table_[number];
  const std::uint16_t check = check_for(packet);
  if (is_first) {
    known.check = check;
  } else if (known.check != check && known.in_conflict == 0) {
    known.in_conflict = 1;
    ++conflicts_;
    sink.conflict({.line = packet.line, .sequence = wire(number), .wall_ns = packet.arrival_ns});
  }
}

/// A number that is complete with this packet, and is next; in fast mode, any from next_ on.
void Arbiter::place_whole(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  const bool is_only_chunk = !held_.has(number);
  if (!is_only_chunk) held_.hold(packet, number);
  if (before(next_, number)) evidence_ = {GapReason::Overtaken, packet.arrival_ns, packet.t_ns};
  while (before(next_, number)) give_up_to(number - 1, sink);
  if (is_only_chunk && hand_on(packet, number, sink) != Handed::Waits) complete(number, packet.line);
  drain(sink);
}

Arbiter::Handed Arbiter::hand_on(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  ++run_.packets.delivered;
  undecodable_.is_awaited = false;
  if (sink.deliver(packet, epoch_)) return Handed::Decoded;
  // One other copy may come.
  const std::uint8_t awaited = packet.line == Line::A ? bit_of(index(Line::B)) : bit_of(index(Line::A));
  if (options_.chunks || packet.line == Line::Replay || !has_both_lines() || (table_[number].brought & awaited) != 0) {
    return Handed::Failed;
  }
  undecodable_ = {.is_awaited = true, .number = number, .t_ns = packet.t_ns};
  if (!options_.ordered) return Handed::Failed;  // it waits for nothing, but may be made good
  table_[number].state = Entry::State::Undecodable;
  return Handed::Waits;
}

/// Another copy of the number that did not decode.
void Arbiter::retry(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  const bool is_newest = options_.ordered ? number == next_ : number + 1 == next_;
  // The line's own copy is most likely the same again.
  const Entry& known = table_[number];
  const bool is_same = (known.brought & ~bit_of(index(packet.line)) & 3U) == 0 && known.in_conflict == 0;
  if (!is_newest || is_same) {
    ++run_.packets.duplicate;
    return;
  }
  undecodable_.is_awaited = false;
  ++run_.packets.delivered;
  (void)sink.deliver(packet, epoch_);
  if (!options_.ordered) return;
  complete(number, packet.line);
  drain(sink);
}

/// No other copy of the number that did not decode is waited for any longer.
void Arbiter::settle_undecodable(Sink& sink) noexcept {
  if (!options_.ordered) undecodable_.is_awaited = false;
  if (!undecodable_.is_awaited) return;
  undecodable_.is_awaited = false;
  if (!options_.ordered) return;
  complete(undecodable_.number, Line::A);
  drain(sink);  // what was held after it may not decode either; it has a window of its own
}

void Arbiter::complete(std::uint64_t number, Line line) noexcept {
  table_[number].state = Entry::State::Delivered;
  ++(line == Line::Replay ? run_.numbers.recovered : run_.numbers.delivered);
  next_ = undecided_ = number + 1;
}

/// Delivers the held packets that are next.
void Arbiter::drain(Sink& sink) noexcept {
  const auto waits_for_copy = [&] { return options_.ordered && undecodable_.is_awaited; };
  while (!held_.empty() && !waits_for_copy() && !before(table_.top(), next_) && held_.has(next_) &&
         table_.is_whole(next_)) {
    const std::uint64_t number = next_;
    Line line = Line::A;
    Handed handed = Handed::Failed;
    while (held_.has(number)) {
      const std::uint32_t slot = held_.take_first(number);
      if (slots_[slot].is_copy && handed == Handed::Decoded) {
        ++run_.packets.duplicate;
      } else {
        line = slots_[slot].packet.line;
        handed = hand_on(slots_[slot].packet, number, sink);
      }
      slots_.free(slot);
    }
    if (handed != Handed::Waits) complete(number, line);
  }
}

/// Makes room for the numbers up to `top`, which is above the present one.
void Arbiter::advance(std::uint64_t top) noexcept {
  book_.judge_all(lower(undecided_, table_.oldest_with(top)));
  table_.advance(top);
}

}  // namespace stopbit::arbitrate
