#include "host/arbitrate/arbiter.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

namespace stopbit::arbitrate {
namespace {

constexpr std::uint64_t kRestartNumbers = 16;  ///< A sender that begins anew begins with one of these.
constexpr std::uint64_t kJudgeSteps = 32;
constexpr std::size_t kMinHistory = 1'024;
constexpr std::size_t kMaxHistory = std::size_t{1} << 24;

constexpr bool before(std::uint64_t left, std::uint64_t right) noexcept {
  return static_cast<std::int64_t>(left - right) < 0;
}
constexpr std::uint64_t lower(std::uint64_t left, std::uint64_t right) noexcept {
  return before(left, right) ? left : right;
}
constexpr std::uint64_t magnitude(std::int64_t value) noexcept {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}
constexpr std::uint8_t bit_of(std::size_t line) noexcept {
  return static_cast<std::uint8_t>(1U << line);
}
constexpr std::uint64_t all_chunks(std::uint16_t chunks) noexcept {
  return ~std::uint64_t{0} >> (64 - chunks);
}

/// FNV-1a. Two copies of a packet have the same one; two packets hardly ever. Never 0.
std::uint64_t hash_of(std::span<const std::byte> bytes) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3U;
  return hash | 1;
}

Options checked(Options options) noexcept {
  options.window_packets = std::max(options.window_packets, 1U);
  const std::size_t history = std::max<std::size_t>(options.history, std::size_t{4} * options.window_packets);
  options.history = static_cast<std::uint32_t>(std::bit_ceil(std::clamp(history, kMinHistory, kMaxHistory)));
  options.window_packets = std::min(options.window_packets, options.history / 4);
  return options;
}

void add(Account& to, const Account& what) noexcept {
  for (std::size_t i = 0; i < kLines; ++i) to.packets.received[i] += what.packets.received[i];
  to.packets.delivered += what.packets.delivered;
  to.packets.duplicate += what.packets.duplicate;
  to.packets.late += what.packets.late;
  to.packets.held += what.packets.held;
  to.packets.malformed += what.packets.malformed;
  to.packets.incomplete += what.packets.incomplete;
  to.numbers.expected += what.numbers.expected;
  to.numbers.delivered += what.numbers.delivered;
  to.numbers.recovered += what.numbers.recovered;
  to.numbers.lost += what.numbers.lost;
  to.numbers.held += what.numbers.held;
}

}  // namespace

Options options_for(const net::Framing& framing) {
  Options options;
  options.chunks = framing.kind == net::FramingKind::B3;
  if (framing.kind == net::FramingKind::Fixed) {
    options.sequence_bits = static_cast<std::uint8_t>(framing.sequence.bytes * 8);
  }
  return options;
}

void Arbiter::FreeDeleter::operator()(Entry* entries) const noexcept {
  std::free(entries);
}

Arbiter::Arbiter(const Options& options)
    : options_(checked(options)),
      sequence_mask_(options_.sequence_bits >= 64 ? ~std::uint64_t{0}
                                                  : (std::uint64_t{1} << options_.sequence_bits) - 1),
      // Zero pages of the system: a channel that stays short of numbers touches few of them.
      entries_(static_cast<Entry*>(std::calloc(options_.history, sizeof(Entry)))) {
  static_assert(std::is_trivially_copyable_v<Entry> && std::is_trivially_destructible_v<Entry>);
  if (entries_ == nullptr) throw std::bad_alloc();
  if (options_.chunks) masks_ = std::make_unique<ChunkMasks[]>(options_.history);
  // As many as may be held, and a candidate of each line.
  const std::size_t slots = options_.window_packets + kLines;
  slots_ = std::make_unique<Slot[]>(slots);
  payloads_ = std::make_unique_for_overwrite<std::byte[]>(slots * options_.datagram_bytes);
  for (std::size_t i = slots; i > 0; --i) free_slot(static_cast<std::uint32_t>(i - 1));
}

