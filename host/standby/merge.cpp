#include "host/standby/merge.hpp"

#include <algorithm>

#include "host/standby/same_record.hpp"

namespace stopbit::standby {
namespace {

using record::EventKind;
using record::EventView;
using record::HeaderView;

/// Numbers wrap.
std::int32_t distance(std::uint32_t number, std::uint32_t from) noexcept {
  return static_cast<std::int32_t>(number - from);
}

/// The event is about a packet, whose number it has.
bool is_of_packet(const record::Slot& slot) noexcept {
  const EventKind kind = EventView(slot).kind();
  return kind != EventKind::Lost && kind != EventKind::LayoutChanged;
}

}  // namespace

// Missing numbers.

void Merge::Missing::add(std::uint32_t first, std::uint32_t last) noexcept {
  if (count_ == kRoom) {
    std::copy(ranges_.begin() + 1, ranges_.end(), ranges_.begin());
    --count_;
  }
  ranges_[count_++] = {first, last};
}

void Merge::Missing::remove(std::uint32_t number) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    const Range range = ranges_[i];
    if (number - range.first > range.last - range.first) continue;
    std::copy(ranges_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
              ranges_.begin() + static_cast<std::ptrdiff_t>(count_), ranges_.begin() + static_cast<std::ptrdiff_t>(i));
    --count_;
    if (number != range.first) add(range.first, number - 1);
    if (number != range.last) add(number + 1, range.last);
    return;
  }
}

void Merge::Missing::forget_before(std::uint32_t high) noexcept {
  const auto kept = std::remove_if(ranges_.begin(), ranges_.begin() + static_cast<std::ptrdiff_t>(count_),
                                   [&](const Range& range) { return high - range.last > kRemembered; });
  count_ = static_cast<std::size_t>(kept - ranges_.begin());
}

bool Merge::Missing::contains(std::uint32_t number) const noexcept {
  return std::any_of(ranges_.begin(), ranges_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [&](const Range& range) { return number - range.first <= range.last - range.first; });
}

// Runs.

Merge::Merge(const MergeOptions& options, Output& output)
    : options_(options), output_(output), queue_(options.slots), channels_(kMaxChannels) {}

Merge::Channel* Merge::channel_of(const HeaderView& header) {
  if (header.channel() >= kMaxChannels) return nullptr;
  std::unique_ptr<Channel>& channel = channels_[header.channel()];
  if (channel == nullptr) channel = std::make_unique<Channel>();
  return channel.get();
}

std::uint64_t Merge::run_of(const OfSide& side, std::uint16_t epoch) noexcept {
  for (const Known& known : side.epochs) {
    if (known.run != 0 && known.epoch == epoch) return known.run;
  }
  return 0;
}

bool Merge::has_run(const OfSide& side, std::uint64_t run) noexcept {
  return std::any_of(side.epochs.begin(), side.epochs.end(), [&](const Known& known) { return known.run == run; });
}

void Merge::put_run(OfSide& side, std::uint16_t epoch, std::uint64_t run) noexcept {
  side.epochs[side.next_epoch++ % side.epochs.size()] = {.epoch = epoch, .run = run};
}

void Merge::begin_run(Channel& channel) noexcept {
  ++channel.run;
  channel.has_high = channel.has_reset = false;
  channel.high = channel.recovered = {};
  channel.missing.clear();
}

/// Both sides have the record: their epochs are one run.
void Merge::match(Channel& channel, Side side, const Seen& seen) noexcept {
  OfSide& mine = of(channel, side);
  OfSide& others = of(channel, other(side));
  const std::size_t count = std::min(others.seen_count, others.seen.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Seen& one = others.seen[i];
    if (one.hash != seen.hash || one.number != seen.number || one.message != seen.message) continue;
    const std::uint64_t run = run_of(mine, seen.epoch);
    const std::uint64_t others_run = run_of(others, one.epoch);
    // A run has one epoch of a side: else it is a message that another run has, too.
    if (run == 0 && others_run != 0 && !has_run(mine, others_run)) put_run(mine, seen.epoch, others_run);
    if (run != 0 && others_run == 0 && !has_run(others, run)) put_run(others, one.epoch, run);
    return;
  }
}

