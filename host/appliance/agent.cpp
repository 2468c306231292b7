#include "host/appliance/agent.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

namespace stopbit::appliance {
namespace {

/// A step lower, but for a card's own clock: stamps of the kernel are no better than those of a poll, which are made
/// up.
record::TimeQuality lowered(record::TimeQuality quality) noexcept {
  switch (quality) {
    case record::TimeQuality::Kernel: return record::TimeQuality::Poll;
    case record::TimeQuality::Poll: return record::TimeQuality::Synthetic;
    default: return quality;
  }
}

}  // namespace

Agent::Agent(Parts parts, Clocks clocks)
    : parts_(std::move(parts)),
      clocks_(std::move(clocks)),
      notices_(kNotices),
      error_samples_(kEvidence),
      loads_(room_for_loads(parts_.outputs.size())),
      retired_(room_for_loads(parts_.outputs.size())),
      changes_(kRosterChanges),
      changed_(kRosterChanges),
      shared_{.notices = notices_,
              .error_samples = error_samples_,
              .counter_set = *parts_.counter_set,
              .channel_options = parts_.channel_options,
              .recorder = parts_.recorder},
      roster_(feed::kMaxChannels),
      batch_(parts_.batch),
      record_as_(parts_.batch, kNotRecorded),
      is_read_in_order_(parts_.ports.size() == 1 && parts_.ports[0].port->in_order()) {
  wall_ns_ = clocks_.wall();
  roster_.outputs = std::move(parts_.outputs);
  shared_.is_live =
      std::all_of(parts_.ports.begin(), parts_.ports.end(), [](const auto& port) { return port.is_live; });
  open_waker();
}

/// An epoll instance is itself something to wait for: one over those of all ports.
void Agent::open_waker() {
  const auto can_wake = [](const AgentPort& port) { return port.is_live && port.port->wakes_by().has_value(); };
  if (parts_.ports.empty() || !std::all_of(parts_.ports.begin(), parts_.ports.end(), can_wake)) return;
  if (parts_.ports.size() == 1) {
    waker_ = parts_.ports[0].port->wakes_by();
    return;
  }
  os::Descriptor all(::epoll_create1(EPOLL_CLOEXEC));
  for (const AgentPort& port : parts_.ports) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(all.get(), EPOLL_CTL_ADD, *port.port->wakes_by(), &event) != 0) return;  // then it polls
  }
  wakers_ = std::move(all);
  waker_ = wakers_.get();
}

std::optional<int> Agent::wakes_by() const noexcept {
  const bool is_due = roster_.set.has_deadline(feed::Timeline::Present) || is_saving_;
  return is_due || distrust_ != 0 ? std::nullopt : waker_;
}

void Agent::rested(std::uint64_t until_ns, bool called) noexcept {
  last_turn_ns_ = std::min(until_ns, clocks_.monotonic());
  distrust_ = called ? kDistrustTurns : 0;
}

void Agent::add(const feed::Channel& description, std::uint32_t index, RecordOutput& output,
                const ChannelCounterSet& counter_set, const RecordLines& record_as, KnownRun* run) {
  auto channel = make_channel(description, index, output, counter_set, record_as, run);
  channel->place = static_cast<std::uint32_t>(roster_.channels.size());
  roster_.add(std::move(channel), description.lines);
}