std::int64_t Arbiter::distance(std::uint64_t wire, std::uint64_t number) const noexcept {
  const std::uint64_t difference = (wire - number) & sequence_mask_;
  const std::uint64_t sign = sequence_mask_ ^ sequence_mask_ >> 1;
  return static_cast<std::int64_t>((difference & sign) != 0 ? difference | ~sequence_mask_ : difference);
}

// ---------------------------------------------------------------------------------------------------- the entrances

void Arbiter::offer(const Packet& packet, std::uint64_t now_ns, Sink& sink) noexcept {
  set_time(now_ns);
  close_windows(false, sink);
  close_candidates(false, sink);
  ++run_.packets.received[index(packet.line)];
  stats_[index(packet.line)].last_arrival_ns = now_ns_;
  const net::Preamble& preamble = packet.preamble;
  const std::uint16_t max_chunks = options_.chunks ? kMaxChunks : 1;
  if (preamble.error != ErrorCode::None || preamble.chunk == 0 || preamble.chunk > preamble.chunks ||
      preamble.chunks > max_chunks || (preamble.chunks > 1 && packet.payload.size() > options_.datagram_bytes)) {
    ++run_.packets.malformed;
  } else if (options_.sequence_bits == 0) {
    if (!running_) begin_run(NewRun::Reason::Start, &packet, 0, sink);
    gathering_ = false;
    ++run_.packets.delivered;
    ++run_.numbers.delivered;
    top_ = next_++;
    undecided_ = next_;
    sink.deliver(packet, epoch_);
  } else if (options_.carousel) {
    take_of_carousel(packet, sink);
  } else {
    take(packet, sink);
  }
}

void Arbiter::tick(std::uint64_t now_ns, Sink& sink) noexcept {
  set_time(now_ns);
  close_windows(false, sink);
  close_candidates(false, sink);
}

std::optional<std::uint64_t> Arbiter::next_deadline() const noexcept {
  std::uint64_t since = ~std::uint64_t{0};
  if (oldest_ != kNone) since = slots_[oldest_].since_ns;
  for (const Candidate& candidate : candidates_) {
    if (candidate.slot != kNone && candidate.fit != Fit::Behind)
      since = std::min(since, slots_[candidate.slot].since_ns);
  }
  if (since == ~std::uint64_t{0}) return std::nullopt;
  return since + options_.window_ns;
}

void Arbiter::finish(Sink& sink) noexcept {
  close_windows(true, sink);
  close_candidates(true, sink);
  close_windows(true, sink);  // what the candidates brought
  if (!running_) return;
  for (std::size_t line = 0; line < options_.lines.size(); ++line) judge(line, undecided_, ~std::uint64_t{0});
}

void Arbiter::restart(std::uint64_t sequence, std::uint64_t now_ns, Sink& sink) noexcept {
  set_time(now_ns);
  if (running_ && wire(next_) == sequence && oldest_ == kNone) return;  // said on both lines
  begin_run(running_ ? NewRun::Reason::SequenceReset : NewRun::Reason::Start, nullptr, sequence, sink);
}

Account Arbiter::account() const noexcept {
  Account account = run_;
  if (running_) {
    account.numbers.expected = top_ + 1 - first_;
    account.numbers.held = top_ + 1 - undecided_;
  }
  return account;
}

Account Arbiter::total() const noexcept {
  Account sum = earlier_;
  add(sum, account());
  return sum;
}

std::optional<std::uint64_t> Arbiter::next_sequence() const noexcept {
  if (!running_) return std::nullopt;
  return wire(next_);
}

// ------------------------------------------------------------------------------------------ what a packet belongs to

Arbiter::Fit Arbiter::fit_of(const Packet& packet) noexcept {
  const net::Preamble& preamble = packet.preamble;
  const bool old_may_come = has_old_ && preamble.sender == old_sender_ && now_ns_ - alive_ns_ < options_.silence_ns;
  if (preamble.sender != sender_) return old_may_come ? Fit::OldRun : Fit::OtherSender;

  const std::int64_t ahead = distance(preamble.sequence, next_);
  const auto reach = static_cast<std::uint64_t>(options_.history / 2 - 1);
  const bool in_reach = magnitude(ahead) <= reach;
  if (old_may_come) {
    // A line that has not turned to the new run yet goes on with the old one, even if the two are close.
    const std::uint64_t from_old = magnitude(distance(preamble.sequence, old_next_));
    const bool turned = lines_[index(packet.line)].heard;
    if (from_old <= reach && (!in_reach || (!turned && from_old < magnitude(ahead)))) return Fit::OldRun;
  }
  if (rewinds(packet)) return Fit::Behind;
  if (in_reach) return Fit::InRun;
  return ahead > 0 ? Fit::Ahead : Fit::Behind;
}