/// Remembers a message, so that one of the other side can be known again.
void Merge::note(Channel& channel, Side side, std::span<const record::Slot> record) noexcept {
  const HeaderView header(record[0]);
  if (header.is_event()) return;
  OfSide& mine = of(channel, side);
  const Seen seen{.number = header.sequence(),
                  .message = header.message_index(),
                  .epoch = header.sender_epoch(),
                  .hash = hash_of(record)};
  mine.seen[mine.seen_count++ % mine.seen.size()] = seen;
  match(channel, side, seen);
}

/// A record of the active side, of an epoch that belongs to no run yet: it begins one, or goes on with the present one.
void Merge::enter_run(Channel& channel, Side side, const HeaderView& header) noexcept {
  constexpr std::int32_t kNear = 1 << 20;
  constexpr std::uint64_t kLaterNs = 1'000'000'000;
  OfSide& mine = of(channel, side);
  if (channel.run == 0 || has_run(mine, channel.run)) {
    begin_run(channel);
  } else if (channel.has_high) {
    // The sides had no record in common: numbers and times say whether it goes on.
    ++counts_.unsure;
    const std::int32_t step = distance(header.sequence(), channel.high.number);
    const bool is_back = step <= 0 && header.arrival_ns() > channel.high_arrival_ns + kLaterNs;
    if (is_back || step > kNear || step < -kNear) begin_run(channel);
  }
  put_run(mine, header.sender_epoch(), channel.run);
}

// Records.

Merge::Fate Merge::fate_of(Channel& channel, Side side, const record::Slot& first) noexcept {
  const HeaderView header(first);
  const std::uint64_t run = run_of(of(channel, side), header.sender_epoch());
  if (run == 0) return Fate::Unknown;
  if (run < channel.run) return Fate::Copy;
  if (header.is_event()) return fate_of_event(channel, side, first);
  if (!channel.has_high) return Fate::New;
  const std::uint32_t number = header.sequence();
  const std::int32_t ahead = distance(number, channel.high.number);
  if (ahead > 0) return Fate::New;
  if (channel.missing.contains(number)) {
    const bool has_come = channel.recovered.number == number && header.message_index() <= channel.recovered.message;
    return has_come ? Fate::Copy : Fate::Missing;
  }
  return ahead == 0 && header.message_index() > channel.high.message ? Fate::New : Fate::Copy;
}

Merge::Fate Merge::fate_of_event(const Channel& channel, Side side, const record::Slot& slot) noexcept {
  const EventView event(slot);
  if (event.kind() == EventKind::Reset) return channel.has_high || channel.has_reset ? Fate::Copy : Fate::New;
  if (!channel.has_high) return Fate::New;
  const bool is_gap = event.kind() == EventKind::Gap;
  const std::uint32_t number =
      is_gap ? static_cast<std::uint32_t>(event.first_missing() + event.missing() - 1) : HeaderView(slot).sequence();
  const std::int32_t ahead = distance(number, channel.high.number);
  // What a side says of the packet that it has just brought.
  const bool is_of_high = ahead == 0 && !is_gap && channel.high_from == side;
  return ahead > 0 || is_of_high ? Fate::New : Fate::Copy;
}

void Merge::send(std::span<const record::Slot> record, Side side) noexcept {
  ++counts_.delivered;
  output_.record(record, side);
}

void Merge::rise(Channel& channel, Side side, const Place& high, std::uint64_t arrival_ns) noexcept {
  channel.high = high;
  channel.has_high = true;
  channel.high_from = side;
  channel.high_arrival_ns = arrival_ns;
}

