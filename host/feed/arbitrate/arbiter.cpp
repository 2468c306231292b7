#include "host/feed/arbitrate/arbiter.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "microcode/base/hash.hpp"

namespace stopbit::arbitrate {
namespace {

constexpr std::uint64_t kRestartNumbers = 16;  ///< A sender that begins anew begins with one of these.
constexpr std::uint64_t kLateWindows = 4;      ///< A line that is late is hardly ever later than this.
constexpr std::uint64_t kJudgeSteps = 32;
constexpr std::size_t kMinHistory = 1'024;
constexpr std::size_t kMaxHistory = std::size_t{1} << 24;
constexpr std::uint32_t kMaxRoom = 65'536;
/// Leaps up to this are believed on the word of one packet: bursts of losses are as long, and a window gives them up.
constexpr std::int64_t kBelievedLeap = 64;
/// A leap that is more than this many times as long as what is believed hardly ever ends by chance where another run
/// has stopped.
constexpr std::int64_t kFarLeaps = 16;
/// No sender of a channel sends more than 100,000 packets a second for long.
constexpr std::uint64_t kNsPerSkippedNumber = 10'000;
/// A run of this many packets without a leap is hardly ever made of random numbers.
constexpr std::uint64_t kLongStretch = 8;
/// A sender that takes over with some numbers missing does so when the one before has been silent for this long.
constexpr std::uint64_t kTakeOverWindows = 2;
/// An address is the run's own when it has brought this many numbers that go on.
constexpr std::uint32_t kOwnNumbers = 3;
constexpr std::uint64_t kNever = ~std::uint64_t{0};

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
/// How long after `then` it is; 0 if it is before.
constexpr std::uint64_t since(std::uint64_t now, std::uint64_t then) noexcept {
  return now > then ? now - then : 0;
}
constexpr std::uint64_t apart(std::uint64_t left, std::uint64_t right) noexcept {
  return left > right ? left - right : right - left;
}

/// Two copies of a packet have the same one; two packets hardly ever. Never 0.
std::uint64_t hash_of(std::span<const std::byte> bytes) noexcept {
  return fnv1a(bytes) | 1;
}

/// Tells copies of a packet from others, but for one in 65,536. Two lanes, so that a long datagram costs a
/// multiplication for 16 bytes.
std::uint16_t check_of(std::span<const std::byte> bytes) noexcept {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
  std::uint64_t left = bytes.size();
  std::uint64_t right = kFactor;
  const auto mix = [](std::uint64_t lane, std::uint64_t word) { return std::rotl((lane ^ word) * kFactor, 29); };
  const std::byte* at = bytes.data();
  std::size_t rest = bytes.size();
  for (; rest >= 16; rest -= 16, at += 16) {
    std::uint64_t words[2];
    std::memcpy(words, at, sizeof(words));
    left = mix(left, words[0]);
    right = mix(right, words[1]);
  }
  std::uint64_t words[2] = {};
  if (rest != 0) std::memcpy(words, at, rest);
  const std::uint64_t sum = mix(mix(left, words[0]), right) ^ mix(right, words[1]);
  return static_cast<std::uint16_t>(sum ^ sum >> 16 ^ sum >> 32 ^ sum >> 48);
}

Options checked(Options options) noexcept {
  options.window_packets = std::clamp(options.window_packets, 1U, kMaxRoom);
  options.room_packets = std::clamp(options.room_packets, options.window_packets, kMaxRoom);
  const std::size_t history = std::max<std::size_t>(options.history, std::size_t{4} * options.room_packets);
  options.history = static_cast<std::uint32_t>(std::bit_ceil(std::clamp(history, kMinHistory, kMaxHistory)));
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
  // Those that wait, one that makes the room too small, and one on its way from the strangers to the run.
  const std::size_t slots = most_held(options_.room_packets) + 2;
  slots_ = std::make_unique<Slot[]>(slots);
  payloads_ = std::make_unique_for_overwrite<std::byte[]>(slots * options_.datagram_bytes);
  for (std::size_t i = slots; i > 0; --i) free_slot(static_cast<std::uint32_t>(i - 1));
}

std::int64_t Arbiter::distance(std::uint64_t wire, std::uint64_t number) const noexcept {
  const std::uint64_t difference = (wire - number) & sequence_mask_;
  const std::uint64_t sign = sequence_mask_ ^ sequence_mask_ >> 1;
  return static_cast<std::int64_t>((difference & sign) != 0 ? difference | ~sequence_mask_ : difference);
}

std::int64_t Arbiter::leap() const noexcept {
  return std::max<std::int64_t>(kBelievedLeap, options_.window_packets);
}

// ---------------------------------------------------------------------------------------------------- the entrances

void Arbiter::offer(const Packet& packet, Sink& sink) noexcept {
  latest_t_ns_ = std::max(latest_t_ns_, packet.t_ns);
  ++run_.packets.received[index(packet.line)];
  LineStats& stats = stats_[index(packet.line)];
  if (packet.t_ns >= stats.last_t_ns) {
    stats.last_t_ns = packet.t_ns;
    stats.last_arrival_ns = packet.arrival_ns;
  }
  const net::Preamble& preamble = packet.preamble;
  const std::uint16_t max_chunks = options_.chunks ? kMaxChunks : 1;
  if (preamble.error != ErrorCode::None || preamble.chunk == 0 || preamble.chunk > preamble.chunks ||
      preamble.chunks > max_chunks || (preamble.chunks > 1 && packet.payload.size() > options_.datagram_bytes)) {
    ++run_.packets.malformed;
  } else if (options_.sequence_bits == 0) {
    if (!running_) begin_run(NewRun::Reason::Start, packet, &packet, 0, sink);
    gathering_ = false;
    ++run_.packets.delivered;
    ++run_.numbers.delivered;
    top_ = next_++;
    undecided_ = next_;
    (void)sink.deliver(packet, epoch_);
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
  if (stranger_count_ == 0) return;
  judge_strangers(false, sink);
  close_windows(false, sink);  // what the strangers brought
}

std::optional<std::uint64_t> Arbiter::next_deadline() const noexcept {
  std::uint64_t deadline = kNever;
  if (oldest_ != kNone) {
    deadline = slots_[oldest_].packet.t_ns + options_.window_ns;
    if (waiting_ >= options_.window_packets) deadline = std::min(deadline, slots_[newest_].packet.t_ns + 1);
  }
  if (options_.ordered && has_undecodable_) deadline = std::min(deadline, undecodable_t_ns_ + options_.window_ns);
  if (stranger_count_ != 0) {
    for (const Stranger& stranger : strangers_) {
      if (stranger.fit != Fit::InRun) deadline = std::min(deadline, is_refuted(stranger) ? 0 : acceptable_at(stranger));
    }
  }
  if (deadline == kNever) return std::nullopt;
  return deadline;
}

void Arbiter::finish(Sink& sink) noexcept {
  close_windows(true, sink);
  judge_strangers(true, sink);
  close_windows(true, sink);  // what the strangers brought
  if (!running_) return;
  for (std::size_t line = 0; line < options_.lines.size(); ++line) judge(line, undecided_, ~std::uint64_t{0});
}

void Arbiter::announce(std::uint64_t sequence) noexcept {
  if (running_ && distance(sequence, next_) >= 0 && distance(sequence, next_) <= leap()) return;  // it goes on there
  has_announced_ = true;
  announced_ = sequence & sequence_mask_;
  announced_t_ns_ = latest_t_ns_;
}

void Arbiter::resume_after(std::uint64_t sender, std::uint64_t last_sequence) noexcept {
  has_known_ = !running_;
  known_sender_ = sender;
  known_last_ = last_sequence;
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
  if (packet.preamble.sender == sender_) {
    const Fit fit = fit_of_same_sender(packet);
    return fit == Fit::InRun && is_foreign(packet) ? fit_of_foreign(packet) : fit;
  }
  // A sender that comes back later may have begun anew.
  for (const OldRun& old : old_runs()) {
    if (old.is_leap || packet.preamble.sender != old.sender || !was_left_just_now(old)) continue;
    if (packet.source != 0 && !old.sources.empty() && !old.sources.has(packet.source)) continue;
    const std::int64_t from_old = distance(packet.preamble.sequence, old.next);
    if (from_old < 0 && -from_old <= reach()) return Fit::Passed;
  }
  return Fit::OtherSender;
}

Arbiter::Fit Arbiter::fit_of_same_sender(const Packet& packet) noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  const std::int64_t ahead = distance(sequence, next_);
  const std::int64_t from_top = distance(sequence, top_ + 1);
  const Fit side = ahead < 0 ? Fit::Behind : Fit::Ahead;
  const bool is_expected = ahead >= 0 && ahead <= reach() && from_top <= leap();
  const bool has_turned = lines_[index(packet.line)].heard;

  if ((is_expected && has_turned) || is_copy(packet)) return Fit::InRun;
  for (const OldRun& old : old_runs()) {
    if (old.is_leap || old.sender != sender_ || !was_left_just_now(old)) continue;
    if (packet.source != 0 && !old.sources.empty() && !old.sources.has(packet.source)) continue;
    // A line that has not turned to the new run yet goes on with the old one, even if the two are close.
    const std::int64_t from_old = distance(sequence, old.next);
    const bool is_closer = magnitude(from_old) < magnitude(ahead);
    if (is_closer && from_old <= leap() && -from_old <= reach()) {
      return from_old < 0 ? Fit::Passed : side;
    }
  }
  if (is_expected) return Fit::InRun;
  if (ahead > 0) return Fit::Ahead;
  if (ahead < -reach() || is_announced(packet) || rewinds(packet)) return Fit::Behind;
  const std::uint64_t number = next_ + static_cast<std::uint64_t>(ahead);
  // The range that was leapt over goes on all the same.
  if (has_leapt_ && !before(number, leapt_from_) && before(number, leapt_to_)) {
    const Entry& known = entry(number);
    const bool is_skipped = known.state == State::Lost || (gathering_ && before(number, next_) && !may_lower(number));
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
Arbiter::Fit Arbiter::fit_of_foreign(const Packet& packet) noexcept {
  const std::int64_t ahead = distance(packet.preamble.sequence, next_);
  const Fit side = ahead < 0 ? Fit::Behind : Fit::Ahead;
  if (distance(packet.preamble.sequence, top_ + 1) > 0 || match_of(packet) == Match::Other) return side;
  return ahead < 0 && may_lower(next_ + static_cast<std::uint64_t>(ahead)) ? side : Fit::InRun;
}

/// The packet has its place in the run. Another address has to bring a few of the next numbers, or a copy.
void Arbiter::learn_source(const Packet& packet, bool was_foreign) noexcept {
  if (!was_foreign) return own_.add(packet.source);
  Candidate* known = nullptr;
  for (Candidate& candidate : candidates_) {
    if (candidate.source == packet.source) known = &candidate;
  }
  if (known == nullptr) {
    known = &candidates_[next_candidate_++ % candidates_.size()];
    *known = {.source = packet.source};
  }
  const bool goes_on = distance(packet.preamble.sequence, top_ + 1) == 0;
  known->numbers += match_of(packet) == Match::Same ? kOwnNumbers : goes_on ? 1 : 0;
  if (known->numbers < kOwnNumbers) return;
  own_.add(packet.source);
  *known = {};
}

/// Within reach, and neither delivered nor given up by anybody.
bool Arbiter::is_before_run(std::uint64_t number) const noexcept {
  return !has_floor_ && before(number, first_) && next_ - number <= static_cast<std::uint64_t>(reach());
}

/// Too far before the first number for a late line, or what goes on there.
bool Arbiter::begins_before_run(const Packet& packet, std::uint64_t number) noexcept {
  if (!is_before_run(number) || may_lower(number)) return false;
  if (first_ - number > static_cast<std::uint64_t>(leap())) return true;
  const Stranger* const stranger = stranger_of(packet);
  return stranger != nullptr && stranger->is_early;
}

bool Arbiter::is_long(const OldRun& old) noexcept {
  return old.packets >= kLongStretch;
}

bool Arbiter::was_left_just_now(const OldRun& old) const noexcept {
  return since(latest_t_ns_, old.left_t_ns) < std::min(options_.switch_silence_ns, kLateWindows * options_.window_ns);
}

bool Arbiter::is_announced(const Packet& packet) const noexcept {
  if (!has_announced_) return false;
  const std::int64_t apart = distance(packet.preamble.sequence, announced_);
  return apart >= 0 && apart <= leap();
}

/// What the bytes say, if the run has the number: of one in several chunks, those of the first.
Arbiter::Match Arbiter::match_of(const Packet& packet) noexcept {
  if (!has_checks()) return Match::Unknown;
  const std::uint64_t number = next_ + static_cast<std::uint64_t>(distance(packet.preamble.sequence, next_));
  if (!running_ || before(top_, number) || top_ - number >= options_.history - 1) return Match::Unknown;
  const Entry& known = entry(number);
  const bool has_check =
      options_.chunks ? ((masks(number)[0] | masks(number)[1] | masks(number)[2]) & 1) != 0 : known.brought != 0;
  if (!has_check || known.in_conflict != 0 || packet.preamble.chunk != 1) return Match::Unknown;
  return known.check == check_of(packet.payload) ? Match::Same : Match::Other;
}

/// The line's copy of what another has brought, however late, or a second one that follows soon: no sign of another
/// run.
bool Arbiter::is_copy(const Packet& packet) noexcept {
  const std::int64_t ahead = distance(packet.preamble.sequence, next_);
  if (ahead >= 0 || ahead < -reach() || !options_.lines[0] || !options_.lines[1] || options_.chunks) return false;
  const Entry& known = entry(next_ + static_cast<std::uint64_t>(ahead));
  const bool is_other_line = (known.brought & bit_of(index(packet.line))) == 0;
  const bool is_soon = since(packet.t_ns, known.t_ns) < options_.switch_silence_ns && !is_restart(packet);
  return known.brought != 0 && (is_other_line || is_soon) && known.check == check_of(packet.payload);
}

/// A line that has come far is back at one of the numbers that a sender begins anew with.
bool Arbiter::is_restart(const Packet& packet) const noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  const LineState& line = lines_[index(packet.line)];
  const auto margin = static_cast<std::int64_t>(std::max<std::uint64_t>(options_.window_packets, kRestartNumbers));
  return line.heard && sequence <= kRestartNumbers && sequence < wire(line.highest) &&
         distance(sequence, line.highest) < -margin;
}

/// A line is back at the beginning, or where it was, with other bytes. The packet is behind the run, within reach.
bool Arbiter::rewinds(const Packet& packet) noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  const LineState& line = lines_[index(packet.line)];
  const bool restarts = is_restart(packet);
  const Stranger* const stranger = stranger_of(packet);
  const Entry& known = entry(next_ + static_cast<std::uint64_t>(distance(sequence, next_)));
  // The line goes on with what it has begun already.
  const bool has_turned = stranger != nullptr && stranger->fit == Fit::Behind && stranger->is_confirmed &&
                          !stranger->is_early && (stranger->lines & bit_of(index(packet.line))) != 0;
  if (has_turned && (known.brought == 0 || match_of(packet) == Match::Other)) return true;
  // A packet near the line's position was delayed, or is a copy, even if it differs.
  const std::int64_t least = sequence <= kRestartNumbers ? 0 : -leap();
  if (!line.heard || distance(sequence, line.highest) >= least) return false;
  const bool has_checks = options_.lines[0] && options_.lines[1] && !options_.chunks;
  if (stranger != nullptr && stranger->fit == Fit::Behind) return true;
  // A number that was given up just now may be late, even if it is one of the first.
  const bool may_be_late = known.state == State::Lost && known.brought == 0 &&
                           since(packet.t_ns, known.t_ns) < kLateWindows * options_.window_ns;
  if (!may_be_late && restarts) return true;
  // Copies that differ come from both lines, and soon.
  const bool is_other_line = (known.brought & bit_of(index(packet.line))) == 0;
  const bool is_soon = since(packet.t_ns, known.t_ns) < kLateWindows * options_.window_ns;
  const bool has_one_line = !(options_.lines[0] && options_.lines[1]);
  if (has_one_line) return !is_other_line && !is_soon && distance(sequence, line.highest) < -leap();
  if (!has_checks) return false;
  const bool is_copy = is_other_line || known.in_conflict != 0;
  return known.brought != 0 && !(is_copy && is_soon) && known.check != check_of(packet.payload);
}

void Arbiter::take(const Packet& packet, Sink& sink) noexcept {
  if (!running_) begin_run(NewRun::Reason::Start, packet, &packet, packet.preamble.sequence, sink);
  const Fit fit = fit_of(packet);
  if (fit == Fit::Passed) {
    count_late(packet, since(latest_t_ns_, old_.front().left_t_ns), sink);
  } else if (fit != Fit::InRun) {
    set_aside(packet, fit, sink);
  } else {
    if (packet.source != 0 && !own_.has(packet.source)) learn_source(packet, is_foreign(packet));
    const std::uint64_t number = next_ + static_cast<std::uint64_t>(distance(packet.preamble.sequence, next_));
    if (stranger_count_ != 0 && !options_.ordered && !options_.chunks) place_below(number, sink);
    place(packet, number, sink);
    if (stranger_count_ != 0) place_strangers(sink);
  }
}

/// Fast mode: the number goes past those that another address has brought.
void Arbiter::place_below(std::uint64_t number, Sink& sink) noexcept {
  for (Stranger& stranger : strangers_) {
    if (stranger.fit != Fit::Ahead || stranger.sender != sender_ || !is_foreign(stranger)) continue;
    while (stranger.packets != 0) {
      const Packet& packet = slots_[stranger.first].packet;
      const std::int64_t ahead = distance(packet.preamble.sequence, next_);
      if (ahead < 0 || ahead >= static_cast<std::int64_t>(number - next_)) break;
      const std::uint32_t slot = unlink_first(stranger);
      place(slots_[slot].packet, next_ + static_cast<std::uint64_t>(ahead), sink);
      free_slot(slot);
    }
    release_if_empty(stranger);
  }
}

void Arbiter::count_late(const Packet& packet, std::uint64_t late_ns, Sink& sink) noexcept {
  ++run_.packets.late;
  sink.late(packet, late_ns);
}

/// A packet of a stranger that comes to nothing.
void Arbiter::count_in_vain(const Stranger& stranger, const Packet& packet, std::uint64_t late_ns,
                            Sink& sink) noexcept {
  if (stranger.is_late || stranger.is_early) {
    count_late(packet, late_ns, sink);
  } else {
    ++run_.packets.malformed;
  }
}

// --------------------------------------------------------------------------------------------------------- strangers

/// The one that the packet continues, or is a copy of a packet of.
Arbiter::Stranger* Arbiter::stranger_of(const Packet& packet) noexcept {
  if (stranger_count_ == 0) return nullptr;
  Stranger* found = nullptr;
  for (Stranger& stranger : strangers_) {
    if (stranger.fit == Fit::InRun || stranger.sender != packet.preamble.sender) continue;
    if (distance(packet.preamble.sequence, slots_[stranger.last].packet.preamble.sequence) > leap() ||
        distance(packet.preamble.sequence, slots_[stranger.first].packet.preamble.sequence) < -leap()) {
      continue;
    }
    if (!is_related(stranger, packet) && !has_copy(stranger, packet)) continue;
    if (found == nullptr) {
      found = &stranger;
    } else if (packet.source != 0) {  // it shows that both are the same
      merge(*found, stranger);
    }
  }
  return found;
}

void Arbiter::merge(Stranger& into, Stranger& from) noexcept {
  const auto beyond_own = [](const Stranger& stranger) {
    return stranger.packets - std::min(stranger.packets, kOwnRoom);
  };
  set_aside_ -= beyond_own(into) + beyond_own(from);
  const auto follows = [&](std::uint32_t left, std::uint32_t right) {
    const net::Preamble& a = slots_[left].packet.preamble;
    const net::Preamble& b = slots_[right].packet.preamble;
    const std::int64_t apart = distance(b.sequence, a.sequence);
    return apart != 0 ? apart : std::int64_t{b.chunk} - std::int64_t{a.chunk};
  };
  std::uint32_t left = into.first;
  std::uint32_t right = from.first;
  std::uint32_t last = kNone;
  into.first = kNone;
  into.packets = into.successions = 0;
  while (left != kNone || right != kNone) {
    const std::int64_t apart = left == kNone ? -1 : right == kNone ? 1 : follows(left, right);
    std::uint32_t& from_list = apart < 0 ? right : left;
    const std::uint32_t slot = std::exchange(from_list, slots_[from_list].newer);
    if (apart == 0) {
      if (slots_[right].packet.line != slots_[slot].packet.line) into.is_confirmed = true;
      const std::uint32_t copy = std::exchange(right, slots_[right].newer);
      free_slot(copy);
      --run_.packets.held;
      ++run_.packets.duplicate;
    }
    if (last != kNone && distance(slots_[slot].packet.preamble.sequence, slots_[last].packet.preamble.sequence) == 1) {
      ++into.successions;
    }
    slots_[slot].older = last;
    (last != kNone ? slots_[last].newer : into.first) = slot;
    last = slot;
    ++into.packets;
  }
  slots_[last].newer = kNone;
  into.last = last;
  set_aside_ += beyond_own(into);
  if (from.has_dropped) note_dropped(into, from.lowest_dropped);
  into.is_confirmed = into.is_confirmed || from.is_confirmed ||
                      slots_[into.first].packet.preamble.sequence != slots_[into.last].packet.preamble.sequence;
  into.lines = static_cast<std::uint8_t>(into.lines | from.lines);
  into.begin_t_ns = std::min(into.begin_t_ns, from.begin_t_ns);
  into.last_t_ns = std::max(into.last_t_ns, from.last_t_ns);
  into.sources.add(from.sources);
  from = {};
  --stranger_count_;
  refit(into);
}

/// Whether packets from there may be of the same sender as the stranger's.
bool Arbiter::is_related(const Stranger& stranger, const Packet& packet) const noexcept {
  const std::uint32_t source = packet.source;
  const Sources& sources = stranger.sources;
  if (options_.carousel || source == 0 || sources.empty() || sources.has(source)) return true;
  if ((stranger.lines & bit_of(index(packet.line))) == 0) return true;  // each line may have a sender of its own
  if (own_.has(source) && own_.meets(sources)) return true;
  return std::any_of(old_runs().begin(), old_runs().end(),
                     [&](const OldRun& old) { return old.sources.has(source) && old.sources.meets(sources); });
}

/// Whether it has brought the same packet, from another address: that of the other line.
bool Arbiter::has_copy(const Stranger& stranger, const Packet& packet) const noexcept {
  if (packet.source == 0 || stranger.sources.has(packet.source)) return false;
  for (std::uint32_t slot = stranger.last; slot != kNone; slot = slots_[slot].older) {
    const Packet& other = slots_[slot].packet;
    const std::int64_t apart = distance(packet.preamble.sequence, other.preamble.sequence);
    if (apart > 0) return false;
    if (apart == 0 && other.line != packet.line && other.preamble.chunk == packet.preamble.chunk &&
        std::ranges::equal(other.payload, packet.payload)) {
      return true;
    }
  }
  return false;
}

/// Whether something speaks for it: it is confirmed, or just ahead of what the run is believed to leave out. Random
/// numbers come on both lines, too; few of them come there.
bool Arbiter::is_likely(const Stranger& stranger) const noexcept {
  const std::int64_t ahead = distance(slots_[stranger.first].packet.preamble.sequence, top_ + 1);
  const bool is_sparse = options_.sequence_bits > 16;  // of 65,536 numbers too many are near by chance
  return stranger.is_confirmed || (is_sparse && stranger.fit == Fit::Ahead && ahead <= 2 * leap());
}

/// Room for one more: a free place, or that of the one for which the least speaks, the oldest of them.
Arbiter::Stranger& Arbiter::new_stranger(const Packet& packet, Fit fit, Sink& sink) noexcept {
  Stranger* place = &strangers_.front();
  for (Stranger& stranger : strangers_) {
    if (stranger.fit == Fit::InRun) {
      place = &stranger;
      break;
    }
    const bool is_weaker = is_likely(stranger) != is_likely(*place) ? is_likely(*place)
                           : stranger.packets != place->packets     ? stranger.packets < place->packets
                                                                    : stranger.last_t_ns < place->last_t_ns;
    if (is_weaker) place = &stranger;
  }
  if (place->fit != Fit::InRun) drop(*place, sink);
  const std::uint64_t number = next_ + static_cast<std::uint64_t>(distance(packet.preamble.sequence, next_));
  *place = {.fit = fit,
            .is_confirmed = is_announced(packet),
            .is_late = fit == Fit::Behind && has_leapt_ && !is_announced(packet) && !before(number, leapt_from_) &&
                       before(number, leapt_to_),
            .is_early = fit == Fit::Behind && is_before_run(number),
            .sender = packet.preamble.sender,
            .begin_t_ns = packet.t_ns,
            .last_t_ns = packet.t_ns};
  ++stranger_count_;
  return *place;
}

void Arbiter::set_aside(const Packet& packet, Fit fit, Sink& sink) noexcept {
  if (packet.payload.size() > options_.datagram_bytes) {
    ++run_.packets.malformed;
    return;
  }
  Stranger* known = stranger_of(packet);
  if (known != nullptr && is_outlived_by(*known, packet)) {
    drop(*known, sink);
    known = nullptr;
  }
  Stranger& stranger = known != nullptr ? *known : new_stranger(packet, fit, sink);
  stranger.begin_t_ns = std::min(stranger.begin_t_ns, packet.t_ns);
  stranger.last_t_ns = std::max(stranger.last_t_ns, packet.t_ns);
  if (!options_.carousel) stranger.sources.add(packet.source);
  stranger.lines = static_cast<std::uint8_t>(stranger.lines | bit_of(index(packet.line)));

  // Sorted by number and chunk; most come last.
  const auto order = [&](std::uint32_t slot) {
    const net::Preamble& other = slots_[slot].packet.preamble;
    const std::int64_t apart = distance(packet.preamble.sequence, other.sequence);
    return apart != 0 ? apart : std::int64_t{packet.preamble.chunk} - std::int64_t{other.chunk};
  };
  std::uint32_t below = stranger.last;
  while (below != kNone && order(below) < 0) below = slots_[below].older;
  if (below != kNone && order(below) == 0) {
    // A second copy on the same line proves nothing.
    Packet& held = slots_[below].packet;
    if (held.line != packet.line) stranger.is_confirmed = true;
    // The one that is held was a second copy of the run's own, and what begins anew has come to its number.
    if (stranger.fit == Fit::Behind && match_of(held) == Match::Same &&
        !std::ranges::equal(held.payload, packet.payload)) {
      std::memcpy(payloads_.get() + std::size_t{below} * options_.datagram_bytes, packet.payload.data(),
                  packet.payload.size());
      const std::span<const std::byte> bytes(held.payload.data(), packet.payload.size());
      held = packet;
      held.payload = bytes;
    }
    ++run_.packets.duplicate;
    return;
  }
  if (stranger.packets != 0) {
    stranger.is_confirmed = stranger.is_confirmed ||
                            distance(packet.preamble.sequence, slots_[stranger.first].packet.preamble.sequence) != 0 ||
                            slots_[stranger.first].packet.line != packet.line;
  }
  const bool needs_room = stranger.packets >= kOwnRoom;
  Stranger* largest = &stranger;  // it yields if there is no room
  for (Stranger& other : strangers_) {
    // What nothing confirms goes first; then what takes the most room.
    if (other.fit == Fit::InRun || other.packets <= kOwnRoom) continue;
    const bool is_worse =
        other.is_confirmed != largest->is_confirmed ? largest->is_confirmed : other.packets > largest->packets;
    if (is_worse) largest = &other;
  }
  if (needs_room && set_aside_ >= options_.room_packets && !is_foreign(*largest)) {
    // No room to wait for what a leap leaves out.
    Stranger* lowest = nullptr;
    for (Stranger& other : strangers_) {
      if (other.fit != Fit::Ahead || other.packets == 0 || other.sender != sender_ || !other.is_confirmed ||
          is_refuted(other) || silent_enough_at(other) > until_t_ns_) {
        continue;
      }
      if (lowest == nullptr || is_before(other, *lowest)) lowest = &other;
    }
    if (lowest != nullptr) {
      release_if_empty(stranger);
      accept(*lowest, GapReason::Room, &packet, sink);
      take(packet, sink);
      return;
    }
  }
  if (needs_room && set_aside_ >= options_.room_packets) {
    if (largest == &stranger && below == kNone) {  // it would be the first to go
      note_dropped(stranger, packet.preamble.sequence);
      count_in_vain(stranger, packet, 0, sink);
      return;
    }
    if (largest == &stranger && below == stranger.first) below = kNone;
    note_dropped(*largest, slots_[largest->first].packet.preamble.sequence);
    drop_first(*largest, sink);
  }
  const std::uint32_t slot = take_slot(packet, 0);
  const std::uint32_t above = below != kNone ? slots_[below].newer : stranger.first;
  slots_[slot].older = below;
  slots_[slot].newer = above;
  (below != kNone ? slots_[below].newer : stranger.first) = slot;
  (above != kNone ? slots_[above].older : stranger.last) = slot;
  if (++stranger.packets > kOwnRoom) ++set_aside_;
  ++run_.packets.held;
  const auto follows = [&](std::uint32_t left, std::uint32_t right) {
    if (left == kNone || right == kNone) return false;
    return distance(slots_[right].packet.preamble.sequence, slots_[left].packet.preamble.sequence) == 1;
  };
  stranger.successions += (follows(below, slot) ? 1U : 0U) + (follows(slot, above) ? 1U : 0U);
  believe_successor(stranger, sink);
}

/// Several numbers one after the other, not far ahead: another sender has taken over, and some numbers were lost. Wild
/// numbers are hardly ever neighbours.
void Arbiter::believe_successor(const Stranger& stranger, Sink& sink) noexcept {
  if (stranger.fit != Fit::Ahead || stranger.successions + 1 < kOwnNumbers || !is_foreign(stranger)) return;
  if (distance(begin_of(stranger), top_ + 1) > kFarLeaps * leap()) return;
  own_.add(stranger.sources);
  place_strangers(sink);
}

/// The packet has no room. If the stranger comes to something, its number is lost for that reason.
void Arbiter::note_dropped(Stranger& stranger, std::uint64_t sequence) noexcept {
  if (!stranger.has_dropped || distance(sequence, stranger.lowest_dropped) < 0) stranger.lowest_dropped = sequence;
  stranger.has_dropped = true;
}

/// The lowest number that it has brought, as on the wire.
std::uint64_t Arbiter::begin_of(const Stranger& stranger) const noexcept {
  const std::uint64_t first = slots_[stranger.first].packet.preamble.sequence;
  if (!stranger.has_dropped || distance(stranger.lowest_dropped, first) >= 0) return first;
  return stranger.lowest_dropped;
}

/// The stranger was something late: the run has outlived it, and what comes now comes much later.
bool Arbiter::is_outlived_by(const Stranger& stranger, const Packet& packet) const noexcept {
  return stranger.fit == Fit::Behind && stranger.last_t_ns <= alive_t_ns_ &&
         since(packet.t_ns, alive_t_ns_) > kLateWindows * options_.window_ns;
}

/// Drops the packet with the lowest number.
void Arbiter::drop_first(Stranger& stranger, Sink& sink) noexcept {
  const std::uint32_t slot = take_first(stranger);
  count_in_vain(stranger, slots_[slot].packet, stranger.is_late ? since(latest_t_ns_, leapt_t_ns_) : 0, sink);
}

void Arbiter::unlink(Stranger& stranger, std::uint32_t slot) noexcept {
  const Slot& taken = slots_[slot];
  (taken.older != kNone ? slots_[taken.older].newer : stranger.first) = taken.newer;
  (taken.newer != kNone ? slots_[taken.newer].older : stranger.last) = taken.older;
  if (stranger.packets-- > kOwnRoom) --set_aside_;
  --run_.packets.held;
}

std::uint32_t Arbiter::unlink_first(Stranger& stranger) noexcept {
  const std::uint32_t slot = stranger.first;
  unlink(stranger, slot);
  return slot;
}

/// Its bytes stay until the slot is taken again.
std::uint32_t Arbiter::take_first(Stranger& stranger) noexcept {
  const std::uint32_t slot = unlink_first(stranger);
  free_slot(slot);
  return slot;
}

/// The first packets of what begins anew may be second copies of the present run's that came with it.
void Arbiter::drop_copies(Stranger& stranger) noexcept {
  if (stranger.fit != Fit::Behind) return;
  const auto is_of_run = [&](const Packet& packet) {
    return packet.t_ns <= alive_t_ns_ + kLateWindows * options_.window_ns && match_of(packet) == Match::Same;
  };
  // All may be the same: then it is a run that repeats its data.
  std::uint32_t last = stranger.first;
  while (last != kNone && is_of_run(slots_[last].packet)) last = slots_[last].newer;
  while (last != kNone && stranger.first != last) {
    take_first(stranger);
    ++run_.packets.duplicate;
  }
  // One of them that came long before the number below it.
  for (std::uint32_t slot = last; slot != kNone;) {
    const std::uint32_t above = slots_[slot].newer;
    const std::uint32_t below = slots_[slot].older;
    if (below != kNone && is_of_run(slots_[slot].packet) &&
        since(slots_[below].packet.t_ns, slots_[slot].packet.t_ns) > options_.window_ns) {
      unlink(stranger, slot);
      free_slot(slot);
      ++run_.packets.duplicate;
    }
    slot = above;
  }
}

void Arbiter::release_if_empty(Stranger& stranger) noexcept {
  if (stranger.fit == Fit::InRun || stranger.packets != 0) return;
  stranger = {};
  --stranger_count_;
}

void Arbiter::drop(Stranger& stranger, Sink& sink) noexcept {
  while (stranger.packets != 0) drop_first(stranger, sink);
  release_if_empty(stranger);
}

/// The run has gone on for a while, and the stranger has not, as far as every port has been read. Lines may be apart by
/// the window.
bool Arbiter::is_refuted(const Stranger& stranger) const noexcept {
  const std::uint64_t while_ns = std::max(options_.switch_silence_ns / 4, 2 * options_.window_ns);
  return since(std::min(progress_t_ns_, until_t_ns_), stranger.last_t_ns) > while_ns;
}

/// When the present run has been silent for long enough, if it stays so.
std::uint64_t Arbiter::silent_enough_at(const Stranger& stranger) const noexcept {
  std::uint64_t silence = options_.switch_silence_ns;
  if (stranger.fit == Fit::Ahead) {
    const std::int64_t skipped = distance(begin_of(stranger), top_ + 1) - leap();
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
  // Numbers that were given up are late ones, but if they go on when the run does not.
  if (stranger.is_late && stranger.last_t_ns < alive_t_ns_ + options_.switch_silence_ns / 2) return kNever;
  // Like any missing numbers, those that it leaves out may come until the window closes, by its time or its count.
  const bool is_leap = stranger.fit == Fit::Ahead && stranger.packets < options_.window_packets;
  const std::uint64_t shown_ns = is_leap ? stranger.begin_t_ns + options_.window_ns : 0;
  const std::uint64_t at = std::max(silent_enough_at(stranger), shown_ns);
  return stranger.is_confirmed ? at : std::max(at, stranger.begin_t_ns + options_.switch_silence_ns);
}

bool Arbiter::is_before(const Stranger& left, const Stranger& right) const noexcept {
  return distance(slots_[left.first].packet.preamble.sequence, slots_[right.first].packet.preamble.sequence) < 0;
}

void Arbiter::judge_strangers(bool everything, Sink& sink) noexcept {
  while (stranger_count_ != 0) {
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
      // The first that could be accepted: it does not depend on how far apart the ticks are.
      const bool is_better = best == nullptr || acceptable_at(stranger) < acceptable_at(*best);
      if (is_better) best = &stranger;
    }
    if (best == nullptr) break;
    accept(*best, GapReason::Leap, nullptr, sink);
  }
  if (!everything) return;
  for (Stranger& stranger : strangers_) drop(stranger, sink);
}

/// Gives the channel to the stranger.
void Arbiter::accept(Stranger& stranger, GapReason leap_as, const Packet* in_hand, Sink& sink) noexcept {
  drop_copies(stranger);
  refit(stranger);  // with its first packets dropped it may be more than half of all numbers ahead, which is behind
  const Packet first = slots_[stranger.first].packet;  // its bytes stay until the slot is freed
  const std::uint64_t sequence = first.preamble.sequence;
  const std::uint64_t last_t_ns = stranger.last_t_ns;
  const Sources sources = stranger.sources;
  const std::uint64_t begin = begin_of(stranger);
  // Numbers ahead are an old run's if no sender can have sent all those between since this run was heard: soon after
  // the switch; or if it is far to them, and they begin just where the old run stopped.
  const std::int64_t skipped = std::max<std::int64_t>(distance(begin, top_ + 1) - leap(), 0);
  const bool is_leap = since(until_t_ns_, alive_t_ns_) / kNsPerSkippedNumber >= static_cast<std::uint64_t>(skipped);
  // Copies of its last numbers may come first, but not the numbers that a sender begins anew with.
  const std::int64_t most_copies = begin > kRestartNumbers ? kRestartNumbers : 0;
  const std::uint64_t last = slots_[stranger.last].packet.preamble.sequence;
  const OldRun* goes_on = nullptr;
  // Another run's address is not this one's; a new one may be.
  const bool is_known = own_.meets(sources) ||
                        std::ranges::any_of(old_runs(), [&](const OldRun& old) { return old.sources.meets(sources); });
  for (const OldRun& old : old_runs()) {
    // Packets dropped below the place are not missing there: they were another stranger's.
    const bool dropped_others = distance(begin, old.next) < 0 && distance(sequence, old.next) >= 0;
    const std::int64_t from_old = dropped_others ? 0 : distance(begin, old.next);
    if (stranger.sender != old.sender || from_old < -most_copies || from_old > reach()) continue;
    if (distance(last, old.next) < 0) continue;
    const bool is_recent = since(latest_t_ns_, old.left_t_ns) < 4 * options_.switch_silence_ns;
    const bool is_there = from_old <= leap();
    if (old.sources.excludes(stranger.sources) && (is_known || !is_there)) continue;
    if (stranger.fit == Fit::Ahead && !(is_foreign(stranger) && old.sources.meets(stranger.sources)) &&
        ((is_leap && !(is_there && skipped > kFarLeaps * leap())) || !(is_recent || is_there))) {
      continue;
    }
    if (!is_there && begin <= kRestartNumbers) continue;
    const bool is_closer = goes_on == nullptr || magnitude(from_old) < magnitude(distance(begin, goes_on->next));
    if (goes_on == nullptr || (is_long(old) != is_long(*goes_on) ? is_long(old) : is_closer)) goes_on = &old;
  }
  bool has_dropped = false;
  if (!options_.carousel && (goes_on != nullptr || stranger.is_late)) {
    // Numbers that passed meanwhile; the numbers of a leap were declared with it.
    const bool is_told = stranger.is_late || goes_on->is_leap;
    // What it dropped came after all that passed, or is another stranger's.
    has_dropped = !is_told && begin != sequence && distance(begin, goes_on->next) >= 0;
    const std::uint64_t came = has_dropped ? begin : sequence;
    const std::int64_t passed = is_told ? 0 : std::max<std::int64_t>(distance(came, goes_on->next), 0);
    const std::uint64_t next = is_told || passed > 0 ? came : goes_on->next;
    begin_run(NewRun::Reason::Back, first, in_hand, next, sink, goes_on);
    first_ = undecided_ = next - static_cast<std::uint64_t>(passed);
    skipped_as_ = GapReason::Switch;
  } else if (stranger.fit == Fit::Ahead) {
    evidence_ = {leap_as, first.arrival_ns, first.t_ns};
    jump(next_ + static_cast<std::uint64_t>(distance(begin, next_)), sink);
    has_dropped = begin != sequence;
  } else {
    begin_run(stranger.fit == Fit::OtherSender ? NewRun::Reason::Sender : NewRun::Reason::SequenceReset, first, in_hand,
              sequence, sink);
    if (begin != sequence) {
      first_ = undecided_ = sequence - static_cast<std::uint64_t>(distance(sequence, begin));
      skipped_as_ = GapReason::Room;
      has_floor_ = true;
    }
  }
  if (!gathering_ && undecided_ != next_) {
    evidence_ = {skipped_as_, first.arrival_ns, first.t_ns};
    end_gathering(sink);
  }
  if (has_dropped) lose_dropped(sequence, first, sink);
  alive_t_ns_ = last_t_ns;
  own_.add(sources);
  place_all(stranger, sink);
  for (Stranger& other : strangers_) refit(other);
  place_strangers(sink);
}

/// After a leap: what the stranger had no room for, up to the first that it holds.
void Arbiter::lose_dropped(std::uint64_t sequence, const Packet& shown_by, Sink& sink) noexcept {
  if (gathering_) end_gathering(sink);
  const std::int64_t ahead = distance(sequence, next_);
  if (ahead <= 0) return;
  const std::uint64_t last = next_ + static_cast<std::uint64_t>(ahead) - 1;
  if (before(top_, last)) advance(last);
  evidence_ = {GapReason::Room, shown_by.arrival_ns, shown_by.t_ns};
  give_up_to(last, sink);
}

/// The run has changed or moved: a stranger that was ahead of it may now be late.
void Arbiter::refit(Stranger& stranger) noexcept {
  if (stranger.fit == Fit::InRun) return;
  const std::int64_t ahead = distance(slots_[stranger.first].packet.preamble.sequence, next_);
  const std::uint64_t number = next_ + static_cast<std::uint64_t>(ahead);
  const bool was_behind = stranger.fit == Fit::Behind;
  stranger.fit = stranger.sender != sender_ ? Fit::OtherSender : ahead < 0 ? Fit::Behind : Fit::Ahead;
  const bool was_leapt = has_leapt_ && !before(number, leapt_from_) && before(number, leapt_to_);
  const bool was_lost = -ahead <= reach() && entry(number).state == State::Lost;
  stranger.is_early = stranger.fit == Fit::Behind && is_before_run(number);
  if (stranger.fit != Fit::Behind) {
    stranger.is_late = false;
  } else if (!was_behind) {
    stranger.is_late = was_leapt || was_lost;
  }
}

/// Those that continue the run by now.
void Arbiter::place_strangers(Sink& sink) noexcept {
  for (Stranger& stranger : strangers_) {
    if (stranger.fit == Fit::InRun || stranger.sender != sender_ || stranger.is_late) continue;
    const std::uint64_t first = slots_[stranger.first].packet.preamble.sequence;
    // A single one may be wild: the run has to reach it.
    const std::int64_t most = stranger.is_confirmed ? leap() : 0;
    const std::int64_t least = stranger.fit == Fit::Ahead ? -reach() : 0;
    if (distance(first, next_) < least || distance(first, top_ + 1) > most) continue;
    if (is_foreign(stranger)) {
      place_foreign(stranger, sink);
    } else {
      place_all(stranger, sink);
    }
  }
}

/// What goes on, one after the other, until its address is the run's own.
void Arbiter::place_foreign(Stranger& stranger, Sink& sink) noexcept {
  while (stranger.packets != 0 && is_foreign(stranger)) {
    const Packet packet = slots_[stranger.first].packet;
    const bool is_own = own_.has(packet.source);
    if (!is_own && fit_of_foreign(packet) != Fit::InRun) return refit(stranger);  // the run may have passed it
    if (!is_own) learn_source(packet, true);
    const std::uint32_t slot = unlink_first(stranger);
    place(packet, next_ + static_cast<std::uint64_t>(distance(packet.preamble.sequence, next_)), sink);
    free_slot(slot);
  }
  if (stranger.packets != 0) return place_all(stranger, sink);
  release_if_empty(stranger);
}

void Arbiter::place_all(Stranger& stranger, Sink& sink) noexcept {
  std::uint32_t slot = stranger.first;
  set_aside_ -= stranger.packets - std::min(stranger.packets, kOwnRoom);
  run_.packets.held -= stranger.packets;
  stranger = {};
  --stranger_count_;
  while (slot != kNone) {
    const Packet packet = slots_[slot].packet;
    const std::uint32_t above = slots_[slot].newer;
    const std::int64_t ahead = distance(packet.preamble.sequence, next_);
    const std::uint64_t number = next_ + static_cast<std::uint64_t>(ahead);
    if (ahead > reach()) {
      evidence_ = {GapReason::Leap, packet.arrival_ns, packet.t_ns};
      jump(number, sink);
    }
    LineState& line = lines_[index(packet.line)];
    line.cycle_highest = std::max(line.cycle_highest, packet.preamble.sequence);
    place(packet, number, sink);
    free_slot(slot);
    slot = above;
  }
}

// --------------------------------------------------------------------------------------------------------- carousels

void Arbiter::take_of_carousel(const Packet& packet, Sink& sink) noexcept {
  if (!admit_to_cycle(packet, sink)) {
    count_late(packet, 0, sink);
    return;
  }
  const std::int64_t ahead = distance(packet.preamble.sequence, next_);
  if (ahead < -reach()) {
    count_late(packet, 0, sink);
  } else if (ahead > reach() || distance(packet.preamble.sequence, top_ + 1) > leap()) {
    set_aside(packet, Fit::Ahead, sink);
  } else {
    place(packet, next_ + static_cast<std::uint64_t>(ahead), sink);
    if (stranger_count_ != 0) place_strangers(sink);
  }
}

/// Whether the packet is of the cycle that is followed; begins the next one when its time has come.
///
/// Each line counts its own cycles. One line leads; the other's cycle is the same if its packets have the same bytes,
/// or, while nothing can be compared, if it began within the window of the leader's, before it or after. A line that is
/// out of step is ignored, as its numbers stand for other data, until the leader is silent.
bool Arbiter::admit_to_cycle(const Packet& packet, Sink& sink) noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  LineState& line = lines_[index(packet.line)];
  const std::uint64_t now_ns = packet.t_ns;
  const auto begin = [&] {
    const bool is_start = !running_;
    for (Stranger& stranger : strangers_) drop(stranger, sink);  // of another cycle: other data
    for (LineState& other : lines_) {
      // Out of step so far, and a little earlier than the leader in this cycle.
      const bool is_ahead = other.cycle != cycle_ || apart(other.cycle_opened_ns, cycle_began_ns_) > options_.window_ns;
      const bool returns = other.has_cycle && is_ahead && apart(now_ns, other.cycle_opened_ns) <= options_.window_ns;
      if (&other != &line && returns) other.cycle = cycle_ + 1;
    }
    ++cycle_;
    cycle_began_ns_ = now_ns;
    line.cycle = cycle_;
    begin_run(is_start ? NewRun::Reason::Start : NewRun::Reason::Cycle, packet, &packet, sequence, sink);
    return true;
  };
  const Match match = match_of(packet);
  const bool is_first = !line.has_cycle;
  const bool is_in_step = !is_first && line.cycle == cycle_;
  const bool opens = !is_first && opens_cycle(packet, match, is_in_step);
  // A number further ahead may be wild: it counts when others have confirmed it.
  const bool is_near = sequence <= line.cycle_highest + options_.window_packets;
  line.has_cycle = true;
  line.cycle_t_ns = std::max(line.cycle_t_ns, now_ns);
  if (is_first || opens) {
    line.cycle_highest = sequence;
    line.cycle_opened_ns = now_ns;
    line.first_hash = 0;
  } else if (is_near) {
    line.cycle_highest = std::max(line.cycle_highest, sequence);
  }
  if (sequence == 1 && packet.preamble.chunk == 1) {
    line.first_hash = hash_of(packet.payload);
    line.first_packet_ns = now_ns;
  }