/// A line that was far ahead is back at the beginning.
bool Arbiter::rewinds(const Packet& packet) const noexcept {
  const LineState& line = lines_[index(packet.line)];
  const auto margin = static_cast<std::int64_t>(std::max<std::uint64_t>(options_.window_packets, kRestartNumbers));
  return packet.preamble.sequence <= kRestartNumbers + options_.window_packets && line.heard &&
         packet.preamble.sequence < wire(line.highest) && distance(packet.preamble.sequence, line.highest) < -margin &&
         (packet.preamble.sequence <= kRestartNumbers || candidates_[index(packet.line)].slot != kNone);
}

/// Whether two packets far from the run belong together. A second copy on the same line proves nothing.
bool Arbiter::confirms(const Packet& packet, const Packet& candidate) const noexcept {
  if (packet.preamble.sender != candidate.preamble.sender) return false;
  const std::int64_t apart = distance(packet.preamble.sequence, candidate.preamble.sequence);
  if (apart == 0 && packet.line == candidate.line && packet.preamble.chunk == candidate.preamble.chunk) return false;
  return magnitude(apart) <= std::max<std::uint64_t>(options_.window_packets, kRestartNumbers);
}

void Arbiter::take(const Packet& packet, Sink& sink) noexcept {
  if (!running_) begin_run(NewRun::Reason::Start, &packet, packet.preamble.sequence, sink);
  const Fit fit = fit_of(packet);
  if (fit == Fit::OldRun) {
    ++run_.packets.late;
  } else if (fit != Fit::InRun) {
    take_stranger(packet, fit, sink);
  } else {
    Candidate& candidate = candidates_[index(packet.line)];
    if (candidate.slot != kNone) {  // the line goes on as before
      free_slot(candidate.slot);
      candidate.slot = kNone;
      --run_.packets.held;
      ++run_.packets.malformed;
    }
    place(packet, next_ + static_cast<std::uint64_t>(distance(packet.preamble.sequence, next_)), sink);
  }
}

void Arbiter::take_stranger(const Packet& packet, Fit fit, Sink& sink) noexcept {
  for (const Candidate& candidate : candidates_) {
    if (candidate.slot == kNone || candidate.fit != fit || !confirms(packet, slots_[candidate.slot].packet)) continue;
    const std::uint64_t other = slots_[candidate.slot].packet.preamble.sequence;
    const bool is_lower = distance(packet.preamble.sequence, other) < 0;
    accept(fit, packet, is_lower ? packet.preamble.sequence : other, sink);
    if (!is_lower) place_candidates(sink);
    place(packet, next_ + static_cast<std::uint64_t>(distance(packet.preamble.sequence, next_)), sink);
    place_candidates(sink);
    return;
  }
  Candidate& mine = candidates_[index(packet.line)];
  if (packet.payload.size() > options_.datagram_bytes) {
    ++run_.packets.malformed;
    return;
  }
  if (mine.slot != kNone) {
    const net::Preamble& known = slots_[mine.slot].packet.preamble;
    if (known.sender == packet.preamble.sender && known.sequence == packet.preamble.sequence &&
        known.chunk == packet.preamble.chunk) {
      ++run_.packets.duplicate;
      return;
    }
  }
  if (mine.slot != kNone) {
    free_slot(mine.slot);
    --run_.packets.held;
    ++run_.packets.malformed;
  }
  mine = {fit, take_slot(packet, 0)};
  ++run_.packets.held;
}