std::size_t Agent::poll(AgentPort& port) noexcept {
  const std::size_t count = port.port->poll(batch_);
  if (count == 0) return 0;
  shared_.now_ns = clocks_.monotonic();
  note_drops(port, shared_.now_ns);
  const feed::Timeline timeline = timeline_of(port);
  const bool is_trusted = !port.is_live || clock_is_trusted_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    const ingest::Arrival& arrival = batch_[i];
    const feed::LineTarget* target = roster_.set.find(arrival.destination, arrival.source.address);
    if (target == nullptr) {
      port.counter_set->foreign.add();
      record_as_[i] = kNotRecorded;
      continue;
    }
    if (is_read_in_order_)
      roster_.set.tick(
          arrival.t_ns, [this](std::uint32_t index) { mark_dirty(index); }, timeline);
    shared_.newest_ns = arrival.arrival_ns;
    LiveChannel& channel = *roster_.channels[target->channel];
    channel.note_arrival(target->line, arrival.t_ns);
    record_as_[i] = channel.record_as[static_cast<std::size_t>(target->line)];
    if (channel.is_on_card()) {
      channel.note_beside_card(arrival.payload);
      parts_.card->note_beside(shared_.now_ns);
      continue;
    }
    if (channel.has_card() && parts_.card->is_live()) parts_.card->note_beside(shared_.now_ns);
    roster_.set.take(*target,
                     {.payload = arrival.payload,
                      .arrival_ns = arrival.arrival_ns,
                      .t_ns = arrival.t_ns,
                      .number = ++shared_.datagrams,
                      .time_quality = is_trusted ? arrival.time_quality : lowered(arrival.time_quality),
                      .source = arrival.source.address},
                     timeline);
    mark_dirty(target->channel);
  }
  parts_.counter_set->batch.add(count);
  if (port.is_live) {
    const std::uint64_t now = clocks_.monotonic();
    const std::uint64_t arrived = batch_[0].t_ns;
    parts_.counter_set->latency.add(now > arrived ? now - arrived : 0);
  }
  if (parts_.recorder != nullptr) record(count);
  return count;
}

/// After the ports: what they have brought is with the recorder when the card fails.
std::size_t Agent::take_from_card() noexcept {
  CardFeed* const card = parts_.card;
  if (card == nullptr || !card->has_turn()) return 0;
  const std::size_t count = poll_card();
  card->look(shared_.now_ns, count == 0);
  if (!card->is_live()) leave_card();
  return count;
}

std::size_t Agent::poll_card() noexcept {
  const CardFeed::Turn turn{.now_ns = shared_.now_ns, .read_until_ns = complete_until(feed::Timeline::Present)};
  return parts_.card->poll(kCardRecords, turn, [this](LiveChannel& channel, const record::HeaderView& header) {
    shared_.newest_ns = header.arrival_ns();
    if (header.source() == record::SourceLine::LineA) channel.note_arrival(arbitrate::Line::A, shared_.now_ns);
    if (header.source() == record::SourceLine::LineB) channel.note_arrival(arbitrate::Line::B, shared_.now_ns);
    mark_dirty(channel.place);
  });
}

/// Software goes on where the card has ended, first with what the recorder remembers.
void Agent::leave_card() noexcept {
  // What is in memory already. A card that goes on to write brings no more than that.
  for (std::uint64_t left = parts_.card->room(), taken = 1; left != 0 && taken != 0; left -= std::min(left, taken)) {
    taken = poll_card();
  }
  for (const auto& channel : roster_.channels) {
    if (channel->is_on_card()) mark_dirty(channel->place);
    channel->leave_card();
  }
  const std::uint64_t recalled = parts_.recorder != nullptr ? recall() : 0;
  for (const auto& channel : roster_.channels) channel->end_recall();
  parts_.card->left(recalled);
}

void Agent::retire_card(const char* why) noexcept {
  if (parts_.card == nullptr) return;
  const bool was_live = parts_.card->is_live();
  parts_.card->retire(why);
  if (was_live) leave_card();
}

