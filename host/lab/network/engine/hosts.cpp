#include "host/lab/network/engine/simulation.hpp"

namespace stopbit::network {

void Simulation::start_hosts() {
  is_started_ = true;
  for (HostId host = 0; host < topology_.hosts(); ++host) inject(host);
}

void Simulation::wake(HostId host, Cycle at) {
  if (hosts_[host].wake == at) return;
  hosts_[host].wake = at;
  wheel_.add(at, {.kind = EventKind::Inject, .a = host});
}

void Simulation::push(HostId host, std::uint32_t number) {
  Host& state = hosts_[host];
  pool_[number].next = kNone;
  if (state.head == kNone) {
    state.head = number;
  } else {
    pool_[state.tail].next = number;
  }
  state.tail = number;
}

/// Makes the packet that the host offers, if its time has come. A host keeps one offer, not a queue of them: an offer
/// whose time has passed is created with that time, so a network that is too slow costs latency, not memory.
bool Simulation::create_packet(Host& state, HostId host) {
  if (source_ == nullptr || state.is_done) return false;
  if (!state.has_offer) state.has_offer = source_->next(host, state.offer);
  if (!state.has_offer || all_created_ >= most_packets_) {
    state.is_done = true;
    return false;
  }
  if (state.offer.at > now()) {
    wake(host, state.offer.at);
    return false;
  }
  state.has_offer = false;
  const std::uint32_t number = pool_.take();
  Packet& packet = pool_[number];
  packet.created = state.offer.at;
  packet.source = host;
  packet.route.target = state.offer.target;
  packet.group = state.offer.group;
  packet.traffic_class = state.offer.traffic_class;
  packet.payload = static_cast<std::uint16_t>(state.offer.payload);
  packet.cells = static_cast<std::uint16_t>(options_.node.cells_of(packet.payload));
  packet.slots = static_cast<std::uint8_t>(options_.node.slots_of(packet.payload));
  ++all_created_;
  ++under_way_;
  if (packet.created >= counted_from_) ++counts_.created;
  push(host, number);
  return true;
}

void Simulation::inject(HostId host) {
  Host& state = hosts_[host];
  if (now() < state.free_at) return wake(host, state.free_at);
  if (state.head == kNone && !create_packet(state, host)) return;
  const std::uint32_t number = state.head;
  const Packet& packet = pool_[number];
  // Without credits: the next one that comes back leads here again.
  if (!credits_.can_send(topology_.host_channel(host), flow_of(packet, 0), options_.node.most_slots())) return;
  state.head = packet.next;
  enter(host, number);
  state.free_at = now() + pool_[number].cells;
  wake(host, state.free_at);
}

void Simulation::enter(HostId host, std::uint32_t number) {
  Packet& packet = pool_[number];
  const ChannelId channel = topology_.host_channel(host);
  const Place place = topology_.place(host);
  packet.injected = now();
  packet.stored = number;
  packet.vc = 0;
  packet.next = kNone;
  packet.route.hops = 0;
  if (packet.group == kNone) router_.start(place.at, packet.route, random_);
  credits_.take(channel, flow_of(packet, 0), packet.slots);
  ++coming_[channel * std::size_t{flows_} + flow_of(packet, 0)];
  counts_.busy[channel] += packet.cells;
  const Cycle tail = options_.node.stores_and_forwards ? packet.cells : 0;
  wheel_.add(now() + options_.link.host_cycles + options_.node.route_cycles + tail,
             {.kind = EventKind::Arrive, .a = number, .b = topology_.channel(place.at, place.port)});
}

void Simulation::deliver(std::uint32_t number, HostId host) {
  const Packet& packet = pool_[number];
  const Place place = topology_.place(host);
  const ChannelId channel = topology_.channel(place.at, place.port);
  const std::uint32_t flow = flow_of(packet, packet.vc);
  --coming_[channel * std::size_t{flows_} + flow];
  return_credit(channel, flow, packet.slots, now() + options_.link.host_cycles);
  if (packet.created >= counted_from_) {
    if (packet.is_bad) {
      ++counts_.lost;
    } else {
      ++counts_.delivered;
      add(counts_.latency, now() - packet.created);
      add(counts_.transit, now() - packet.injected);
    }
  }
  if (!packet.is_bad) {
    counts_.payload_bytes += packet.payload;
    counts_.cells += packet.cells;
  }
  --under_way_;
  if (deliver_) deliver_(packet, host);
  pool_.release(number);
}

void Simulation::reinject(std::uint32_t number, HostId host) {
  push(host, number);
  inject(host);
}

void Simulation::send(HostId from, HostId to, std::uint32_t payload, std::uint32_t frame) {
  const std::uint32_t number = pool_.take();
  Packet& packet = pool_[number];
  packet.created = now();
  packet.source = from;
  packet.route.target = to;
  packet.frame = frame;
  packet.payload = static_cast<std::uint16_t>(payload);
  packet.cells = static_cast<std::uint16_t>(options_.node.cells_of(payload));
  packet.slots = static_cast<std::uint8_t>(options_.node.slots_of(payload));
  ++all_created_;
  ++under_way_;
  ++counts_.created;
  push(from, number);
  if (hosts_[from].wake != now()) wake(from, now());
}

}  // namespace stopbit::network