/// Makes the run the one to which `sequence` belongs. `packet` is in hand.
void Arbiter::accept(Fit fit, const Packet& packet, std::uint64_t sequence, Sink& sink) noexcept {
  if (fit == Fit::Ahead) {
    jump(next_ + static_cast<std::uint64_t>(distance(sequence, next_)), sink);
  } else {
    begin_run(fit == Fit::OtherSender ? NewRun::Reason::Sender : NewRun::Reason::SequenceReset, &packet, sequence,
              sink);
  }
}

/// Nothing has refuted the candidate for the length of the window.
void Arbiter::accept_alone(std::size_t line, Sink& sink) noexcept {
  const Candidate candidate = candidates_[line];
  candidates_[line].slot = kNone;
  --run_.packets.held;
  const Packet packet = slots_[candidate.slot].packet;
  accept(candidate.fit, packet, packet.preamble.sequence, sink);
  place(packet, next_ + static_cast<std::uint64_t>(distance(packet.preamble.sequence, next_)), sink);
  free_slot(candidate.slot);
  place_candidates(sink);
}

/// Those that belong to the run by now.
void Arbiter::place_candidates(Sink& sink) noexcept {
  for (Candidate& candidate : candidates_) {
    if (candidate.slot == kNone) continue;
    const Packet packet = slots_[candidate.slot].packet;
    const std::int64_t ahead = distance(packet.preamble.sequence, next_);
    if (packet.preamble.sender != sender_ || magnitude(ahead) > static_cast<std::uint64_t>(reach())) continue;
    const std::uint32_t slot = candidate.slot;
    candidate.slot = kNone;
    --run_.packets.held;
    place(packet, next_ + static_cast<std::uint64_t>(ahead), sink);
    free_slot(slot);
  }
}

void Arbiter::close_candidates(bool everything, Sink& sink) noexcept {
  for (std::size_t line = 0; line < kLines; ++line) {
    Candidate& candidate = candidates_[line];
    if (candidate.slot == kNone) continue;
    if (candidate.fit != Fit::Behind) {
      if (everything || slots_[candidate.slot].since_ns + options_.window_ns <= now_ns_) accept_alone(line, sink);
    } else if (everything) {
      free_slot(candidate.slot);
      candidate.slot = kNone;
      --run_.packets.held;
      ++run_.packets.late;
    }
  }
}

// --------------------------------------------------------------------------------------------------------- carousels

void Arbiter::take_of_carousel(const Packet& packet, Sink& sink) noexcept {
  if (!admit_to_cycle(packet, sink)) {
    ++run_.packets.late;
    return;
  }
  const std::int64_t ahead = distance(packet.preamble.sequence, next_);
  const std::uint64_t number = next_ + static_cast<std::uint64_t>(ahead);
  if (magnitude(ahead) <= static_cast<std::uint64_t>(reach())) {
    place(packet, number, sink);
  } else if (ahead > 0) {
    jump(number, sink);
    place(packet, number, sink);
  } else {
    ++run_.packets.late;
  }
}