  if (!running_ || (opens && is_in_step)) return begin();
  const auto joins = [&](bool is_same) {
    if (is_same && !is_in_step) line.cycle_highest = sequence;  // not that of the cycle that it was in
    line.cycle = is_same ? cycle_ : cycle_ - 1;
    return is_same;
  };
  if (match != Match::Unknown) {
    if (joins(match == Match::Same)) return true;
  } else if (is_in_step) {
    return true;
  } else if (is_first && magnitude(distance(sequence, next_)) <= options_.window_packets) {
    return joins(true);  // it is about where the leader is
  } else if ((opens || (is_first && sequence == 1)) && apart(now_ns, cycle_began_ns_) <= options_.window_ns) {
    // A cycle that began long before is of a line that is read late: an earlier cycle, which has been delivered.
    return joins(true);
  }
  if (is_first) line.cycle = cycle_ - 1;  // its next cycle will tell
  return opens && since(now_ns, alive_t_ns_) >= options_.switch_silence_ns ? begin() : false;
}

/// Whether the line begins a cycle with this packet: it is back at a number that it has passed, with other bytes or
/// after a pause. A delayed packet or a second copy comes within the window. Of a number in several chunks only the
/// first counts.
bool Arbiter::opens_cycle(const Packet& packet, Match match, bool is_in_step) noexcept {
  const std::uint64_t sequence = packet.preamble.sequence;
  const LineState& line = lines_[index(packet.line)];
  if (sequence > line.cycle_highest || packet.preamble.chunk > 1) return false;
  if (is_in_step && match == Match::Other) return true;
  // One wild packet must not end a cycle: the margin is what one packet can raise the highest by.
  const bool is_far = sequence + options_.window_packets < line.cycle_highest;
  const bool was_silent = since(packet.t_ns, line.cycle_t_ns) >= options_.window_ns;
  // The same bytes: a copy, but for a cycle that repeats its data.
  if (is_in_step && match == Match::Same ? is_far && was_silent : is_far || was_silent) return true;
  // A second copy of the first packet has the same bytes. If the next few packets overtook the first one, no first
  // packet has been seen.
  return sequence == 1 && line.first_hash != 0 && line.cycle_highest > 1 &&
         (line.first_hash != hash_of(packet.payload) || since(packet.t_ns, line.first_packet_ns) > options_.window_ns);
}

// -------------------------------------------------------------------------------------------------------------- runs

void Arbiter::begin_run(NewRun::Reason reason, const Packet& packet, const Packet* in_hand, std::uint64_t sequence,
                        Sink& sink, const OldRun* entered) noexcept {
  NewRun run{.reason = reason,
             .sender = packet.preamble.sender,
             .sequence = sequence,
             .wall_ns = packet.arrival_ns,
             .packet = packet.number,
             .before = {}};
  const Sources entered_sources = entered != nullptr ? entered->sources : Sources();
  // Packets that nothing has become of yet are of the new run.
  Packets carried;
  if (in_hand != nullptr) ++carried.received[index(in_hand->line)];
  for (const Stranger& stranger : strangers_) {
    if (stranger.fit == Fit::InRun) continue;
    for (std::uint32_t slot = stranger.first; slot != kNone; slot = slots_[slot].newer) {
      ++carried.received[index(slots_[slot].packet.line)];
    }
    carried.held += stranger.packets;
  }
  for (std::size_t line = 0; line < kLines; ++line) run_.packets.received[line] -= carried.received[line];
  run_.packets.held -= carried.held;

  if (running_) {
    end_run(sink);
    run.before = account();
    ++epoch_;
    leave_run(entered);  // `entered` is another one from here on
  } else {
    // Packets before the first number were malformed; they stay in sight.
    for (std::size_t line = 0; line < kLines; ++line) carried.received[line] += run_.packets.received[line];
    carried.malformed = run_.packets.malformed;
    run_ = {};
  }
  add(earlier_, run.before);
  run_ = {.packets = carried, .numbers = {}};
  run.epoch = epoch_;
  ++runs_;

  const bool is_first = !running_;
  running_ = true;
  gathering_ = options_.ordered;
  has_leapt_ = false;
  sender_ = run.sender;
  first_ = undecided_ = next_ = sequence;
  top_ = sequence - 1;
  alive_t_ns_ = began_t_ns_ = packet.t_ns;
  own_ = entered_sources;
  own_.add(packet.source);
  candidates_ = {};
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
  if (reason == NewRun::Reason::SequenceReset || reason == NewRun::Reason::Back) {
    sink.reset(run);
  } else {
    sink.epoch(run);
  }
  has_announced_ = false;
  has_floor_ = reason == NewRun::Reason::Back;
  if (is_first && has_known_ && !options_.carousel && sender_ == known_sender_) go_on_after_known(packet, sink);
  has_known_ = false;
}

/// Remembers where the run that is left would go on. A run that is entered again is no longer remembered.
void Arbiter::leave_run(const OldRun* entered) noexcept {
  const std::uint64_t resumed = entered != nullptr ? entered->packets : 0;
  if (entered != nullptr) {
    const auto place = old_.begin() + (entered - old_.data());
    std::copy(place + 1, old_.begin() + old_count_, place);
    --old_count_;
  }
  remember({.sender = sender_, .next = next_, .packets = stretch(), .left_t_ns = latest_t_ns_, .sources = own_});
  stretch_resumed_ = resumed;
  stretch_began_ = 0;
}

/// A full list loses the oldest place of the short ones: they are a stranger's most of the time.
void Arbiter::remember(const OldRun& run) noexcept {
  auto place = old_.begin() + old_count_;
  if (old_count_ < old_.size()) {
    ++old_count_;
  } else {
    for (place = old_.end() - 1; place != old_.begin() && is_long(*place);) --place;
    if (is_long(*place)) place = old_.end() - 1;
  }
  std::copy_backward(old_.begin(), place, place + 1);
  old_.front() = run;
}

/// The first run of this process is that of another one, if its numbers go on after those.
void Arbiter::go_on_after_known(const Packet& packet, Sink& sink) noexcept {
  const std::int64_t ahead = distance(next_, known_last_ + 1);
  // At or below the last number: a late copy, or a sender that has begun anew. It may be delivered twice, by two
  // processes; nothing is missing.
  if (ahead <= 0) return;
  has_floor_ = true;
  first_ = undecided_ = next_ - static_cast<std::uint64_t>(ahead);
  skipped_as_ = GapReason::Down;
  if (ahead > leap()) {  // the packet may be wild: what was skipped may go on
    has_leapt_ = true;
    leapt_from_ = first_;
    leapt_to_ = next_;
    leapt_t_ns_ = latest_t_ns_;
  }
  if (!options_.ordered) {
    evidence_ = {GapReason::Down, packet.arrival_ns, packet.t_ns};
    end_gathering(sink);
  }
}

void Arbiter::end_run(Sink& sink) noexcept {
  close_windows(true, sink);
  for (std::size_t line = 0; line < options_.lines.size(); ++line) judge(line, undecided_, ~std::uint64_t{0});
}

/// The run goes on at a number far ahead.
void Arbiter::jump(std::uint64_t number, Sink& sink) noexcept {
  const ErrorSample evidence = evidence_;
  close_windows(true, sink);
  if (!before(next_, number)) return;  // what was held goes on beyond it
  evidence_ = evidence;
  has_leapt_ = true;
  leapt_from_ = next_;
  leapt_to_ = number;
  leapt_t_ns_ = latest_t_ns_;
  remember({.is_leap = true,
            .sender = sender_,
            .next = leapt_from_,
            .packets = stretch(),
            .left_t_ns = leapt_t_ns_,
            .sources = own_});
  stretch_resumed_ = 0;
  stretch_began_ = run_.packets.delivered;
  advance(number - 1);
  next_ = number;
  skipped_as_ = evidence.reason;
  if (options_.ordered) {
    gathering_ = true;  // lower ones may still come: the gap is declared when they cannot any more
  } else {
    end_gathering(sink);
  }
}

// ------------------------------------------------------------------------------------------------------ inside a run

/// While packets are gathered, a lower number may become the first.
bool Arbiter::may_lower(std::uint64_t number) const noexcept {
  const bool is_start = first_ == next_ && !has_floor_;
  return gathering_ && next_ - number <= options_.window_packets &&
         top_ - number < static_cast<std::uint64_t>(reach()) && (is_start || !before(number, undecided_));
}

void Arbiter::place(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  alive_t_ns_ = std::max(alive_t_ns_, packet.t_ns);
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

  const bool is_first = note_copy(packet, number, sink);
  if (!is_first) {
    if (has_undecodable_ && undecodable_ == number) {
      retry(packet, number, sink);
    } else {
      ++run_.packets.duplicate;
    }
  } else if (before(number, next_)) {
    const Entry& known = entry(number);
    const bool was_lost = known.state == State::Lost;
    const std::uint64_t late_ns = was_lost ? since(packet.t_ns, known.t_ns) : 0;
    if (was_lost) late_by_.add(late_ns);
    count_late(packet, late_ns, sink);
  } else {
    progress_t_ns_ = std::max(progress_t_ns_, packet.t_ns);
    // It did not come to what was announced.
    if (has_announced_ && since(packet.t_ns, announced_t_ns_) > options_.switch_silence_ns) has_announced_ = false;
    const bool is_turn = !options_.ordered || (number == next_ && !gathering_ && !has_undecodable_);
    if (is_turn && is_whole(number)) {
      place_whole(packet, number, sink);
    } else if (packet.payload.size() > options_.datagram_bytes) {  // cannot be held: the window closes on it
      evidence_ = {GapReason::Room, packet.arrival_ns, packet.t_ns};
      if (gathering_) end_gathering(sink);
      while (before(next_, number)) give_up_to(number - 1, sink);
      place_whole(packet, number, sink);
    } else {
      hold(packet, number);
      if (!gathering_) drain(sink);
      while (waiting_ > options_.room_packets) close_oldest(GapReason::Room, sink);
    }
  }
  const LineState& line = lines_[index(packet.line)];
  if (!gathering_ && index(packet.line) < options_.lines.size()) {
    judge(index(packet.line), lower(undecided_, line.highest - options_.window_packets), kJudgeSteps);
  }
}

bool Arbiter::note_copy(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
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
  if (known.chunks == 0 && known.state == State::Open) known.t_ns = packet.t_ns;
  known.chunks = static_cast<std::uint8_t>(packet.preamble.chunks);
  if (!options_.chunks && options_.lines[0] && options_.lines[1]) {
    compare_copies(packet, number, is_first, sink);
  } else if (has_checks() && is_first && packet.preamble.chunk == 1) {
    known.check = check_of(packet.payload);
  }

  const std::uint8_t mine = bit_of(index_of_line);
  if (!line_has_it || (known.brought & mine) != 0) return is_first;
  ++stats.brought;
  const Line other_line = packet.line == Line::A ? Line::B : Line::A;
  LineStats& other = stats_[index(other_line)];
  if (known.brought == 0) {
    ++stats.first_copies;
  } else if (packet.line != Line::Replay && (known.brought & bit_of(index(other_line))) != 0 &&
             known.state != State::Lost) {
    // The lines may be read in another order than their packets arrived in.
    if (packet.t_ns >= known.t_ns || options_.chunks) {
      stats.behind.add(since(packet.t_ns, known.t_ns));
    } else {
      other.behind.add(known.t_ns - packet.t_ns);
      --other.first_copies;
      ++stats.first_copies;
    }
  }
  known.brought = static_cast<std::uint8_t>(known.brought | mine) & 7U;
  if (!before(number, first_) && before(number, line.judged)) {  // counted as missing before
    --stats.missing;
    if (known.state == State::Delivered) --stats.saved;
  }
  return is_first;
}

void Arbiter::compare_copies(const Packet& packet, std::uint64_t number, bool is_first, Sink& sink) noexcept {
  Entry& known = entry(number);
  const std::uint16_t check = check_of(packet.payload);
  if (is_first) {
    known.check = check;
  } else if (known.check != check && known.in_conflict == 0) {
    known.in_conflict = 1;
    ++conflicts_;
    sink.conflict({.line = packet.line, .sequence = wire(number), .wall_ns = packet.arrival_ns});
  }
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
  if (before(next_, number)) evidence_ = {GapReason::Overtaken, packet.arrival_ns, packet.t_ns};
  while (before(next_, number)) give_up_to(number - 1, sink);
  if (is_only_chunk && hand_on(packet, number, sink)) complete(number, packet.line);
  drain(sink);
}

bool Arbiter::hand_on(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  ++run_.packets.delivered;
  has_undecodable_ = false;
  if (sink.deliver(packet, epoch_)) return true;
  // One other copy may come.
  const std::uint8_t awaited = packet.line == Line::A ? bit_of(index(Line::B)) : bit_of(index(Line::A));
  if (options_.chunks || packet.line == Line::Replay || !options_.lines[0] || !options_.lines[1] ||
      (entry(number).brought & awaited) != 0) {
    return true;
  }
  has_undecodable_ = true;
  undecodable_ = number;
  undecodable_t_ns_ = packet.t_ns;
  if (!options_.ordered) return true;  // it waits for nothing, but may be made good
  entry(number).state = State::Undecodable;
  return false;
}

/// Another copy of the number that did not decode.
void Arbiter::retry(const Packet& packet, std::uint64_t number, Sink& sink) noexcept {
  const bool is_newest = options_.ordered ? number == next_ : number + 1 == next_;
  const bool is_same_line = (entry(number).brought & ~bit_of(index(packet.line)) & 3U) == 0;
  if (!is_newest || is_same_line) {
    ++run_.packets.duplicate;
    return;
  }
  has_undecodable_ = false;
  ++run_.packets.delivered;
  (void)sink.deliver(packet, epoch_);
  if (!options_.ordered) return;
  complete(number, packet.line);
  drain(sink);
}

/// No other copy of the number that did not decode is waited for any longer.
void Arbiter::settle_undecodable(Sink& sink) noexcept {
  if (!options_.ordered) has_undecodable_ = false;
  if (!has_undecodable_) return;
  has_undecodable_ = false;
  if (!options_.ordered) return;
  complete(undecodable_, Line::A);
  drain(sink);  // what was held after it may not decode either; it has a window of its own
}

void Arbiter::complete(std::uint64_t number, Line line) noexcept {
  entry(number).state = State::Delivered;
  ++(line == Line::Replay ? run_.numbers.recovered : run_.numbers.delivered);
  next_ = undecided_ = number + 1;
}

/// Delivers the held packets whose turn it is.
void Arbiter::drain(Sink& sink) noexcept {
  const auto waits_for_copy = [&] { return options_.ordered && has_undecodable_; };
  while (oldest_ != kNone && !waits_for_copy() && !before(top_, next_) && entry(next_).held != 0 && is_whole(next_)) {
    const std::uint64_t number = next_;
    Line line = Line::A;
    bool is_done = true;
    while (entry(number).held != 0) {
      const std::uint32_t slot = entry(number).held - 1;
      unhold(slot);
      line = slots_[slot].packet.line;
      is_done = hand_on(slots_[slot].packet, number, sink);
      free_slot(slot);
    }
    if (is_done) complete(number, line);
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
    evidence_.reason = skipped_as_;
    declare(first, next_ - first, sink);
  }
  drain(sink);
}

void Arbiter::give_up_to(std::uint64_t limit, Sink& sink) noexcept {
  if (options_.ordered && has_undecodable_) return settle_undecodable(sink);
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
  known.t_ns = latest_t_ns_;
}

void Arbiter::declare(std::uint64_t first, std::uint64_t count, Sink& sink) noexcept {
  run_.numbers.lost += count;
  ++gaps_;
  Gap gap{.first = wire(first),
          .count = count,
          .epoch = epoch_,
          .reason = evidence_.reason,
          .wall_ns = evidence_.wall_ns + (evidence_.reason == GapReason::Window ? options_.window_ns : 0),
          .after_t_ns = evidence_.t_ns,
          .lines = {}};
  if (before(first_, first) && top_ - first < options_.history - 1 && entry(first - 1).state == State::Delivered) {
    gap.before_t_ns = entry(first - 1).t_ns;
  }
  for (std::size_t i = 0; i < gap.lines.size(); ++i) {
    const LineState& line = lines_[i];
    gap.lines[i] = {.heard = line.heard,
                    .passed = line.heard && !before(line.highest, first + count),
                    .last_sequence = line.heard ? wire(line.highest) : 0,
                    .last_t_ns = stats_[i].last_t_ns};
  }
  sink.gap(gap);
}

void Arbiter::close_oldest(GapReason reason, Sink& sink) noexcept {
  const Slot& oldest = slots_[oldest_];
  evidence_ = {reason, oldest.packet.arrival_ns, oldest.packet.t_ns};
  if (gathering_) {
    end_gathering(sink);
  } else {
    give_up_to(oldest.number, sink);
  }
}

void Arbiter::close_windows(bool everything, Sink& sink) noexcept {
  while (oldest_ != kNone || has_undecodable_) {
    if (has_undecodable_ && (everything || undecodable_t_ns_ + options_.window_ns <= until_t_ns_)) {
      settle_undecodable(sink);
    } else if (oldest_ == kNone) {
      break;
    } else if (everything) {
      close_oldest(GapReason::End, sink);
    } else if (slots_[oldest_].packet.t_ns + options_.window_ns <= until_t_ns_) {
      close_oldest(GapReason::Window, sink);
    } else if (waiting_ >= options_.window_packets && slots_[newest_].packet.t_ns < until_t_ns_) {
      close_oldest(GapReason::Count, sink);
    } else {
      break;
    }
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
      entry(number) = Entry{};
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
  taken = {.packet = packet, .number = number};
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
  // By arrival. Lines are read one after the other, so some come out of order.
  std::uint32_t before_it = newest_;
  while (before_it != kNone && slots_[before_it].packet.t_ns > packet.t_ns) before_it = slots_[before_it].older;
  const std::uint32_t after_it = before_it != kNone ? slots_[before_it].newer : oldest_;
  taken.older = before_it;
  taken.newer = after_it;
  (before_it != kNone ? slots_[before_it].newer : oldest_) = slot;
  (after_it != kNone ? slots_[after_it].older : newest_) = slot;

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
