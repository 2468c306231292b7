#include "host/lab/network/engine/simulation.hpp"

namespace stopbit::network {

void Simulation::arrive(std::uint32_t number, ChannelId input) {
  Packet& packet = pool_[number];
  const SwitchId at = input / topology_.ports();
  const std::uint32_t in = input % topology_.ports();
  packet.input = input;
  --coming_[topology_.into(at, in) * std::size_t{flows_} + flow_of(packet, packet.vc)];
  if (packet.group == kNone) {
    route(number, at, in);
  } else {
    replicate(number, at, in);
  }
}

void Simulation::route(std::uint32_t number, SwitchId at, std::uint32_t in) {
  Packet& packet = pool_[number];
  const Place target = topology_.place(packet.route.target);
  if (target.at == at) return enqueue(number, at, in, target.port, packet.vc);
  const Hop hop = router_.next(at, static_cast<std::uint8_t>(in), packet.route);
  if (hop.adaptive != 0 && route_adaptively(number, at, in, hop)) return;
  enqueue(number, at, in, hop.port, hop.vc);
}

/// A copy for each port of the group's tree. All lie in the slots of the one that came.
void Simulation::replicate(std::uint32_t number, SwitchId at, std::uint32_t in) {
  const std::uint64_t ports = groups_.ports(pool_[number].group, at) & ~(std::uint64_t{1} << in);
  const auto copies = static_cast<std::uint8_t>(__builtin_popcountll(ports));
  under_way_ += copies;
  --under_way_;
  if (copies == 0) {
    ++counts_.without_group;
    free_slots(pool_[number], now());
    pool_.release(number);
    return;
  }
  if (copies == 1) {
    enqueue(number, at, in, static_cast<std::uint32_t>(__builtin_ctzll(ports)), pool_[number].vc);
    return;
  }
  pool_[number].copies = copies;
  for_each_bit(ports, [&](std::uint32_t out) {
    const std::uint32_t copy = pool_.take();
    const std::uint32_t serial = pool_[copy].serial;
    pool_[copy] = pool_[number];
    pool_[copy].serial = serial;
    pool_[copy].stored = number;
    enqueue(copy, at, in, out, pool_[copy].vc);
  });
}

/// Ports whose queue is almost full or that have no credits are not considered. Only classes 0 and 1 are adaptive: the
/// others keep their order.
bool Simulation::route_adaptively(std::uint32_t number, SwitchId at, std::uint32_t in, const Hop& hop) {
  Packet& packet = pool_[number];
  if (packet.traffic_class > 1) return false;
  const std::uint32_t vc = router_.adaptive_vc();
  const std::uint32_t flow = flow_of(packet, vc);
  std::uint64_t ports = 0;
  for_each_bit(hop.adaptive, [&](std::uint32_t out) {
    if (queues_[queue_of(packet.input, out, flow)].length < options_.node.almost_full &&
        credits_.can_send(topology_.channel(at, out), flow, options_.node.most_slots())) {
      ports |= std::uint64_t{1} << out;
    }
  });
  if (ports == 0) return false;
  std::uint8_t& turn = adaptives_[packet.input];
  const std::uint64_t later = ports & ~((std::uint64_t{1} << turn) - 1);
  const auto out = static_cast<std::uint32_t>(__builtin_ctzll(later != 0 ? later : ports));
  turn = static_cast<std::uint8_t>((out + 1) % kMaxPorts);
  ++counts_.adaptive_hops;
  packet.escape_port = hop.port;
  packet.escape_vc = hop.vc;
  packet.is_adaptive = true;
  enqueue(number, at, in, out, vc);
  wheel_.add(now() + options_.node.escape_cycles, {.kind = EventKind::Escape, .a = number, .b = pool_[number].serial});
  return true;
}

/// An adaptive packet must not wait without end for the channel that it chose, or adaptive channels could wait for each
/// other.
void Simulation::escape(std::uint32_t number, std::uint32_t serial) {
  Packet& packet = pool_[number];
  if (packet.serial != serial || !packet.is_waiting) return;
  unlink(number);
  ++counts_.escapes;
  packet.is_adaptive = false;
  const SwitchId at = packet.input / topology_.ports();
  enqueue(number, at, packet.input % topology_.ports(), packet.escape_port, packet.escape_vc);
}

void Simulation::enqueue(std::uint32_t number, SwitchId at, std::uint32_t /*in*/, std::uint32_t out, std::uint32_t vc) {
  Packet& packet = pool_[number];
  packet.out = static_cast<std::uint8_t>(out);
  packet.out_vc = static_cast<std::uint8_t>(vc);
  packet.is_waiting = true;
  ++packet.serial;
  Queue& queue = queues_[queue_of(packet)];
  packet.previous = queue.tail;
  packet.next = kNone;
  if (queue.tail != kNone) pool_[queue.tail].next = number;
  queue.tail = number;
  ++queue.length;
  if (queue.head != kNone) return;
  queue.head = number;
  set_request(packet, true);
  touch(at, std::uint64_t{1} << out);
}

void Simulation::unlink(std::uint32_t number) {
  Packet& packet = pool_[number];
  Queue& queue = queues_[queue_of(packet)];
  const bool was_head = queue.head == number;
  (was_head ? queue.head : pool_[packet.previous].next) = packet.next;
  (queue.tail == number ? queue.tail : pool_[packet.next].previous) = packet.previous;
  --queue.length;
  packet.is_waiting = false;
  ++packet.serial;
  if (!was_head) return;
  set_request(packet, false);
  if (queue.head == kNone) return;
  set_request(pool_[queue.head], true);
  const SwitchId at = packet.input / topology_.ports();
  if ((busy_inputs_[at] >> packet.input % topology_.ports() & 1) != 0) return;  // its release looks at all requests
  touch(at, std::uint64_t{1} << pool_[queue.head].out);
}

void Simulation::set_request(const Packet& packet, bool wanted) {
  const std::uint64_t input = std::uint64_t{1} << packet.input % topology_.ports();
  const std::size_t first = output_of(packet) * std::size_t{flows_};
  std::uint64_t& request = requests_[first + flow_of(packet, packet.out_vc)];
  const std::uint64_t output = std::uint64_t{1} << packet.out;
  if (wanted) {
    request |= input;
    wanted_[packet.input] |= output;
    return;
  }
  request &= ~input;
  for (std::uint32_t flow = 0; flow < flows_; ++flow) {
    if ((requests_[first + flow] & input) != 0) return;
  }
  wanted_[packet.input] &= ~output;
}

/// The packet has left its store; the last copy frees the slots.
void Simulation::free_slots(const Packet& packet, Cycle at) {
  const std::uint32_t stored = packet.stored;
  const Packet* const owner = &pool_[stored];
  if (owner != &packet && --pool_[stored].copies != 0) return;
  const ChannelId from = topology_.into(packet.input / topology_.ports(), packet.input % topology_.ports());
  return_credit(from, flow_of(*owner, owner->vc), owner->slots, at + cycles_of(from));
  if (owner != &packet) pool_.release(stored);
}

void Simulation::return_credit(ChannelId channel, std::uint32_t flow, std::uint32_t slots, Cycle at) {
  ++returning_[channel * std::size_t{flows_} + flow];
  wheel_.add(at, {.kind = EventKind::Credit, .a = channel, .b = flow, .c = slots});
}

}  // namespace stopbit::network