/// Whether the packet is of the cycle that is followed; begins the next one when its time has come.
///
/// Each line counts its own cycles. One line leads; the other's cycle is the same if it began within the window of the
/// leader's, before it or after. A line that is out of step is ignored, as its numbers stand for other data, until the
/// leader is silent.
bool Arbiter::admit_to_cycle(const Packet& packet, Sink& sink) noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  LineState& line = lines_[index(packet.line)];
  const auto begin = [&] {
    const bool is_start = !running_;
    for (LineState& other : lines_) {
      // Out of step so far, and a little earlier than the leader in this cycle.
      const bool returns =
          other.has_cycle && other.cycle != cycle_ && now_ns_ - other.cycle_opened_ns <= options_.window_ns;
      if (&other != &line && returns) other.cycle = cycle_ + 1;
    }
    ++cycle_;
    cycle_began_ns_ = now_ns_;
    cycle_leader_ = packet.line;
    begin_run(is_start ? NewRun::Reason::Start : NewRun::Reason::Cycle, &packet, sequence, sink);
    line.cycle = cycle_;
    return true;
  };
  const std::uint64_t hash = sequence == 1 ? hash_of(packet.payload) : 0;

  bool opens = false;
  if (!line.has_cycle) {
    line.has_cycle = true;
    line.cycle_highest = sequence;
    line.first_packet_hash = hash;
    line.first_packet_ns = now_ns_;
    if (!running_) return begin();
    // In step if it stands about where the leader stands; otherwise its next cycle will tell.
    const bool in_step = magnitude(distance(sequence, next_)) <= options_.window_packets;
    line.cycle = in_step ? cycle_ : cycle_ - 1;
    if (in_step) return true;
    opens = sequence == 1;
  } else if (sequence == 1) {
    // A second copy has the same bytes and comes soon. One that was overtaken by the next few comes when there was
    // none.
    const bool is_overtaken = line.first_packet_hash == 0 && line.cycle_highest <= options_.window_packets;
    const bool is_copy = line.first_packet_hash == hash && now_ns_ - line.first_packet_ns <= options_.window_ns;
    opens = line.cycle_highest > 1 && !is_overtaken && !is_copy;
    line.first_packet_hash = hash;
    line.first_packet_ns = now_ns_;
  } else {
    opens = sequence + options_.window_packets < line.cycle_highest;  // number 1 was lost
    if (opens) line.first_packet_hash = 0;
  }
  line.cycle_highest = opens ? sequence : std::max(line.cycle_highest, sequence);
  if (opens) line.cycle_opened_ns = now_ns_;
  if (!opens) return line.cycle == cycle_;
  if (line.cycle == cycle_) return begin();
  if (now_ns_ - cycle_began_ns_ <= options_.window_ns) {
    line.cycle = cycle_;
    return true;
  }
  return now_ns_ - alive_ns_ >= options_.silence_ns ? begin() : false;
}

// -------------------------------------------------------------------------------------------------------------- runs

void Arbiter::begin_run(NewRun::Reason reason, const Packet* packet, std::uint64_t sequence, Sink& sink) noexcept {
  NewRun run{.reason = reason,
             .sender = packet != nullptr ? packet->preamble.sender : sender_,
             .sequence = sequence,
             .now_ns = now_ns_,
             .packet = packet != nullptr ? packet->number : 0,
             .before = {}};
  // Packets that nothing has become of yet are of the new run.
  Packets carried;
  if (packet != nullptr) ++carried.received[index(packet->line)];
  for (std::size_t line = 0; line < kLines; ++line) {
    if (candidates_[line].slot == kNone) continue;
    ++carried.received[line];
    ++carried.held;
  }
  for (std::size_t line = 0; line < kLines; ++line) run_.packets.received[line] -= carried.received[line];
  run_.packets.held -= carried.held;

  if (running_) {
    end_run(sink);
    run.before = account();
    ++epoch_;
    has_old_ = true;
    old_sender_ = sender_;
    old_next_ = next_;
  } else {
    // What came before the first number was malformed; it stays in sight.
    for (std::size_t line = 0; line < kLines; ++line) carried.received[line] += run_.packets.received[line];
    carried.malformed = run_.packets.malformed;
    run_ = {};
  }
  add(earlier_, run.before);
  run_ = {.packets = carried, .numbers = {}};
  run.epoch = epoch_;
  ++runs_;

  running_ = true;
  gathering_ = options_.ordered && packet != nullptr;
  sender_ = run.sender;
  first_ = undecided_ = next_ = sequence;
  top_ = sequence - 1;
  alive_ns_ = now_ns_;
  for (LineState& line : lines_) {
    line.heard = false;
    line.highest = 0;
    line.judged = sequence;
  }
  if (dirty_) {
    std::memset(static_cast<void*>(entries_.get()), 0, options_.history * sizeof(Entry));
    if (masks_) std::fill_n(masks_.get(), options_.history, ChunkMasks{});
  }
  dirty_ = true;
  if (reason == NewRun::Reason::SequenceReset) {
    sink.reset(run);
  } else {
    sink.epoch(run);
  }
}

void Arbiter::end_run(Sink& sink) noexcept {
  close_windows(true, sink);
  for (std::size_t line = 0; line < options_.lines.size(); ++line) judge(line, undecided_, ~std::uint64_t{0});
}