std::uint64_t Agent::recall() noexcept {
  std::uint64_t count = 0;
  shared_.recorder = nullptr;  // a freeze may need the room of what is recalled
  parts_.recorder->recall([&](const recorder::Queue::Item& item) {
    const feed::LineTarget* const target = roster_.set.find(item.group, item.source.address);
    if (target == nullptr || !roster_.channels[target->channel]->is_after_card(item.payload)) return;
    roster_.set.take(*target, {.payload = item.payload,
                               .arrival_ns = item.time_ns,
                               .t_ns = shared_.now_ns,
                               .number = ++shared_.datagrams,
                               .time_quality = record::TimeQuality::Poll,  // it was not kept
                               .source = item.source.address});
    mark_dirty(target->channel);
    ++count;
  });
  shared_.recorder = parts_.recorder;
  parts_.recorder->freeze(shared_.newest_ns);
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

/// A turn that comes late: the machine or its scheduler had stopped this thread.
void Agent::note_stall(std::uint64_t now) noexcept {
  const std::uint64_t last = std::exchange(last_turn_ns_, now);
  if (last == 0 || now - last < kStallNs) return;
  shared_.stalls[shared_.stall_count++ % shared_.stalls.size()] = {.begin_ns = last, .end_ns = now};
  parts_.counter_set->stalls.add();
  parts_.counter_set->longest_stall_ns.set(std::max(parts_.counter_set->longest_stall_ns.value(), now - last));
}

/// After the whole batch is decoded, so that recording adds no latency to its records.
void Agent::record(std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const ingest::Arrival& arrival = batch_[i];
    if (record_as_[i] == kNotRecorded) continue;
    parts_.recorder->add(record_as_[i], arrival.source, arrival.destination, arrival.payload, arrival.arrival_ns);
  }
}

std::size_t Agent::do_work() noexcept {
  const std::uint64_t begin = clocks_.monotonic();
  note_stall(begin);
  shared_.now_ns = begin;
  std::size_t count = 0;
  if (parts_.card != nullptr) parts_.card->begin_turn();
  for (AgentPort& port : parts_.ports) count += poll(port);
  count += take_from_card();
  start_loads();
  start_changes();
  close_windows(feed::Timeline::Present);
  close_windows(feed::Timeline::Capture);
  if (parts_.replay != nullptr) count += take_answers();
  shared_.read_until_ns = complete_until(feed::Timeline::Present);
  const std::uint64_t now = shared_.now_ns;
  parts_.counter_set->turns.add();
  if (count != 0) parts_.counter_set->busy_turns.add();
  if (now >= next_publish_ns_) publish(now);
  if (count != 0) {
    distrust_ = 0;
    return count;
  }
  if (distrust_ != 0) --distrust_;
  is_saving_ = false;
  for (RecordOutput* output : roster_.outputs) {
    output->save(SaveQueue::kIdleSlots, wall_ns_);
    is_saving_ = is_saving_ || output->is_saving();
  }
  return 0;
}

/// Messages that a replay service has sent, in the order in which it has.
std::size_t Agent::take_answers() noexcept {
  std::size_t count = 0;
  for (; count < kAnswers; ++count) {
    const auto answer = parts_.replay->answers.front();
    if (!answer) break;
    LiveChannel& channel = *asking_[answer->channel];
    (void)channel.recover(*answer);
    mark_dirty(channel.place);
    parts_.replay->answers.pop();
  }
  return count;
}

/// Passes on what books miss, and that they do not any more.
void Agent::ask() noexcept {
  market::Asked asked;
  for (RecordOutput* const output : roster_.outputs) {
    while (output->next_asked(asked)) {
      for (const auto& channel : roster_.channels) {
        if (&channel->output() == output && channel->number() == asked.channel) {
          channel->want(asked.first, asked.last);
        }
      }
    }
  }
  for (const auto& channel : roster_.channels) channel->look_if_healed();
  std::uint64_t lost = parts_.replay->wants.lost();
  for (const RecordOutput* const output : roster_.outputs) lost += output->asked_lost();
  parts_.counter_set->wants_lost.set(lost);
}

std::uint64_t Agent::complete_until(feed::Timeline timeline) const noexcept {
  std::uint64_t until = kNever;
  for (const AgentPort& port : parts_.ports) {
    if (timeline_of(port) == timeline) until = std::min(until, port.port->complete_until());
  }
  return until;
}

