#include "host/appliance/refill/replay_service.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::appliance {

ReplayService::ReplayService(Options options, QuotaFile& quota, const ReplayCounterSet& counter_set, ReplayWire& wire,
                             const Now& now)
    : options_(std::move(options)),
      quota_(quota),
      counter_set_(counter_set),
      wire_(wire),
      used_(quota.used(options_.place)),
      now_(now) {
  const std::int64_t today = refill::Client::day_of(now.wall_ns, options_.limits.day_begins_s);
  if (used_.is_damaged) {
    used_ = {.day = today, .connections = options_.limits.connections_a_day, .is_damaged = false};
  }
  // A day that has not come yet: the clock was ahead, or is behind now. Its connections count for today.
  used_.day = std::max(used_.day, today - 1);
}

ReplayFeed& ReplayService::add(std::unique_ptr<refill::Dialect> dialect, std::uint32_t channel, ReplayLink& link,
                               std::shared_ptr<const Program> program, const EngineLimits& engine_limits) {
  ReplayWire& wire = *this;
  feeds_.push_back(std::make_unique<ReplayFeed>(std::move(dialect), options_.limits, channel, link, std::move(program),
                                                engine_limits, wire));
  share_quota(now_);
  return *feeds_.back();
}

ReplayFeed* ReplayService::feed_of(const ReplayLink& link, std::uint32_t channel) noexcept {
  const auto found = std::find_if(feeds_.begin(), feeds_.end(), [&](const auto& feed) {
    return &feed->link() == &link && feed->channel() == channel;
  });
  return found != feeds_.end() ? found->get() : nullptr;
}

/// What one channel has used, no other has.
void ReplayService::share_quota(const Now& now) {
  const std::int64_t today = refill::Client::day_of(now.wall_ns, options_.limits.day_begins_s);
  const std::int64_t before = used_.day;
  if (refill::Client::begins_day(used_.day, today)) used_.connections = 0;
  // On disk too: the next process may start on another day.
  if (used_.day < before && !quota_.store(options_.place, used_)) ++not_stored_;
  for (const auto& feed : feeds_) feed->client().set_used(used_.connections, now);
}

void ReplayService::connect() {
  ++used_.connections;
  // First it is on disk: a process that dies now has used it all the same.
  was_refused_ = !quota_.store(options_.place, used_);
  if (was_refused_) {
    ++not_stored_;
  } else {
    wire_.connect();
  }
}

void ReplayService::step(const Now& now) {
  now_ = now;
  share_quota(now);
  if (std::exchange(was_refused_, false) && active_ != nullptr) active_->client().failed(now);
  note_end();
  if (active_ != nullptr) {
    active_->client().tick(now);
    note_end();
  }
  for (std::size_t i = 0; i < feeds_.size() && active_ == nullptr; ++i) {
    ReplayFeed& feed = *feeds_[(turn_ + i) % feeds_.size()];
    feed.client().tick(now);
    if (feed.client().is_idle()) continue;
    active_ = &feed;
    turn_ = (turn_ + i + 1) % feeds_.size();
  }
  publish();
}

void ReplayService::note_end() {
  if (active_ != nullptr && active_->client().is_idle()) active_ = nullptr;
}

void ReplayService::connected(const Now& now) {
  if (active_ != nullptr) active_->client().connected(now);
}

void ReplayService::failed(const Now& now) {
  if (active_ != nullptr) active_->client().failed(now);
  note_end();
}

void ReplayService::closed(const Now& now) {
  if (active_ != nullptr) active_->client().closed(now);
  note_end();
}

bool ReplayService::has_room(std::size_t bytes) const noexcept {
  return active_ == nullptr || active_->has_room(bytes);
}

void ReplayService::bytes(std::span<const std::byte> bytes, const Now& now) {
  if (active_ != nullptr) active_->bytes(bytes, now);
  note_end();
}

void ReplayService::publish() const noexcept {
  refill::ClientCounts sum;
  ReplayFeed::Counts lost;
  std::uint64_t wanted = 0;
  for (const auto& feed : feeds_) {
    const refill::ClientCounts& counts = feed->client().counts();
    for (const auto part :
         {&refill::ClientCounts::connections, &refill::ClientCounts::requests, &refill::ClientCounts::messages,
          &refill::ClientCounts::foreign, &refill::ClientCounts::unreadable, &refill::ClientCounts::refused,
          &refill::ClientCounts::malformed, &refill::ClientCounts::flooded, &refill::ClientCounts::stalled,
          &refill::ClientCounts::broken}) {
      sum.*part += counts.*part;
    }
    lost.no_quota += feed->counts().no_quota;
    lost.not_brought += feed->counts().not_brought;
    lost.no_room += feed->counts().no_room;
    for (const refill::Range& range : feed->client().wanted().all()) wanted += range.last - range.first + 1;
  }
  const std::uint32_t most = options_.limits.connections_a_day;
  counter_set_.quota.set(most);
  counter_set_.quota_left.set(used_.connections < most ? most - used_.connections : 0);
  counter_set_.wanted.set(wanted);
  counter_set_.connections.set(sum.connections);
  counter_set_.requests.set(sum.requests);
  counter_set_.messages.set(sum.messages);
  counter_set_.foreign.set(sum.foreign);
  counter_set_.unreadable.set(sum.unreadable);
  counter_set_.refused.set(sum.refused);
  counter_set_.malformed.set(sum.malformed);
  counter_set_.flooded.set(sum.flooded);
  counter_set_.stalled.set(sum.stalled);
  counter_set_.broken.set(sum.broken);
  counter_set_.no_quota.set(lost.no_quota);
  counter_set_.not_brought.set(lost.not_brought);
  counter_set_.no_room.set(lost.no_room);
  counter_set_.not_stored.set(not_stored_);
}

}  // namespace stopbit::appliance
