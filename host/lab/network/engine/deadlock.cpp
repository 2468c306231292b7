#include <algorithm>

#include "host/lab/network/engine/simulation.hpp"

namespace stopbit::network {

// Two steps, as ATOLL's: a timer at each output, which starts when a request waits for credits; then a search for
// packets that wait for each other, which the timer alone cannot tell from a busy network.

void Simulation::note_blocked(ChannelId channel, std::uint32_t flow) {
  if (options_.deadlock.action == OnDeadlock::Ignore) return;
  const std::size_t waiting = channel * std::size_t{flows_} + flow;
  if (blocked_since_[waiting] != kNever) return;
  blocked_since_[waiting] = now();
  ++checks_;
  wheel_.add(
      now() + options_.deadlock.timer_cycles,
      {.kind = EventKind::Check, .a = static_cast<std::uint32_t>(waiting), .b = static_cast<std::uint32_t>(now())});
}

void Simulation::check(std::uint32_t waiting, std::uint32_t since) {
  --checks_;
  if (is_stuck_) return;
  if (blocked_since_[waiting] == kNever || static_cast<std::uint32_t>(blocked_since_[waiting]) != since) return;
  if (requests_[waiting] == 0) {  // those that waited have taken another way
    blocked_since_[waiting] = kNever;
    return;
  }
  // A search looks at the whole network, so one is enough for all timers that run out at about the same time.
  if (!has_searched_ || now() - searched_at_ >= options_.deadlock.timer_cycles) look_for_deadlock();
  if (is_stuck_) return;
  ++checks_;
  wheel_.add(now() + options_.deadlock.timer_cycles, {.kind = EventKind::Check, .a = waiting, .b = since});
}

void Simulation::look_for_deadlock() {
  const bool is_found = search();
  // Only timers are left: a packet that waits now never moves. The search takes copies of a multicast packet for live.
  const bool is_over = !is_found && wheel_.size() == checks_;
  if (!is_found && !is_over) return;
  if (counts_.deadlocks == 0) counts_.first_deadlock = now();
  counts_.deadlocks += std::max<std::size_t>(1, cycles_.size());
  for (const std::vector<std::uint32_t>& cycle : cycles_) counts_.deadlocked += cycle.size();
  last_cycle_.clear();
  if (is_found && !cycles_.empty()) {
    for (const std::uint32_t number : cycles_.back()) last_cycle_.push_back(pool_[number].input);
  }
  is_stuck_ = is_over || options_.deadlock.action == OnDeadlock::Stop || !remove_packets();
}

bool Simulation::search() {
  ++counts_.searches;
  searched_at_ = now();
  has_searched_ = true;
  const std::vector<std::uint8_t> live = live_channels();
  cycles_.clear();
  bool is_found = false;
  for (std::size_t waiting = 0; waiting < live.size() && !is_found; ++waiting) {
    is_found = live[waiting] == 0 && requests_[waiting] != 0;
  }
  if (is_found) find_cycles(live);
  return is_found;
}

/// By output and flow: whether a packet that waits there will ever leave. It will if there is room now, if something is
/// on its way that may make room, or if a packet that occupies the room waits for an output that is live itself.
std::vector<std::uint8_t> Simulation::live_channels() const {
  std::vector<std::uint8_t> live(blocked_since_.size(), 0);
  for (std::size_t waiting = 0; waiting < live.size(); ++waiting) {
    const auto channel = static_cast<ChannelId>(waiting / flows_);
    const std::size_t first = channel * std::size_t{flows_};
    bool moves = ends_[channel] != Peer::Kind::Switch ||
                 credits_.can_send(channel, static_cast<std::uint32_t>(waiting % flows_), options_.node.most_slots());
    for (std::size_t i = first; i < first + flows_; ++i) moves = moves || coming_[i] != 0 || returning_[i] != 0;
    live[waiting] = moves ? 1 : 0;
  }
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t waiting = 0; waiting < live.size(); ++waiting) {
      if (live[waiting] != 0 || !gets_room(waiting, live)) continue;
      live[waiting] = 1;
      has_changed = true;
    }
  }
  return live;
}

