#include "host/market/stage/recovery.hpp"

#include <algorithm>

namespace stopbit::market {
namespace {

constexpr std::size_t kChannels = 65'536;

/// What a channel gets of the room for all of them.
std::uint32_t share(std::uint32_t room, const RecoveryOptions& options) {
  constexpr std::uint32_t kLeast = 1'024;
  const auto has_increments = [](const ChannelPlan& plan) { return plan.has_increments; };
  const auto planned =
      static_cast<std::uint32_t>(std::count_if(options.channels.begin(), options.channels.end(), has_increments));
  const std::uint32_t channels = std::max(options.channels.empty() ? options.increments : planned, 1U);
  return std::min(room, std::max(room / channels, kLeast));
}

}  // namespace

Recovery::Recovery(const RecoveryOptions& options, ScopeOf scope, const Market& market, Shapes& shapes)
    : scope_(scope),
      is_planned_(!options.channels.empty()),
      market_(market),
      shapes_(shapes),
      by_channel_(std::make_unique<std::uint16_t[]>(kChannels)),
      recovers_(std::make_unique<std::uint16_t[]>(kChannels)),
      homes_(std::make_unique<Home[]>(std::size_t{market.instruments.view().capacity()} + 1)) {
  SyncOptions sync{.scope = scope,
                   .policy = options.policy,
                   .refresh = options.refresh,
                   .snapshots = false,
                   .may_return = !market.restarts.has_rows(),  // they look at the exchange's time, too
                   .instruments = market.instruments.view().capacity(),
                   .products = scope == ScopeOf::Product ? options.products : 0,
                   .queued = share(options.queued, options),
                   .holes = share(options.holes, options),
                   .patience_ns = options.patience_ns};
  const auto make = [&] {
    const auto index = static_cast<std::uint16_t>(channels_.size() + 1);
    channels_.push_back(std::make_unique<SyncChannel>(market, sync, options.picture, index));
  };
  for (const ChannelPlan& plan : options.channels) {
    if (!plan.has_increments) continue;
    const auto snapshots = std::find_if(options.channels.begin(), options.channels.end(),
                                        [&](const ChannelPlan& other) { return other.recovers == plan.number; });
    sync.snapshots = snapshots != options.channels.end();
    sync.cycle_ns = sync.snapshots ? snapshots->cycle_ns : 0;
    make();
    channels_.back()->bind(plan.number, plan.sequence_bits, true);
    by_channel_[plan.number] = static_cast<std::uint16_t>(channels_.size());
  }
  bound_ = channels_.size();
  for (const ChannelPlan& plan : options.channels) {
    if (plan.recovers) recovers_[plan.number] = by_channel_[*plan.recovers];
  }
  sync.snapshots = false;
  sync.cycle_ns = 0;
  while (!is_planned_ && channels_.size() < std::max(options.increments, 1U)) make();
}

SyncChannel* Recovery::bind(std::uint16_t channel, bool has_increments) noexcept {
  if (bound_ == channels_.size()) return nullptr;
  SyncChannel& made = *channels_[bound_++];
  // Numbers of packets show in records; a channel without any has 0 in all of them.
  made.bind(channel, market_.message.sequence == 0 ? 0 : 32, has_increments);
  by_channel_[channel] = static_cast<std::uint16_t>(bound_);
  return &made;
}

/// Snapshots came before the increments that they heal, on another channel.
void Recovery::move(SyncChannel& from, std::uint16_t channel) noexcept {
  const std::uint16_t at = by_channel_[from.channel()];
  by_channel_[from.channel()] = 0;
  by_channel_[channel] = at;
  from.bind(channel, market_.message.sequence == 0 ? 0 : 32, true);
  for (std::uint32_t row = 1; row <= market_.instruments.count(); ++row) {
    if (homes_[row].at == at) shapes_.define(row, channel);
  }
}

SyncChannel* Recovery::of_increments(std::uint16_t channel) noexcept {
  const std::uint16_t at = by_channel_[channel];
  if (at != 0) {
    SyncChannel& known = *channels_[at - 1U];
    if (!known.has_increments()) known.bind(channel, market_.message.sequence == 0 ? 0 : 32, true);
    return &known;
  }
  if (is_planned_) return nullptr;
  // The first one has what snapshots of an unknown channel have brought.
  if (bound_ == 1 && !channels_[0]->has_increments()) {
    move(*channels_[0], channel);
    return channels_[0].get();
  }
  return bind(channel, true);
}

SyncChannel* Recovery::of_snapshot(std::uint32_t row, std::uint16_t channel) noexcept {
  if (recovers_[channel] != 0) return channels_[recovers_[channel] - 1U].get();
  if (homes_[row].has_increments) return of_row(row);
  if (SyncChannel* const own = of(channel)) return own;
  if (bound_ == 1) return channels_[0].get();
  return bound_ == 0 && !is_planned_ ? bind(channel, false) : nullptr;
}

bool Recovery::settle_anew(std::uint32_t row, SyncChannel& channel, bool is_increment) noexcept {
  Home& home = homes_[row];
  if (home.has_increments) return false;
  const bool has_moved = home.at != 0;
  home = {.at = channel.index(), .has_increments = is_increment};
  shapes_.define(row, channel.channel());
  if (has_moved) begin_anew(row, channel);
  channel.introduce(row);
  return true;
}

void Recovery::reshape(std::uint32_t row) noexcept {
  SyncChannel* const home = of_row(row);
  if (home == nullptr) return;
  shapes_.define(row, home->channel());
  begin_anew(row, *home);
  home->distrust(row, Cause::Join);
}

/// Readers lose the rows in the same place.
void Recovery::begin_anew(std::uint32_t row, const SyncChannel& home) noexcept {
  Content clear = market_.message.content(Kind::Clear, row);
  clear.channel = home.channel();
  clear.id = static_cast<std::uint64_t>(Cause::Join);
  market_.writer.emit(clear);
}

void Recovery::forget(Cause cause) noexcept {
  for (std::size_t i = 0; i < bound_; ++i) channels_[i]->forget(cause);
}

void Recovery::tick(std::uint64_t now_ns) noexcept {
  for (std::size_t i = 0; i < bound_; ++i) channels_[i]->tick(now_ns);
}

void Recovery::set_back(std::int64_t by_ns) noexcept {
  for (std::size_t i = 0; i < bound_; ++i) channels_[i]->set_back(by_ns);
}

void Recovery::distrust_faulty() noexcept {
  while (const std::uint32_t row = market_.writer.take_faulty()) {
    const InstrumentStatus status = market_.books.status(row);
    const Cause cause =
        status.standing == Standing::Stale && status.cause == Cause::Room ? Cause::Room : Cause::Contradiction;
    if (SyncChannel* const home = of_row(row)) home->distrust(row, cause);
  }
}

void Recovery::add_counts(MarketCounts& to) const noexcept {
  for (std::size_t i = 0; i < bound_; ++i) {
    const SyncCounts from = channels_[i]->sync().counts();
    to.repeats += from.repeats;
    to.gaps += from.holes + (scope_ == ScopeOf::Channel ? from.losses : 0);
    to.losses += from.losses;
    to.returns += from.returns;
    to.refreshes += from.refreshes;
    to.queued += from.queued;
    to.unqueued += from.lost;
    to.loads += from.loads;
    to.audits += from.audits;
    to.differences += from.differences;
    to.old_snapshots += from.useless + from.outdated;
    to.torn_snapshots += from.torn;
    to.late_cycles += from.overdue_cycles;
  }
}

const SnapshotCycle* Recovery::slowest_cycle(std::uint64_t now_ns) const noexcept {
  const SnapshotCycle* slowest = nullptr;
  // By how much of its announced length a cycle has passed it; those without an announcement are shown last.
  const auto excess = [&](const SnapshotCycle& cycle) {
    const auto length = static_cast<double>(cycle.length_ns(now_ns));
    return cycle.announced_ns() == 0 ? -1.0 / (1.0 + length) : length / static_cast<double>(cycle.announced_ns());
  };
  for (std::size_t i = 0; i < bound_; ++i) {
    const SnapshotCycle& cycle = channels_[i]->cycle();
    if (cycle.begun() == 0 && cycle.announced_ns() == 0) continue;
    if (slowest == nullptr || excess(cycle) > excess(*slowest)) slowest = &cycle;
  }
  return slowest;
}

}  // namespace stopbit::market
