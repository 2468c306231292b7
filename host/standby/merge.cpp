#include "host/standby/merge.hpp"

#include <algorithm>
#include <limits>

#include "host/standby/same_record.hpp"

namespace stopbit::standby {
namespace {

using record::EventKind;
using record::EventView;
using record::HeaderView;

constexpr std::int32_t kNear = 1 << 20;
constexpr std::uint64_t kStrangerPatience = 50;
constexpr std::uint32_t kAllMessages = std::numeric_limits<std::uint32_t>::max();

constexpr std::uint64_t day_of(std::uint64_t wall_ns) noexcept {
  return wall_ns / (std::uint64_t{86'400} * 1'000'000'000);
}

constexpr std::uint64_t apart(std::uint64_t a, std::uint64_t b) noexcept {
  return a > b ? a - b : b - a;
}

/// Tags of an event record.
constexpr std::uint64_t event_tags() noexcept {
  std::uint64_t tags = record::tag_word_base(false, 0);
  for (unsigned word = 0; word < record::kValueWords; ++word) {
    const unsigned tag = word < record::kHeaderWords ? record::kHeaderTag + word : record::kEventTag;
    tags |= std::uint64_t{tag} << (8 * word);
  }
  return tags;
}

/// The event that numbers are missing, with channel and arrival of the record that shows it.
record::Slot gap_event(const record::Slot& shown_by, std::uint64_t first, std::uint64_t count) noexcept {
  constexpr std::uint64_t kNowhere = std::uint64_t{0xFF'FFFF} << 32;
  record::Slot slot = shown_by;
  slot.words[0] = record::kEventIndex | std::uint64_t{1} << 16;
  slot.words[2] = (shown_by.words[2] & (std::uint64_t{0xFFFF} << 32)) | (first & 0xFFFF'FFFF);
  slot.words[3] = shown_by.words[3] & ~std::uint64_t{0xFFFF'0000};
  slot.words[4] = static_cast<std::uint64_t>(EventKind::Gap) | kNowhere;
  slot.words[5] = first;
  slot.words[6] = count;
  slot.words[record::kTagWord] = event_tags();
  return slot;
}

}  // namespace

Merge::Merge(const MergeOptions& options, Output& output)
    : options_(options),
      output_(output),
      pool_(options.slots, options.max_record_slots),
      channels_(kMaxChannels),
      out_(options.max_record_slots) {}

Run* Merge::run_of(Channel& channel, std::uint64_t id) noexcept {
  Run& run = channel.runs[id % kRuns];
  return id != 0 && run.id == id ? &run : nullptr;
}

Reach* Merge::forgotten_of(Channel& channel, std::uint64_t id) noexcept {
  Reach& run = channel.forgotten[id % kForgotten];
  return id != 0 && run.id == id ? &run : nullptr;
}

Merge::Channel* Merge::channel_of(std::uint16_t number) {
  if (number >= kMaxChannels) return nullptr;
  std::unique_ptr<Channel>& channel = channels_[number];
  if (channel == nullptr) channel = std::make_unique<Channel>();
  return channel.get();
}

/// The place of a message among those of its number: blocks of a packet count theirs from 0 each.
std::uint32_t Merge::count_message(OfSide& of, const HeaderView& header) noexcept {
  const bool is_next = of.has_number && of.number == header.sequence() && of.counted_epoch == header.sender_epoch();
  // The first one after records that were not read may be any of its packet.
  const std::uint32_t message = is_next ? of.message + 1 : of.has_number ? 0 : header.message_index();
  of.has_number = true;
  of.number = header.sequence();
  of.message = message;
  of.counted_epoch = header.sender_epoch();
  of.was_last = (header.flags() & record::kFlagLastOfPacket) != 0;
  return message;
}

Merge::Item Merge::item_of(Side side, std::span<const record::Slot> record,
                           const RecordPool::Waiting& waiting) noexcept {
  const HeaderView header(record[0]);
  Item item{.side = side,
            .record = record,
            .place = {.number = header.sequence(), .message = waiting.message},
            .last = header.sequence(),
            .epoch = header.sender_epoch(),
            .is_last = (header.flags() & record::kFlagLastOfPacket) != 0,
            .is_recovered = (header.flags() & record::kFlagRecovered) != 0,
            .arrival_ns = header.arrival_ns(),
            .waiting = waiting};
  if (!header.is_event()) {
    item.kind = Item::Kind::Message;
    return item;
  }
  const EventView event(record[0]);
  switch (event.kind()) {
    case EventKind::Gap:
      item.kind = Item::Kind::Gap;
      item.place = {.number = static_cast<std::uint32_t>(event.first_missing())};
      item.last = static_cast<std::uint32_t>(event.first_missing() + event.missing() - 1);
      break;
    case EventKind::DecodeError:
    case EventKind::Dropped:
      // A datagram without a readable preamble is not the number's: a gap follows if no other line has it.
      if (event.code() != ErrorCode::X9) item.kind = Item::Kind::Error;
      break;
    case EventKind::Reset: item.kind = Item::Kind::Reset; break;
    default: break;
  }
  return item;
}

// The run of a record.

/// What shows the run of a record: that of the first message of a number.
Merge::OfSide::Probe Merge::probe_of(const Item& item) noexcept {
  if (item.kind != Item::Kind::Message || item.place.message != 0 || item.is_recovered) return {};
  return {.exists = true, .number = item.place.number, .hash = hash_of(item.record), .arrival_ns = item.arrival_ns};
}

/// The run that has this message, too, but for the run `before`; 0: none of those that are remembered. `is_contrary`: a
/// run has another message of that number and time.
std::uint64_t Merge::recognise(const Channel& channel, std::uint64_t before, const OfSide::Probe& probe,
                               bool& is_contrary) const noexcept {
  std::uint64_t best = 0;
  std::uint64_t best_apart = options_.skew_ns;
  for (const Run& run : channel.runs) {
    const History::Entry* entry =
        run.id == 0 || run.id == before || !probe.exists ? nullptr : run.history.find(probe.number);
    if (entry == nullptr) continue;
    const std::uint64_t now_apart = apart(entry->arrival_ns, probe.arrival_ns);
    if (now_apart > options_.skew_ns) continue;
    if (entry->hash != probe.hash) {
      is_contrary = true;
    } else if (best == 0 || now_apart < best_apart) {
      best = run.id;
      best_apart = now_apart;
    }
  }
  return best;
}

/// The same of what waits, of the epoch of the first record that does.
std::uint64_t Merge::recognise_waiting(const Channel& channel, Side side) noexcept {
  constexpr std::size_t kMost = 64;
  const OfSide& mine = channel.sides[static_cast<std::size_t>(side)];
  bool is_contrary = false;
  std::uint64_t run = recognise(channel, mine.before, mine.probe, is_contrary);
  if (run != 0) return run;
  pool_.look_at_first(mine.queue, kMost, [&](std::span<const record::Slot> record, const RecordPool::Waiting& waiting) {
    const Item item = item_of(side, record, waiting);
    if (item.epoch != mine.epoch || waiting.process != mine.process) return false;
    const auto may_have = [&](const Run& of) { return of.id != 0 && of.history.find(item.place.number) != nullptr; };
    if (std::none_of(channel.runs.begin(), channel.runs.end(), may_have)) return true;
    run = recognise(channel, mine.before, probe_of(item), is_contrary);
    return run == 0;
  });
  return run;
}

/// The run of the other side if a message of this one waits there, too.
std::uint64_t Merge::recognise_in_others(const Channel& channel, const Item& item) noexcept {
  constexpr std::size_t kMost = 64;
  const OfSide& mine = channel.sides[static_cast<std::size_t>(item.side)];
  const OfSide& theirs = channel.sides[static_cast<std::size_t>(other(item.side))];
  if (theirs.queue.empty() || theirs.run == 0 || theirs.run == mine.before) return 0;
  std::array<OfSide::Probe, 9> probes{probe_of(item)};
  std::size_t count = 1;
  pool_.look_at_first(mine.queue, probes.size() - 1,
                      [&](std::span<const record::Slot> record, const RecordPool::Waiting& waiting) {
                        const Item one = item_of(item.side, record, waiting);
                        if (one.epoch != mine.epoch || waiting.process != mine.process) return false;
                        probes[count++] = probe_of(one);
                        return true;
                      });
  bool is_same_run = false;
  pool_.look_at_first(
      theirs.queue, kMost, [&](std::span<const record::Slot> record, const RecordPool::Waiting& waiting) {
        const Item one = item_of(other(item.side), record, waiting);
        if (one.epoch != theirs.epoch || waiting.process != theirs.process) return false;
        const bool is_like_one = std::any_of(probes.begin(), probes.end(), [&](const OfSide::Probe& probe) {
          return probe.exists && probe.number == one.place.number;
        });
        if (!is_like_one) return true;
        const OfSide::Probe same = probe_of(one);
        is_same_run = same.exists && std::any_of(probes.begin(), probes.end(), [&](const OfSide::Probe& probe) {
                        return probe.exists && probe.number == same.number && probe.hash == same.hash &&
                               apart(same.arrival_ns, probe.arrival_ns) <= options_.skew_ns;
                      });
        return !is_same_run;
      });
  return is_same_run ? theirs.run : 0;
}

/// The number that arrived: that after a gap.
std::uint32_t Merge::shown_by(const Item& item) noexcept {
  return item.kind == Item::Kind::Gap ? item.last + 1 : item.last;
}

/// What numbers and times say where the sides have no record in common, as a channel that goes on after a restart.
bool Merge::goes_on(const Run& run, const Item& item) const noexcept {
  if (!run.has_high) return true;
  // As arbiters do: with these a sender begins anew. A process that begins with a gap knows that its run goes on.
  constexpr std::uint32_t kRestartNumbers = 16;
  if (item.arrival_ns + options_.skew_ns < run.began_ns) return false;
  // A replay brings old numbers at any time.
  const bool is_silent = !item.is_recovered && item.arrival_ns > run.arrival_ns + options_.skew_ns;
  if (is_silent && item.kind != Item::Kind::Gap && item.last <= kRestartNumbers && run.high.number > kRestartNumbers) {
    return false;
  }
  const std::int32_t ahead = distance(shown_by(item), run.high.number);
  if (ahead > 0) return ahead <= kNear && day_of(item.arrival_ns) == day_of(run.arrival_ns);
  return ahead >= -kNear && !is_silent;
}

std::uint64_t Merge::begin_run(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept {
  const std::uint64_t id = ++channel.newest;
  Run& run = channel.runs[id % kRuns];
  channel.forgotten[run.id % kForgotten] = run;
  run.begin(id, item.arrival_ns, now_ns);
  return id;
}

/// The run that had numbers beside this one at its time; 0: none of those that are remembered.
std::uint64_t Merge::beside(const Channel& channel, const Item& item) const noexcept {
  constexpr std::uint32_t kBeside = 64;
  const std::uint64_t before = channel.sides[static_cast<std::size_t>(item.side)].before;
  const std::uint32_t number = shown_by(item);
  for (std::uint32_t away = 0; away <= kBeside; ++away) {
    for (const Run& run : channel.runs) {
      if (run.id == 0 || run.id == before) continue;
      for (const std::uint32_t near : {number - away, number + away}) {
        const History::Entry* const entry = run.history.find(near);
        if (entry != nullptr && apart(entry->arrival_ns, item.arrival_ns) <= options_.skew_ns) return run.id;
      }
    }
  }
  return 0;
}

/// Whether the side brings no more of the record's epoch than what waits.
bool Merge::is_last_of_epoch(const OfSide& mine, const Item& item) const noexcept {
  const auto side = static_cast<std::size_t>(item.side);
  if (!alive_[side] || processes_[side] != item.waiting.process) return true;
  return !mine.queue.empty() && HeaderView(pool_.back_slot(mine.queue)).sender_epoch() != item.epoch;
}

/// Of a record that may be older than the newest run. 0: it is too old.
std::uint64_t Merge::run_by_numbers(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept {
  const Run* present = run_of(channel, channel.newest);
  // Of the time before the run, or ahead of what it had when the record arrived.
  const auto is_before = [&](const Reach& run) {
    const bool is_ahead = run.has_high && distance(shown_by(item), run.high.number) > 0;
    return item.arrival_ns + options_.skew_ns < (is_ahead ? run.arrival_ns : run.began_ns);
  };
  while (is_before(*present) && run_of(channel, present->id - 1) != nullptr) {
    present = run_of(channel, present->id - 1);
  }
  // A clock that was set back makes a record look old, too: then its side is alone.
  if (is_before(*present) && is_alive(other(item.side))) {
    for (std::uint64_t id = present->id - 1; forgotten_of(channel, id) != nullptr; --id) {
      const Reach& run = *forgotten_of(channel, id);
      if (!is_before(run)) return item.arrival_ns <= run.arrival_ns + options_.skew_ns ? id : 0;
    }
    return 0;
  }
  if (!goes_on(*present, item)) return begin_run(channel, item, now_ns);
  ++counts_.unsure;
  return present->id;
}

/// Done: the run of the side's epoch is known now, or, if it still is not, the record is dropped.
Merge::Fate Merge::find_run(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept {
  OfSide& mine = of(channel, item.side);
  const OfSide& theirs = of(channel, other(item.side));
  const Run* const newest = run_of(channel, channel.newest);
  const auto enter = [&](std::uint64_t run) {
    mine.run = run;
    mine.is_covered = false;
    if (run == 0) ++counts_.refused;
    return Fate::Done;
  };
  if (newest == nullptr) return enter(begin_run(channel, item, now_ns));
  const auto side = static_cast<std::size_t>(item.side);
  bool is_contrary = false;
  std::uint64_t known = recognise(channel, mine.before, probe_of(item), is_contrary);
  if (known == 0) known = recognise_waiting(channel, item.side);
  if (known == 0) known = recognise_in_others(channel, item);
  if (known != 0) {
    known_[side] = ever_known_[side] = true;
    return enter(known);
  }
  // Records of the other side that wait and arrived before go first: they may show the run, and say how far the newest
  // one is. But a process that has left the newest run does not wait for records of a known run, and goes before those
  // of about the same time that may be of any. Here the sides never wait for each other.
  const bool has_left = mine.before == newest->id;
  const bool both_wait = !theirs.queue.empty() && theirs.run == 0;
  if (!theirs.queue.empty() && (both_wait || !has_left)) {
    const std::uint64_t their_arrival_ns = HeaderView(pool_.front_slot(theirs.queue)).arrival_ns();
    const bool is_after = item.arrival_ns > their_arrival_ns;
    if (is_after && (!has_left || item.arrival_ns - their_arrival_ns > options_.skew_ns)) return Fate::Wait;
  }
  if (has_left) return enter(begin_run(channel, item, now_ns));
  const bool is_later = newest->has_high && !item.is_recovered && distance(shown_by(item), newest->high.number) <= 0 &&
                        item.arrival_ns > newest->arrival_ns + options_.skew_ns;
  const bool is_other_alive = is_alive(other(item.side));
  if (is_other_alive || !theirs.queue.empty()) {
    if (is_other_alive && is_later && known_[side]) return enter(begin_run(channel, item, now_ns));
    // No record of its epoch will be found in common any more. Later, its run is forgotten.
    const bool is_young = now_ns - item.waiting.since_ns < options_.patience_ns;
    const std::uint64_t read_ns = is_young ? newest->arrival_ns : std::max(newest->arrival_ns, theirs.arrival_ns);
    const bool is_last = is_last_of_epoch(mine, item);
    const bool is_over = ((!is_young || is_last) && item.arrival_ns + options_.skew_ns < newest->began_ns) ||
                         (is_last && item.arrival_ns + options_.skew_ns < read_ns);
    if (is_over && !is_contrary && ever_known_[side]) {
      if (const std::uint64_t run = beside(channel, item); run != 0) {
        ++counts_.unsure;
        return enter(run);
      }
      return enter(run_by_numbers(channel, item, now_ns));
    }
    // Of a side that has ended what waits comes first.
    const bool is_next = !theirs.queue.empty() && now_ns - pool_.back(theirs.queue).since_ns <= options_.patience_ns;
    if (!is_other_alive && !item.is_forced && is_next) return Fate::Wait;
    // A side that had no record in common with the other one may be of another feed.
    const std::uint64_t silence_ns = options_.patience_ns * (known_[side] ? 1 : kStrangerPatience);
    const bool is_moving = is_other_alive && !both_wait && now_ns - newest->moved_ns < silence_ns;
    if (is_other_alive && !item.is_forced && (is_young || (is_moving && !is_contrary))) return Fate::Wait;
    if (is_other_alive && (is_moving || is_contrary)) {
      ++counts_.foreign;
      return Fate::Done;
    }
  }
  if (is_later) return enter(begin_run(channel, item, now_ns));
  return enter(run_by_numbers(channel, item, now_ns));
}

// What becomes of a record.

/// What must have come, or be given up, before the record.
std::optional<Merge::Hole> Merge::hole_before(const Run& run, const OfSide& of, const Item& item) noexcept {
  const Place next = run.next();
  switch (item.kind) {
    case Item::Kind::Gap: {
      if (run.has_passed(item.last)) return std::nullopt;
      const bool is_begun = run.has_high && (!of.is_covered || distance(item.place.number, next.number) <= 0);
      return Hole{.first = is_begun ? next : item.place, .last = item.last};
    }
    case Item::Kind::Error: {
      if (run.has_passed(item.last) || run.missing.contains(item.last)) return std::nullopt;
      const bool is_begun = run.has_high && (!of.is_covered || item.last == run.high.number);
      return Hole{.first = is_begun ? next : Place{.number = item.last}, .last = item.last};
    }
    case Item::Kind::Message: {
      if (of.is_covered || !run.has_high) return std::nullopt;
      const std::int32_t ahead = distance(item.place.number, next.number);
      if (ahead < 0 || (ahead == 0 && item.place.message <= next.message)) return std::nullopt;
      const std::uint32_t last = item.place.message == 0 ? item.place.number - 1 : item.place.number;
      return Hole{.first = next, .last = last};
    }
    default: return std::nullopt;
  }
}

/// What the other side waits for, in the same run.
std::optional<Merge::Hole> Merge::others_hole(Channel& channel, const Run& run, Side side) noexcept {
  OfSide& theirs = of(channel, other(side));
  if (theirs.queue.empty() || theirs.run != run.id) return std::nullopt;
  const record::Slot& slot = pool_.front_slot(theirs.queue);
  if (HeaderView(slot).sender_epoch() != theirs.epoch || pool_.front(theirs.queue).process != theirs.process) {
    return std::nullopt;
  }
  const Item item = item_of(other(side), {&slot, 1}, pool_.front(theirs.queue));
  return hole_before(run, theirs, item);
}

/// Waits for the other side, or gives up what neither has. Done: the record may go on; look again.
Merge::Fate Merge::close_hole(Channel& channel, Run& run, const Item& item, const Hole& hole,
                              std::uint64_t now_ns) noexcept {
  const OfSide& theirs = of(channel, other(item.side));
  if (const std::optional<Hole> their_hole = others_hole(channel, run, item.side)) {
    if (distance(their_hole->last, hole.first.number) < 0) return Fate::Wait;
    if (distance(hole.last, their_hole->first.number) < 0) {
      // The other side has read all of these numbers, and there are no messages in them.
      run.high = {.number = hole.last, .message = kAllMessages};
      run.is_whole = run.has_high = true;
      return Fate::Done;
    }
    Hole common = hole;
    if (distance(their_hole->first.number, hole.first.number) > 0) common.first = their_hole->first;
    if (distance(their_hole->last, hole.last) < 0) common.last = their_hole->last;
    report(run, item, common, now_ns);
    return Fate::Done;
  }
  const bool has_left = theirs.run > run.id;
  const bool is_over = item.is_forced || now_ns - item.waiting.since_ns >= options_.patience_ns;
  const bool is_waiting = !theirs.queue.empty() && (theirs.run == 0 || theirs.run == run.id);
  if ((is_alive(other(item.side)) || is_waiting) && !has_left && !is_over) return Fate::Wait;
  report(run, item, hole, now_ns);
  return Fate::Done;
}

/// Neither side has it: says so, once.
void Merge::report(Run& run, const Item& item, const Hole& hole, std::uint64_t now_ns) noexcept {
  Place first = hole.first;
  if (item.kind == Item::Kind::Error && hole.last == item.last && hole.first.number == item.last) {
    // The event itself says it.
    send(run.id, item, false);
    ++counts_.lost;
    run.missing.add(first.number, first.message, first.number);
    run.has_error = true;
    run.error_number = first.number;
    if (!run.has_high || distance(first.number, run.high.number) > 0) run.high = first;
    run.has_high = true;
    run.is_whole = false;
    run.arrival_ns = item.arrival_ns;
    run.moved_ns = now_ns;
    run.from = static_cast<unsigned>(item.side);
    return;
  }
  if (run.missing.contains(first.number)) first = {.number = first.number + 1};
  const bool is_said = distance(first.number, hole.last) > 0;
  if (!is_said) say_lost(run, item, first, hole.last);
  run.high = {.number = hole.last, .message = kAllMessages};
  run.has_high = run.is_whole = true;
  run.arrival_ns = item.arrival_ns;
  run.moved_ns = now_ns;
  run.from = static_cast<unsigned>(item.side);
}

void Merge::say_lost(Run& run, const Item& item, const Place& first, std::uint32_t last) noexcept {
  const std::uint32_t count = last - first.number + 1;
  // Numbers of more than 32 bits are in gaps alone.
  const std::uint64_t base = item.kind == Item::Kind::Gap ? EventView(item.record[0]).first_missing() : first.number;
  const std::int64_t from_base = distance(first.number, static_cast<std::uint32_t>(base));
  const record::Slot slot = gap_event(item.record[0], base + static_cast<std::uint64_t>(from_base), count);
  Item said = item;
  said.record = {&slot, 1};
  send(run.id, said, false);
  counts_.lost += count;
  run.missing.add(first.number, first.message, last);
}

void Merge::send(std::uint64_t run, const Item& item, bool is_recovered) noexcept {
  std::copy(item.record.begin(), item.record.end(), out_.begin());
  constexpr std::uint64_t kEpoch = std::uint64_t{0xFFFF} << 32;
  out_[0].words[3] = (out_[0].words[3] & ~kEpoch) | ((run - 1) << 32 & kEpoch);
  if (is_recovered) out_[0].words[2] |= std::uint64_t{record::kFlagRecovered} << 56;
  ++counts_.delivered[static_cast<std::size_t>(item.side)];
  output_.record({out_.data(), item.record.size()}, item.side);
}

/// Whether nothing of the number follows. In a packet of blocks each block has a last message.
bool Merge::ends_number(const Channel& channel, const Item& item) noexcept {
  return item.is_last && !channel.has_blocks;
}

/// A message beyond all that came.
void Merge::deliver(const Channel& channel, Run& run, const Item& item, std::uint64_t now_ns) noexcept {
  const bool is_end = ends_number(channel, item);
  run.high = {.number = item.place.number, .message = item.place.message + 1};
  run.has_high = true;
  run.is_whole = is_end;
  run.arrival_ns = item.arrival_ns;
  run.moved_ns = now_ns;
  run.from = static_cast<unsigned>(item.side);
  if (run.has_error && run.error_number == item.place.number) (void)run.missing.take(item.place, is_end);
  if (item.place.message == 0 && !item.is_recovered) {
    run.history.add(item.place.number, hash_of(item.record), item.arrival_ns);
  }
  send(run.id, item, false);
}

/// What is beyond its end goes on. Which messages before that did not come, is forgotten, too.
void Merge::step_in_forgotten(Channel& channel, Reach& run, const Item& item) noexcept {
  OfSide& mine = of(channel, item.side);
  const bool is_loss = item.kind == Item::Kind::Gap || item.kind == Item::Kind::Error;
  if (item.kind != Item::Kind::Message && !is_loss) return;
  const Place next = run.has_high ? run.next() : item.place;
  const bool is_covered = mine.is_covered;
  mine.is_covered = is_covered || !item.is_recovered;
  const std::int32_t ahead = distance(item.last, next.number);
  if (ahead < 0 || (ahead == 0 && !is_loss && item.place.message < next.message)) {
    if (!is_loss) ++counts_.copies;
    return;
  }
  // It does not wait for the other side, whose records of this run have come already, or come too late.
  const auto say_gap = [&](std::uint64_t first, std::uint32_t count) {
    const record::Slot slot = gap_event(item.record[0], first, count);
    Item said = item;
    said.record = {&slot, 1};
    send(run.id, said, false);
    counts_.lost += count;
  };
  const std::int32_t unread = distance(item.place.number, next.number);
  if (!is_covered && unread > 0) say_gap(next.number, static_cast<std::uint32_t>(unread));
  if (item.kind == Item::Kind::Gap) {
    const EventView gap(item.record[0]);
    const std::uint64_t passed = unread < 0 ? static_cast<std::uint64_t>(-std::int64_t{unread}) : 0;
    say_gap(gap.first_missing() + passed, static_cast<std::uint32_t>(gap.missing() - passed));
  } else {
    send(run.id, item, false);
    if (is_loss) ++counts_.lost;
  }
  run.high = {.number = item.last, .message = is_loss ? kAllMessages : item.place.message + 1};
  run.has_high = true;
  run.is_whole = is_loss || ends_number(channel, item);
  run.arrival_ns = item.arrival_ns;
}

/// A record far ahead of all that came would make the numbers before it old, and with them the other side's: it is
/// believed if the other side is there, too, or brings nothing. Nothing: go on.
std::optional<Merge::Fate> Merge::judge_leap(Channel& channel, const Run& run, const Item& item,
                                             std::uint64_t now_ns) noexcept {
  const auto leap_over = [&](std::uint32_t number) { return distance(item.last, number) > kNear; };
  if (!run.has_high || !leap_over(run.high.number)) return std::nullopt;
  const OfSide& theirs = of(channel, other(item.side));
  const bool is_moving = is_alive(other(item.side)) && theirs.heard_ns != 0 && theirs.run == run.id &&
                         now_ns - theirs.heard_ns < kStrangerPatience * options_.patience_ns;
  if (!is_moving || !leap_over(theirs.number)) return std::nullopt;
  if (!item.is_forced && now_ns - item.waiting.since_ns < options_.patience_ns) return Fate::Wait;
  ++counts_.foreign;
  of(channel, item.side).is_covered = false;
  return Fate::Done;
}

Merge::Fate Merge::step_in_run(Channel& channel, Run& run, const Item& item, std::uint64_t now_ns) noexcept {
  OfSide& mine = of(channel, item.side);
  if (const std::optional<Fate> fate = judge_leap(channel, run, item, now_ns)) return *fate;
  while (const std::optional<Hole> hole = hole_before(run, mine, item)) {
    if (close_hole(channel, run, item, *hole, now_ns) == Fate::Wait) return Fate::Wait;
  }
  switch (item.kind) {
    case Item::Kind::Gap:
    case Item::Kind::Error:
      // The other side may be within its last number, and this one goes on.
      if (run.has_high && item.last == run.high.number && run.high.message != kAllMessages) {
        run.missing.add(run.high.number, run.high.message, run.high.number);
      }
      mine.is_covered = true;
      return Fate::Done;
    case Item::Kind::Reset:
      if (!run.has_high && !run.has_reset) send(run.id, item, false);
      run.has_reset = true;
      return Fate::Done;
    case Item::Kind::Other:
      if (!run.has_high || run.from == static_cast<unsigned>(item.side)) send(run.id, item, false);
      return Fate::Done;
    case Item::Kind::Message: break;
  }
  // One that a replay brought says nothing of the numbers after it.
  if (!item.is_recovered) mine.is_covered = true;
  const std::int32_t ahead = run.has_high ? distance(item.place.number, run.high.number) : 1;
  if (ahead > 0 || (ahead == 0 && item.place.message >= run.high.message)) {
    deliver(channel, run, item, now_ns);
  } else if (run.missing.take(item.place, ends_number(channel, item))) {
    ++counts_.filled;
    send(run.id, item, true);
  } else {
    ++counts_.copies;
  }
  return Fate::Done;
}

Merge::Fate Merge::step(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept {
  OfSide& mine = of(channel, item.side);
  if (mine.process != item.waiting.process) {
    mine.process = item.waiting.process;
    mine.has_epoch = false;
    mine.run = mine.before = 0;
  }
  if (mine.hole != item.waiting.hole) mine.is_covered = false;
  mine.hole = item.waiting.hole;
  if (!mine.has_epoch || mine.epoch != item.epoch) {
    if (mine.run != 0) mine.before = mine.run;
    mine.has_epoch = true;
    mine.epoch = item.epoch;
    mine.run = 0;
    mine.probe = {};
  }
  if (mine.run == 0 && find_run(channel, item, now_ns) == Fate::Wait) return Fate::Wait;
  if (mine.run == 0) return Fate::Done;
  Run* const run = run_of(channel, mine.run);
  if (run == nullptr) {
    if (Reach* const forgotten = forgotten_of(channel, mine.run)) {
      step_in_forgotten(channel, *forgotten, item);
    } else {
      ++counts_.refused;
    }
    return Fate::Done;
  }
  return step_in_run(channel, *run, item, now_ns);
}

/// Without numbers a copy cannot be recognised: the packets of one side are delivered.
bool Merge::take_unnumbered(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept {
  if (!channel.has_no_numbers) return false;
  const bool is_silent = now_ns - channel.heard_ns >= options_.patience_ns;
  if (item.side != channel.owner && is_alive(channel.owner) && !is_silent) {
    ++counts_.copies;
    return true;
  }
  channel.owner = item.side;
  channel.heard_ns = now_ns;
  send(channel.newest, item, false);
  return true;
}

/// A message that waits may show the run sooner than the first one that waits: the latest one that a run may have, and
/// once one has, that one.
void Merge::note_probe(const Channel& channel, OfSide& mine, const Item& item) const noexcept {
  const OfSide::Probe probe = probe_of(item);
  bool is_contrary = false;
  if (!probe.exists) return;
  const bool is_pending =
      mine.probe.exists && std::none_of(channel.runs.begin(), channel.runs.end(), [&](const Run& run) {
        return run.id == channel.newest && run.has_passed(mine.probe.number);
      });
  if (!is_pending || recognise(channel, mine.before, probe, is_contrary) != 0) mine.probe = probe;
}

void Merge::take(Side side, std::span<const record::Slot> record, std::uint64_t now_ns) {
  if (record.empty() || record.size() > out_.size()) {
    ++counts_.refused;
    return;
  }
  const HeaderView header(record[0]);
  const EventView event(record[0]);
  if (header.is_event() && event.kind() == EventKind::Lost) return hole(side);
  // Which image a ring has, its reader knows.
  if (header.is_event() && event.kind() == EventKind::LayoutChanged) return;
  const bool is_gap = header.is_event() && event.kind() == EventKind::Gap;
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 31;
  Channel* const channel = channel_of(header.channel());
  if (channel == nullptr || header.is_market_event() ||
      (is_gap && (event.missing() == 0 || event.missing() > kLongest))) {
    ++counts_.refused;
    return;
  }
  OfSide& mine = of(*channel, side);
  const bool is_after_last = !header.is_event() && mine.has_number && mine.was_last && mine.number == header.sequence();
  if (is_after_last && header.sequence() == 0 && channel->newest != 0) {
    if (!channel->has_no_numbers) channel->owner = side;
    channel->has_no_numbers = true;
  } else if (header.sequence() != 0) {
    channel->has_no_numbers = false;
    if (is_after_last && mine.counted_epoch == header.sender_epoch()) channel->has_blocks = true;
  }
  if (!header.is_event()) mine.heard_ns = now_ns;
  mine.arrival_ns = header.arrival_ns();
  const auto index = static_cast<std::size_t>(side);
  const Item item = item_of(side, record,
                            {.message = header.is_event() ? 0 : count_message(mine, header),
                             .process = processes_[index],
                             .hole = holes_[index],
                             .since_ns = now_ns});
  if (take_unnumbered(*channel, item, now_ns)) return;
  if (mine.queue.empty() && step(*channel, item, now_ns) == Fate::Done) {
    if (waiting_ != 0) settle(*channel, now_ns);
    return;
  }
  const bool is_of_head = mine.epoch == item.epoch && mine.process == item.waiting.process;
  if (!mine.queue.empty() && mine.run == 0 && is_of_head) note_probe(*channel, mine, item);
  push(*channel, item, now_ns);
  settle(*channel, now_ns);
}

// Records that wait.

void Merge::push(Channel& channel, const Item& item, std::uint64_t now_ns) noexcept {
  RecordPool::Queue& queue = of(channel, item.side).queue;
  if (!pool_.push(queue, item.record, item.waiting)) {
    // All that waits is given up, and then this one.
    drain(Side::First, now_ns);
    drain(Side::Second, now_ns);
    if (!pool_.push(queue, item.record, item.waiting)) {
      ++counts_.dropped;
      of(channel, item.side).is_covered = false;
      return;
    }
  }
  ++waiting_;
}

void Merge::settle(Channel& channel, std::uint64_t now_ns) noexcept {
  // In turns of a few numbers: what one side brings must still be in the history when the other one looks for it there.
  // And of one run: what one side brings of it must find it before it is forgotten.
  constexpr unsigned kTurn = 256;
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (const Side side : {Side::First, Side::Second}) {
      const std::uint64_t newest = channel.newest;
      for (unsigned n = 0; n < kTurn && channel.newest == newest && step_first(channel, side, false, now_ns); ++n) {
        has_moved = true;
      }
    }
    if (has_moved || is_alive(Side::First) || is_alive(Side::Second)) continue;
    // Nothing comes any more that these could wait for. The one whose run is known goes first.
    const Side first = of(channel, Side::First).run != 0 ? Side::First : Side::Second;
    has_moved = step_first(channel, first, true, now_ns) || step_first(channel, other(first), true, now_ns);
  }
}

/// Takes the side's first record that waits, if it can go on.
bool Merge::step_first(Channel& channel, Side side, bool is_forced, std::uint64_t now_ns) noexcept {
  RecordPool::Queue& queue = of(channel, side).queue;
  if (queue.empty()) return false;
  Item item = item_of(side, pool_.copy_front(queue), pool_.front(queue));
  item.is_forced = is_forced;
  if (step(channel, item, now_ns) == Fate::Wait) return false;
  pool_.pop(queue);
  --waiting_;
  return true;
}

/// What waits of the side waits no longer.
void Merge::drain(Channel& channel, Side side, std::uint64_t now_ns) noexcept {
  RecordPool::Queue& queue = of(channel, side).queue;
  while (!queue.empty()) {
    if (step_first(channel, side, true, now_ns)) continue;
    // The other side waits for what comes before: that first.
    if (step_first(channel, other(side), true, now_ns)) continue;
    pool_.pop(queue);
    --waiting_;
    ++counts_.dropped;
  }
}

void Merge::drain(Side side, std::uint64_t now_ns) noexcept {
  for (const auto& channel : channels_) {
    if (channel != nullptr) drain(*channel, side, now_ns);
  }
}

void Merge::began(Side side) noexcept {
  const auto index = static_cast<std::size_t>(side);
  ++processes_[index];
  known_[index] = false;
  alive_[index] = true;
  hole(side);
}

void Merge::hole(Side side) noexcept {
  ++holes_[static_cast<std::size_t>(side)];
  for (const auto& channel : channels_) {
    if (channel != nullptr) of(*channel, side).has_number = false;
  }
}

void Merge::ended(Side side, std::uint64_t now_ns) noexcept {
  alive_[static_cast<std::size_t>(side)] = false;
  tick(now_ns);
}

void Merge::tick(std::uint64_t now_ns) noexcept {
  if (waiting_ == 0) return;
  for (const auto& channel : channels_) {
    if (channel != nullptr) settle(*channel, now_ns);
  }
}

}  // namespace stopbit::standby
