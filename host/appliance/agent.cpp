#include "host/appliance/agent.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::appliance {

Agent::Agent(Parts parts, Clock clock)
    : parts_(std::move(parts)),
      clock_(std::move(clock)),
      notices_(kNotices),
      evidence_(kEvidence),
      loads_(kLoads),
      retired_(kLoads),
      shared_{.notices = notices_,
              .evidence = evidence_,
              .tally = *parts_.tally,
              .silence_ns = parts_.silence_ns,
              .stale_after = parts_.stale_after,
              .recorder = parts_.recorder},
      lines_(2 * feed::kMaxChannels),
      batch_(parts_.batch),
      record_as_(parts_.batch, kNotRecorded) {}

void Agent::add(const feed::Channel& description, std::uint32_t index, Outlet& outlet, const ChannelTally& tally,
                const RecordLines& record_as) {
  const auto place = static_cast<std::uint32_t>(channels_.size());
  channels_.push_back(std::make_unique<Channel>(description, index, outlet, tally, shared_));
  channels_.back()->record_as = record_as;
  outlet_of_.push_back(&outlet);
  for (std::size_t i = 0; i < description.lines.size(); ++i) {
    const auto& line = description.lines[i];
    if (line) lines_.add(line->group, line->source, {.channel = place, .line = static_cast<arbitrate::Line>(i)});
  }
  // Neither list ever has a channel twice.
  dirty_.reserve(channels_.size());
  waiting_.reserve(channels_.size());
}

std::size_t Agent::poll(AgentPort& port, std::uint64_t& now) noexcept {
  const std::size_t count = port.port->poll(batch_);
  if (count == 0) return 0;
  now = clock_();
  note_drops(port, now);
  for (std::size_t i = 0; i < count; ++i) {
    const ingest::Arrival& arrival = batch_[i];
    const feed::LineTarget* target = lines_.find(arrival.destination, arrival.source.address);
    if (target == nullptr) {
      port.tally->foreign.add();
      record_as_[i] = kNotRecorded;
      continue;
    }
    Channel& channel = *channels_[target->channel];
    channel.take(target->line, arrival, now);
    record_as_[i] = channel.record_as[static_cast<std::size_t>(target->line)];
    if (!channel.is_dirty) {
      channel.is_dirty = true;
      dirty_.push_back(target->channel);
    }
    if (!channel.is_waiting && channel.next_deadline()) {
      channel.is_waiting = true;
      waiting_.push_back(target->channel);
    }
  }
  parts_.tally->batch.add(count);
  if (port.is_live) {
    now = clock_();
    const std::uint64_t arrived = batch_[0].arrival_ns;
    parts_.tally->latency.add(now > arrived ? now - arrived : 0);
  }
  if (parts_.recorder != nullptr) record(count);
  return count;
}

/// Before the datagrams that follow a drop are looked at: the gap in their numbers has this cause.
void Agent::note_drops(AgentPort& port, std::uint64_t now) noexcept {
  const ingest::PortCounters& counters = port.port->counters();
  const std::uint64_t dropped = counters.dropped_by_nic.value() + counters.dropped_by_kernel.value();
  if (dropped == port.dropped) return;
  port.dropped = dropped;
  shared_.dropped_here_ns = now;
}

/// Behind the decoding of all of the batch, so that recording costs its records no time.
void Agent::record(std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const ingest::Arrival& arrival = batch_[i];
    if (record_as_[i] == kNotRecorded) continue;
    parts_.recorder->add(record_as_[i], arrival.source, arrival.destination, arrival.payload, arrival.arrival_ns);
  }
}

std::size_t Agent::do_work() noexcept {
  std::size_t count = 0;
  std::uint64_t now = 0;
  for (AgentPort& port : parts_.ports) count += poll(port, now);
  if (now == 0) now = clock_();
  start_loads(now);
  run_deadlines(now);
  parts_.tally->turns.add();
  if (count != 0) parts_.tally->busy_turns.add();
  if (now >= next_publish_ns_) publish(now);
  return count;
}

void Agent::start_loads(std::uint64_t now) noexcept {
  Exchange exchange;
  while (loads_.pop(exchange)) {
    Outlet& outlet = *parts_.outlets[exchange.outlet];
    exchange.load = outlet.start(std::move(exchange.load), now);
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      if (outlet_of_[i] == &outlet) channels_[i]->image_changed();
    }
    notices_.push(
        {.kind = Notice::Kind::Image, .channel = outlet.plan().index, .time_ns = now, .first = outlet.generation()});
    retired_.push(std::move(exchange));
  }
}

void Agent::run_deadlines(std::uint64_t now) noexcept {
  for (std::size_t i = 0; i < waiting_.size();) {
    Channel& channel = *channels_[waiting_[i]];
    const auto deadline = channel.next_deadline();
    if (deadline && *deadline <= now) {
      channel.tick(now);
      if (!channel.is_dirty) {
        channel.is_dirty = true;
        dirty_.push_back(waiting_[i]);
      }
    }
    if (channel.next_deadline()) {
      ++i;
      continue;
    }
    channel.is_waiting = false;
    waiting_[i] = waiting_.back();
    waiting_.pop_back();
  }
}

void Agent::publish(std::uint64_t now) noexcept {
  next_publish_ns_ = now + kPublishNs;
  for (AgentPort& port : parts_.ports) note_drops(port, now);
  publish_ports();
  for (const std::uint32_t index : dirty_) {
    channels_[index]->is_dirty = false;
    channels_[index]->publish();
  }
  dirty_.clear();
  parts_.tally->last_turn.set(now);
  parts_.tally->notices_lost.set(notices_.lost());
  if (now < next_beat_ns_) return;
  next_beat_ns_ = now + kBeatNs;
  for (Outlet* outlet : parts_.outlets) outlet->beat(now);
}

void Agent::publish_ports() noexcept {
  for (const AgentPort& port : parts_.ports) {
    const ingest::PortCounters& from = port.port->counters();
    const PortTally& to = *port.tally;
    to.frames.set(from.frames.value());
    to.bytes.set(from.bytes.value());
    to.nic.set(from.dropped_by_nic.value());
    to.kernel.set(from.dropped_by_kernel.value());
    to.failures.set(from.failures.value());
    for (std::size_t i = 0; i < net::kVerdicts; ++i) to.verdicts[i].set(from.verdicts[i].value());
  }
}

bool Agent::ended() const noexcept {
  return std::all_of(parts_.ports.begin(), parts_.ports.end(),
                     [](const AgentPort& port) { return port.port->ended(); });
}

void Agent::finish() noexcept {
  const std::uint64_t now = clock_();
  publish_ports();
  for (const auto& channel : channels_) channel->finish();
  parts_.tally->last_turn.set(now);
  parts_.tally->notices_lost.set(notices_.lost());
  for (Outlet* outlet : parts_.outlets) {
    outlet->beat(now);
    outlet->finish();
  }
}

}  // namespace stopbit::appliance