/// The run goes on at a number far ahead.
void Arbiter::jump(std::uint64_t number, Sink& sink) noexcept {
  close_windows(true, sink);
  advance(number - 1);
  next_ = number;
  if (options_.ordered) {
    gathering_ = true;  // lower ones may still come: the gap is told when they cannot any more
  } else {
    end_gathering(sink);
  }
}

// ------------------------------------------------------------------------------------------------------ inside a run

/// While packets are gathered, a lower number may become the first.
bool Arbiter::may_lower(std::uint64_t number) const noexcept {
  const bool is_start = first_ == next_;
  return gathering_ && next_ - number <= options_.window_packets &&
         top_ - number < static_cast<std::uint64_t>(reach()) && (is_start || !before(number, undecided_));
}

void Arbiter::place(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  alive_ns_ = now_ns_;
  if (before(top_, number)) advance(number);
  if (packet.preamble.chunks > 1 || options_.chunks) {
    const Entry& known = entry(number);
    if (known.chunks != 0 && known.chunks != packet.preamble.chunks) {
      ++run_.packets.malformed;
      return;
    }
  }
  if (before(number, next_) && may_lower(number)) {
    if (first_ == next_) {
      first_ = undecided_ = number;
      for (LineState& line : lines_) line.judged = number;
    }
    next_ = number;
  }

  const bool is_first = note_copy(packet, number);
  if (!is_first) {
    ++run_.packets.duplicate;
  } else if (before(number, next_)) {
    ++run_.packets.late;
    const Entry& known = entry(number);
    if (known.state == State::Lost) late_by_.add(now_ns_ - known.since_ns);
  } else if (is_whole(number) && (!options_.ordered || (number == next_ && !gathering_))) {
    place_whole(packet, number, sink);
  } else if (packet.payload.size() > options_.datagram_bytes) {  // cannot be held: the window closes on it
    if (gathering_) end_gathering(sink);
    while (before(next_, number)) give_up_to(number - 1, sink);
    place_whole(packet, number, sink);
  } else {
    hold(packet, number);
    if (!gathering_) drain(sink);
    while (waiting_ >= options_.window_packets) close_oldest(sink);
  }
  const LineState& line = lines_[index(packet.line)];
  if (!gathering_ && index(packet.line) < options_.lines.size()) {
    judge(index(packet.line), lower(undecided_, line.highest - options_.window_packets), kJudgeSteps);
  }
}

bool Arbiter::note_copy(const Packet& packet, std::uint64_t number) noexcept {
  const std::size_t index_of_line = index(packet.line);
  LineState& line = lines_[index_of_line];
  LineStats& stats = stats_[index_of_line];
  Entry& known = entry(number);
  if (!line.heard || before(line.highest, number)) line.highest = number;
  line.heard = true;
  stats.last_sequence = wire(line.highest);

  bool is_first = known.brought == 0;
  bool line_has_it = true;
  if (options_.chunks) {
    ChunkMasks& seen = masks(number);
    const std::uint64_t chunk = std::uint64_t{1} << (packet.preamble.chunk - 1);
    is_first = ((seen[0] | seen[1] | seen[2]) & chunk) == 0;
    seen[index_of_line] |= chunk;
    line_has_it = seen[index_of_line] == all_chunks(packet.preamble.chunks);
  }
  if (known.chunks == 0 && known.state == State::Open) known.since_ns = now_ns_;
  known.chunks = static_cast<std::uint8_t>(packet.preamble.chunks);

  const std::uint8_t mine = bit_of(index_of_line);
  if (!line_has_it || (known.brought & mine) != 0) return is_first;
  ++stats.brought;
  const std::uint8_t other_line = bit_of(index(packet.line == Line::A ? Line::B : Line::A));
  if (known.brought == 0) {
    ++stats.first_copies;
  } else if (packet.line != Line::Replay && (known.brought & other_line) != 0 && known.state != State::Lost) {
    stats.behind.add(now_ns_ - known.since_ns);
  }
  known.brought |= mine;
  if (!before(number, first_) && before(number, line.judged)) {  // counted as missing before
    --stats.missing;
    if (known.state == State::Delivered) --stats.saved;
  }
  return is_first;
}