/// Nothing is given up before every port of its time has been read up to then.
void Agent::close_windows(feed::Timeline timeline) noexcept {
  if (!roster_.set.has_deadline(timeline)) return;
  const auto ticked = [this](std::uint32_t index) { mark_dirty(index); };
  const std::uint64_t until = complete_until(timeline);
  if (until != kNever) {
    roster_.set.tick(until, ticked, timeline);
  } else if (timeline == feed::Timeline::Capture) {
    roster_.set.finish(timeline, ticked);  // all captures have ended: as at the end of a replay
  }
}

void Agent::start_loads() noexcept {
  Exchange exchange;
  while (loads_.pop(exchange)) {
    const std::uint64_t now = clocks_.wall();
    RecordOutput& output = *exchange.output;
    if (parts_.card != nullptr && parts_.card->is_of(output)) retire_card("its channels have another image");
    tell_effects(output, true);
    exchange.load = output.start(std::move(exchange.load), now);
    for (const auto& channel : roster_.channels) {
      if (&channel->output() == &output) channel->decoder().image_changed();
    }
    notices_.push({.kind = AgentEvent::Kind::Image,
                   .channel = output.plan().index,
                   .time_ns = now,
                   .first = output.generation()});
    retired_.push(std::move(exchange));
  }
}

/// The card has the groups of the start.
bool Agent::touches_card(const RosterChange& change) const noexcept {
  for (std::size_t i = 0; i < roster_.channels.size(); ++i) {
    const std::uint32_t place = change.new_place[i];
    const auto is_its = [place](const RosterChange::OtherLines& lines) { return lines.place == place; };
    const bool changes =
        place == feed::ChannelSet::kGone || std::any_of(change.lines.begin(), change.lines.end(), is_its);
    if (changes && roster_.channels[i]->has_card()) return true;
  }
  return false;
}

void Agent::start_changes() noexcept {
  std::unique_ptr<RosterChange> change;
  while (changes_.pop(change)) {
    start_loads();  // those before the change, which may be for an output that ends with it
    if (touches_card(*change)) retire_card("its channels have changed");
    change_to(*change);
    changed_.push(std::move(change));
  }
}

/// Channels that stay keep everything: their decoders are the same objects, and what waits goes on to wait. Those that
/// end are finished first, so that their successors find numbers and dictionaries as they left them.
void Agent::change_to(RosterChange& change) noexcept {
  Roster& next = change.roster;
  for (std::size_t i = 0; i < roster_.channels.size(); ++i) {
    LiveChannel& channel = *roster_.channels[i];
    const std::uint32_t place = change.new_place[i];
    if (place == feed::ChannelSet::kGone) {
      channel.finish();
    } else if (channel.is_dirty) {
      next.dirty.push_back(place);  // within its reserve
    }
  }
  for (const std::uint32_t place : change.leave) roster_.channels[place]->leave();
  for (const RosterChange::Begun& begun : change.begun) {
    const LiveChannel* const before =
        begun.before != feed::ChannelSet::kGone ? roster_.channels[begun.before].get() : nullptr;
    next.channels[begun.place]->begin(before, begun.goes_on);
  }
  for (const RosterChange::OtherLines& other : change.lines) next.channels[other.place]->set_lines(other.lines);
  next.set.continue_from(roster_.set, change.new_place);
  for (std::size_t i = 0; i < next.channels.size(); ++i) next.channels[i]->place = static_cast<std::uint32_t>(i);
  for (RecordOutput* const output : change.ended) {
    tell_effects(*output, true);
    output->finish();
  }
  std::swap(roster_, next);
  for (RosterChange::OtherGroups& port : change.ports) parts_.ports[port.port].port->change_groups(*port.groups);
}

void Agent::mark_dirty(std::uint32_t index) noexcept {
  LiveChannel& channel = *roster_.channels[index];
  channel.remember();
  if (channel.is_dirty) return;
  channel.is_dirty = true;
  roster_.dirty.push_back(index);
}