bool Simulation::gets_room(std::size_t waiting, const std::vector<std::uint8_t>& live) const {
  return helper(waiting, &live) != kNone;
}

std::uint32_t Simulation::helper(std::size_t waiting, const std::vector<std::uint8_t>* live) const {
  const auto channel = static_cast<ChannelId>(waiting / flows_);
  const auto flow = static_cast<std::uint32_t>(waiting % flows_);
  const Peer& peer = topology_.peer(channel / topology_.ports(), channel % topology_.ports());
  const ChannelId input = topology_.channel(peer.number, peer.port);
  const std::size_t first = queue_of(input, 0, 0);
  const std::size_t count = options_.node.is_fifo ? 1 : topology_.ports() * std::size_t{flows_};
  for (std::size_t queue = first; queue < first + count; ++queue) {
    // Of a queue for one output not only the first: those before it may have come on other flows.
    for (std::uint32_t number = queues_[queue].head; number != kNone;
         number = options_.node.is_fifo ? kNone : pool_[number].next) {
      const Packet& packet = pool_[number];
      const std::uint32_t held = flow_of(packet, packet.vc);
      if (held != flow && !credits_.is_over_reserve(channel, held)) continue;
      const std::size_t next = output_of(packet) * std::size_t{flows_} + flow_of(packet, packet.out_vc);
      if (live == nullptr || (*live)[next] != 0 || packet.is_adaptive) return number;
    }
  }
  return kNone;
}

/// Follows packets that wait for each other, until one comes again. Each waits for one other at a time, so cycles share
/// no packet.
void Simulation::find_cycles(const std::vector<std::uint8_t>& live) {
  std::vector<std::uint32_t> walk_of(live.size(), 0);
  std::uint32_t walk = 0;
  for (std::size_t start = 0; start < live.size(); ++start) {
    if (live[start] != 0 || requests_[start] == 0 || walk_of[start] != 0) continue;
    ++walk;
    std::vector<std::uint32_t> packets;
    std::vector<std::size_t> path;
    std::size_t waiting = start;
    for (; walk_of[waiting] == 0; waiting = next_of(packets.back())) {
      const std::uint32_t number = helper(waiting, nullptr);
      if (number == kNone) break;
      walk_of[waiting] = walk;
      path.push_back(waiting);
      packets.push_back(number);
    }
    if (walk_of[waiting] != walk) continue;  // it ends, or leads into a walk from before
    const auto tail = std::find(path.begin(), path.end(), waiting) - path.begin();
    cycles_.emplace_back(packets.begin() + tail, packets.end());
  }
}

/// Takes one packet of each cycle out of the network: that of the lowest input. None of them has begun to leave, so
/// none is cut. It starts again from the host of its switch, or from its source if the switch has none.
bool Simulation::remove_packets() {
  bool has_removed = false;
  for (const std::vector<std::uint32_t>& cycle : cycles_) {
    std::uint32_t victim = kNone;
    for (const std::uint32_t number : cycle) {
      const Packet& packet = pool_[number];
      if (packet.stored != number) continue;  // the other copies would lose their store
      if (victim == kNone || packet.input < pool_[victim].input) victim = number;
    }
    if (victim == kNone) continue;
    Packet& packet = pool_[victim];
    unlink(victim);
    free_slots(packet, now());
    const HostId here = topology_.host_of(packet.input / topology_.ports());
    const HostId host = here == kNone ? packet.source : here;
    ++counts_.removed;
    has_removed = true;
    wheel_.add(now() + options_.deadlock.recovery_cycles, {.kind = EventKind::Reinject, .a = victim, .b = host});
  }
  return has_removed;
}

}  // namespace stopbit::network