bool Arbiter::is_whole(std::uint64_t number) noexcept {
  if (!options_.chunks) return true;
  const ChunkMasks& seen = masks(number);
  const std::uint8_t chunks = entry(number).chunks;
  return chunks != 0 && (seen[0] | seen[1] | seen[2]) == all_chunks(chunks);
}

/// A number that is whole with this packet, and whose turn it is; in fast mode, any from next_ on.
void Arbiter::place_whole(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  const bool is_only_chunk = entry(number).held == 0;
  if (!is_only_chunk) hold(packet, number);
  while (before(next_, number)) give_up_to(number - 1, sink);
  if (!is_only_chunk) return drain(sink);
  ++run_.packets.delivered;
  sink.deliver(packet, epoch_);
  complete(number, packet.line, sink);
}

void Arbiter::complete(std::uint64_t number, Line line, Sink& sink) noexcept {
  entry(number).state = State::Delivered;
  ++(line == Line::Replay ? run_.numbers.recovered : run_.numbers.delivered);
  next_ = undecided_ = number + 1;
  if (oldest_ != kNone) drain(sink);
}

/// Delivers the held packets whose turn it is.
void Arbiter::drain(Sink& sink) noexcept {
  while (oldest_ != kNone && !before(top_, next_) && entry(next_).held != 0 && is_whole(next_)) {
    Line line = Line::A;
    while (entry(next_).held != 0) {
      const std::uint32_t slot = entry(next_).held - 1;
      unhold(slot);
      ++run_.packets.delivered;
      line = slots_[slot].packet.line;
      sink.deliver(slots_[slot].packet, epoch_);
      free_slot(slot);
    }
    entry(next_).state = State::Delivered;
    ++(line == Line::Replay ? run_.numbers.recovered : run_.numbers.delivered);
    undecided_ = ++next_;
  }
}

void Arbiter::end_gathering(Sink& sink) noexcept {
  gathering_ = false;
  if (undecided_ != next_) {
    const std::uint64_t first = undecided_;
    const std::uint64_t oldest_known = top_ + 1 - options_.history;
    for (std::uint64_t number = before(first, oldest_known) ? oldest_known : first; before(number, next_); ++number) {
      lose(number);
    }
    undecided_ = next_;
    declare(first, next_ - first, sink);
  }
  drain(sink);
}

void Arbiter::give_up_to(std::uint64_t limit, Sink& sink) noexcept {
  const std::uint64_t first = next_;
  while (!before(limit, next_) && !(entry(next_).held != 0 && is_whole(next_))) lose(next_++);
  undecided_ = next_;
  if (next_ != first) declare(first, next_ - first, sink);
  drain(sink);
}

void Arbiter::lose(std::uint64_t number) noexcept {
  Entry& known = entry(number);
  while (known.held != 0) {
    const std::uint32_t slot = known.held - 1;
    unhold(slot);
    free_slot(slot);
    ++run_.packets.incomplete;
  }
  known.state = State::Lost;
  known.since_ns = now_ns_;
}

void Arbiter::declare(std::uint64_t first, std::uint64_t count, Sink& sink) noexcept {
  run_.numbers.lost += count;
  ++gaps_;
  Gap gap{.first = wire(first), .count = count, .epoch = epoch_, .now_ns = now_ns_, .lines = {}};
  for (std::size_t i = 0; i < gap.lines.size(); ++i) {
    const LineState& line = lines_[i];
    gap.lines[i] = {.heard = line.heard,
                    .passed = line.heard && !before(line.highest, first + count),
                    .last_sequence = line.heard ? wire(line.highest) : 0,
                    .last_arrival_ns = stats_[i].last_arrival_ns};
  }
  sink.gap(gap);
}

void Arbiter::close_oldest(Sink& sink) noexcept {
  if (gathering_) {
    end_gathering(sink);
  } else {
    give_up_to(slots_[oldest_].number, sink);
  }
}