void Agent::publish(std::uint64_t now) noexcept {
  next_publish_ns_ = now + kPublishNs;
  for (AgentPort& port : parts_.ports) note_drops(port, now);
  publish_ports();
  for (const std::uint32_t index : roster_.dirty) {
    roster_.channels[index]->is_dirty = false;
    roster_.channels[index]->publish(now);
  }
  roster_.dirty.clear();
  for (RecordOutput* output : roster_.outputs) {
    output->publish();
    output->save(1, wall_ns_);  // on, if datagrams always come
    tell_effects(*output, false);
  }
  if (parts_.replay != nullptr) ask();
  parts_.counter_set->last_turn_ns.set(clocks_.wall());
  parts_.counter_set->last_alive_ns.set(now);
  parts_.counter_set->notices_lost.set(notices_.lost());
  if (now < next_beat_ns_) return;
  next_beat_ns_ = now + kBeatNs;
  wall_ns_ = clocks_.wall();
  for (RecordOutput* output : roster_.outputs) output->beat(wall_ns_, shared_.is_live);
}

void Agent::publish_ports() noexcept {
  for (const AgentPort& port : parts_.ports) {
    const ingest::PortCounters& from = port.port->counters();
    const PortCounterSet& to = *port.counter_set;
    to.frames.set(from.frames.value());
    to.bytes.set(from.bytes.value());
    to.nic.set(from.dropped_by_nic.value());
    to.kernel.set(from.dropped_by_kernel.value());
    to.failures.set(from.failures.value());
    to.clamped.set(from.clamped.value());
    for (std::size_t i = 0; i < net::kVerdicts; ++i) to.verdicts[i].set(from.verdicts[i].value());
  }
}

bool Agent::ended() const noexcept {
  return std::all_of(parts_.ports.begin(), parts_.ports.end(),
                     [](const AgentPort& port) { return port.port->ended(); });
}

void Agent::drain() noexcept {
  const std::uint64_t begin = clocks_.monotonic();
  const auto is_behind = [begin](const AgentPort& port) {
    return port.is_live && !port.port->ended() && port.port->complete_until() < begin;
  };
  while (std::any_of(parts_.ports.begin(), parts_.ports.end(), is_behind) && clocks_.monotonic() - begin < kDrainNs) {
    if (do_work() == 0) break;
  }
}

void Agent::finish() noexcept {
  const Now now = clocks_.now();
  shared_.now_ns = now.monotonic_ns;
  publish_ports();
  // What has come already, and no more: its thread may still run.
  constexpr std::size_t kMostAnswers = ReplayLink::kAnswerBytes / 64 / kAnswers;
  for (std::size_t i = 0; parts_.replay != nullptr && i < kMostAnswers && take_answers() != 0; ++i) {
  }
  if (parts_.card != nullptr) parts_.card->finish(now.monotonic_ns);
  while (take_from_card() != 0) {
  }
  for (const auto& channel : roster_.channels) channel->finish();
  parts_.counter_set->last_turn_ns.set(now.wall_ns);
  parts_.counter_set->last_alive_ns.set(now.monotonic_ns);
  for (RecordOutput* output : roster_.outputs) {
    output->beat(now.wall_ns, shared_.is_live);
    output->finish();
    tell_effects(*output, true);
  }
  parts_.counter_set->notices_lost.set(notices_.lost());
}

/// Reports what gaps have done to books. `is_last`: these books end here.
void Agent::tell_effects(RecordOutput& output, bool is_last) noexcept {
  market::LossEffect effect;
  while (output.next_effect(effect, is_last)) {
    for (const auto& channel : roster_.channels) {
      if (&channel->output() == &output && channel->number() == effect.channel) channel->tell(effect);
    }
  }
}

}  // namespace stopbit::appliance