/// What of a gap is not known yet.
void Merge::deliver_gap(Channel& channel, Side side, const record::Slot& slot) noexcept {
  const EventView event(slot);
  auto first = static_cast<std::uint32_t>(event.first_missing());
  const auto last = static_cast<std::uint32_t>(event.first_missing() + event.missing() - 1);
  record::Slot trimmed = slot;
  if (channel.has_high && distance(first, channel.high.number) <= 0) {
    first = channel.high.number + 1;
    trimmed.words[2] = (slot.words[2] & ~std::uint64_t{0xFFFF'FFFF}) | first;
    trimmed.words[5] = first;
    trimmed.words[6] = std::uint64_t{last - first} + 1;
  }
  channel.missing.forget_before(last);
  channel.missing.add(first, last);
  rise(channel, side, {.number = last, .message = kWhole}, HeaderView(slot).arrival_ns());
  send({&trimmed, 1}, side);
}

void Merge::deliver(Channel& channel, Side side, std::span<const record::Slot> record) noexcept {
  const HeaderView header(record[0]);
  if (header.is_event()) {
    const EventKind kind = EventView(record[0]).kind();
    if (kind == EventKind::Gap) return deliver_gap(channel, side, record[0]);
    channel.has_reset = channel.has_reset || kind == EventKind::Reset;
    return send(record, side);
  }
  const std::uint32_t number = header.sequence();
  const bool is_last = (header.flags() & record::kFlagLastOfPacket) != 0;
  const bool is_missing =
      channel.has_high && distance(number, channel.high.number) <= 0 && channel.missing.contains(number);
  if (is_missing) {
    channel.recovered = {.number = number, .message = header.message_index()};
    if (is_last) channel.missing.remove(number);
  } else {
    rise(channel, side, {.number = number, .message = is_last ? kWhole : std::int32_t{header.message_index()}},
         header.arrival_ns());
  }
  if (!is_missing || (header.flags() & record::kFlagRecovered) != 0) return send(record, side);
  scratch_.assign(record.begin(), record.end());
  scratch_[0].words[2] |= std::uint64_t{record::kFlagRecovered} << 56;
  send(scratch_, side);
}

/// A record of the active side.
void Merge::go_on(Side side, std::span<const record::Slot> record) noexcept {
  const HeaderView header(record[0]);
  Channel* const channel = channel_of(header);
  if (channel == nullptr) {
    ++counts_.refused;
    return;
  }
  if (header.is_event() && !is_of_packet(record[0])) return send(record, side);
  if (run_of(of(*channel, side), header.sender_epoch()) == 0) enter_run(*channel, side, header);
  if (fate_of(*channel, side, record[0]) == Fate::Copy) {
    ++counts_.copies;
    return;
  }
  deliver(*channel, side, record);
}

void Merge::take(Side side, std::span<const record::Slot> record, std::uint64_t now_ns) {
  if (record.empty()) return;
  const HeaderView header(record[0]);
  Channel* const channel = channel_of(header);
  if (side == active_) {
    go_on(side, record);
    if (channel != nullptr) note(*channel, side, record);
    return prune();
  }
  if (channel == nullptr || (header.is_event() && !is_of_packet(record[0]))) return;
  note(*channel, side, record);
  if (queue_.empty() && fate_of(*channel, side, record[0]) == Fate::Copy) {
    ++counts_.copies;
    return;
  }
  while (!queue_.has_room(record.size()) && !queue_.empty()) {
    queue_.pop();
    ++counts_.dropped;
  }
  if (!queue_.has_room(record.size())) {
    ++counts_.dropped;
    return;
  }
  queue_.push(record, now_ns);
  prune();
}

/// Lets go of what the active side has brought, and delivers what it has lost.
void Merge::prune() noexcept {
  const Side side = other(active_);
  while (!queue_.empty()) {
    const std::span<const record::Slot> front = queue_.front();
    Channel& channel = *channel_of(HeaderView(front[0]));
    const Fate fate = fate_of(channel, side, front[0]);
    if (fate == Fate::New || fate == Fate::Unknown) return;
    if (fate == Fate::Missing) {
      ++counts_.filled;
      deliver(channel, side, front);
    } else {
      ++counts_.copies;
    }
    queue_.pop();
  }
}

void Merge::tick(std::uint64_t now_ns) {
  if (queue_.empty() || now_ns - queue_.front_ns() < options_.patience_ns) return;
  switch_over();
}

void Merge::switch_over() {
  active_ = other(active_);
  ++counts_.switches;
  // What the other side has queued comes first; its next records find themselves here.
  while (!queue_.empty()) {
    go_on(active_, queue_.front());
    queue_.pop();
  }
}

void Merge::restarted(Side side) noexcept {
  for (const auto& channel : channels_) {
    if (channel != nullptr) of(*channel, side) = {};
  }
}

}  // namespace stopbit::standby