void Arbiter::close_windows(bool everything, Sink& sink) noexcept {
  while (oldest_ != kNone && (everything || slots_[oldest_].since_ns + options_.window_ns <= now_ns_)) {
    close_oldest(sink);
  }
  if (everything && gathering_) end_gathering(sink);
}

/// Makes room for the numbers up to `top`, which is above top_.
void Arbiter::advance(std::uint64_t top) noexcept {
  const std::uint64_t oldest_kept = top + 1 - options_.history;
  for (std::size_t line = 0; line < options_.lines.size(); ++line) {
    judge(line, lower(undecided_, oldest_kept), ~std::uint64_t{0});
  }
  const std::uint64_t fresh = top - top_;
  if (fresh >= options_.history) {
    std::memset(static_cast<void*>(entries_.get()), 0, options_.history * sizeof(Entry));
    if (masks_) std::fill_n(masks_.get(), options_.history, ChunkMasks{});
  } else {
    for (std::uint64_t number = top_ + 1; number != top + 1; ++number) {
      entry(number) = {};
      if (masks_) masks(number) = {};
    }
  }
  top_ = top;
}

/// Counts what the line did not bring. Numbers that are not remembered any longer were passed over by a jump.
void Arbiter::judge(std::size_t line, std::uint64_t until, std::uint64_t max_steps) noexcept {
  LineState& state = lines_[line];
  if (!options_.lines[line]) return;
  const std::uint64_t oldest_known = top_ + 1 - options_.history;
  if (before(state.judged, oldest_known) && before(state.judged, until)) {
    const std::uint64_t to = lower(until, oldest_known);
    stats_[line].missing += to - state.judged;
    state.judged = to;
  }
  for (; before(state.judged, until) && max_steps > 0; ++state.judged, --max_steps) {
    const Entry& known = entry(state.judged);
    if ((known.brought & bit_of(line)) != 0) continue;
    ++stats_[line].missing;
    if (known.state == State::Delivered) ++stats_[line].saved;
  }
}

// ------------------------------------------------------------------------------------------------------------- slots

std::uint32_t Arbiter::take_slot(const Packet& packet, std::uint64_t number) noexcept {
  const std::uint32_t slot = free_;
  Slot& taken = slots_[slot];
  free_ = taken.next_chunk;
  std::byte* const bytes = payloads_.get() + std::size_t{slot} * options_.datagram_bytes;
  if (!packet.payload.empty()) std::memcpy(bytes, packet.payload.data(), packet.payload.size());
  taken = {.packet = packet, .number = number, .since_ns = now_ns_};
  taken.packet.payload = {bytes, packet.payload.size()};
  return slot;
}

void Arbiter::free_slot(std::uint32_t slot) noexcept {
  slots_[slot].next_chunk = free_;
  free_ = slot;
}

void Arbiter::hold(const Packet& packet, std::uint64_t number) noexcept {
  const std::uint32_t slot = take_slot(packet, number);
  Slot& taken = slots_[slot];
  taken.older = newest_;
  (newest_ != kNone ? slots_[newest_].newer : oldest_) = slot;
  newest_ = slot;

  // Among the chunks of its number; 1 + slot, as entries count.
  Entry& known = entry(number);
  std::uint32_t previous = kNone;
  std::uint32_t next = known.held - 1;  // kNone if there is none
  while (next != kNone && slots_[next].packet.preamble.chunk < packet.preamble.chunk) {
    previous = next;
    next = slots_[next].next_chunk;
  }
  taken.next_chunk = next;
  if (previous == kNone) {
    known.held = slot + 1;
  } else {
    slots_[previous].next_chunk = slot;
  }
  ++waiting_;
  ++run_.packets.held;
}

/// Takes the first held packet of its number out of all lists. It stays valid until free_slot.
void Arbiter::unhold(std::uint32_t slot) noexcept {
  const Slot& taken = slots_[slot];
  (taken.older != kNone ? slots_[taken.older].newer : oldest_) = taken.newer;
  (taken.newer != kNone ? slots_[taken.newer].older : newest_) = taken.older;
  entry(taken.number).held = taken.next_chunk + 1;
  --waiting_;
  --run_.packets.held;
}

}  // namespace stopbit::arbitrate
