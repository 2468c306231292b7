#include <array>
#include <cmath>
#include <utility>

#include "host/lab/network/engine/simulation.hpp"

namespace stopbit::network {

void Simulation::touch(SwitchId at, std::uint64_t outputs) {
  pending_[at] |= outputs;
  if (is_dirty_[at]) return;
  is_dirty_[at] = true;
  dirty_.push_back(at);
}

/// Request, grant, accept: each free output grants one request of an input, each input accepts one grant. An output's
/// turn moves on only if its grant was accepted (iSLIP); the others try again in the next cycle.
void Simulation::arbitrate(SwitchId at) {
  const std::uint64_t outputs = std::exchange(pending_[at], 0) & ~busy_outputs_[at];
  std::array<Pick, kMaxPorts> picks;
  std::array<std::uint64_t, kMaxPorts> grants;
  std::uint64_t inputs = 0;
  for_each_bit(outputs, [&](std::uint32_t out) {
    picks[out] = pick(at, out);
    const std::uint32_t in = picks[out].input;
    if (in == kNone) return;
    if ((inputs >> in & 1) == 0) grants[in] = 0;
    inputs |= std::uint64_t{1} << in;
    grants[in] |= std::uint64_t{1} << out;
  });
  std::uint64_t again = 0;
  for_each_bit(inputs, [&](std::uint32_t in) {
    std::uint8_t& turn = accepts_[topology_.channel(at, in)];
    const std::uint64_t later = grants[in] & ~((std::uint64_t{1} << turn) - 1);
    const auto out = static_cast<std::uint32_t>(__builtin_ctzll(later != 0 ? later : grants[in]));
    turn = static_cast<std::uint8_t>((out + 1) % kMaxPorts);
    again |= grants[in] & ~(std::uint64_t{1} << out);
    turns_[topology_.channel(at, out)] = {static_cast<std::uint8_t>(picks[out].flow),
                                          static_cast<std::uint8_t>(in + 1)};
    transmit(at, in, out, picks[out].flow);
  });
  if (again == 0) return;
  pending_[at] |= again;
  wheel_.add(now() + 1, {.kind = EventKind::Arbitrate, .a = at});
}

/// Round robin over (flow, input), from where the last accepted grant was.
Simulation::Pick Simulation::pick(SwitchId at, std::uint32_t out) {
  const ChannelId channel = topology_.channel(at, out);
  const Turn turn = turns_[channel];
  const std::uint64_t later = turn.input < kMaxPorts ? ~std::uint64_t{0} << turn.input : 0;
  Pick found;
  for (std::uint32_t i = 0; i <= flows_ && found.input == kNone; ++i) {
    const std::uint32_t flow = (turn.flow + i) % flows_;
    std::uint64_t inputs = requests_[channel * std::size_t{flows_} + flow];
    if (i == 0) inputs &= later;
    if (i == flows_) inputs &= ~later;
    if (inputs == 0) continue;
    if (!credits_.can_send(channel, flow, options_.node.most_slots())) {
      note_blocked(channel, flow);
      continue;
    }
    inputs &= ~busy_inputs_[at];
    if (inputs != 0) found = {static_cast<std::uint32_t>(__builtin_ctzll(inputs)), flow};
  }
  return found;
}

void Simulation::transmit(SwitchId at, std::uint32_t in, std::uint32_t out, std::uint32_t flow) {
  const std::uint32_t number = queues_[queue_of(topology_.channel(at, in), out, flow)].head;
  const ChannelId channel = topology_.channel(at, out);
  busy_outputs_[at] |= std::uint64_t{1} << out;
  busy_inputs_[at] |= std::uint64_t{1} << in;
  unlink(number);
  Packet& packet = pool_[number];
  blocked_since_[channel * std::size_t{flows_} + flow] = kNever;
  const Cycle delay = delay_by_errors(channel, packet);
  const Cycle head = now() + options_.node.latency_cycles - options_.node.route_cycles + delay;
  credits_.take(channel, flow, packet.slots);
  ++coming_[channel * std::size_t{flows_} + flow];
  wheel_.add(now() + delay + std::max<Cycle>(packet.cells, options_.node.packet_cycles),
             {.kind = EventKind::Release, .a = channel, .b = in});
  free_slots(packet, head + packet.cells);
  packet.stored = number;
  packet.copies = 0;
  packet.is_adaptive = false;
  packet.vc = packet.out_vc;
  counts_.busy[channel] += packet.cells;
  ++counts_.hops;
  const Peer& peer = topology_.peer(at, out);
  if (peer.kind == Peer::Kind::Host) {
    wheel_.add(head + options_.link.host_cycles + packet.cells,
               {.kind = EventKind::Deliver, .a = number, .b = peer.number});
    return;
  }
  ++counts_.link_packets;
  if (packet.route.hops != 0xFFFF) ++packet.route.hops;
  const Cycle tail = options_.node.stores_and_forwards ? packet.cells : 0;
  wheel_.add(head + options_.link.cycles + options_.node.route_cycles + tail,
             {.kind = EventKind::Arrive, .a = number, .b = topology_.channel(peer.number, peer.port)});
}

/// Cycles until the attempt that arrives undamaged begins. A damaged packet, and all that follow it, are sent again
/// once the receiver has said so: the link does nothing else for as long as the packet and the answer take.
Cycle Simulation::delay_by_errors(ChannelId channel, Packet& packet) {
  const double rate = options_.link.bit_error_rate;
  if (rate <= 0 || is_host_link(channel)) return 0;
  const double bits = 8.0 * packet.cells * options_.node.cell_bytes;
  const double damage = -std::expm1(bits * std::log1p(-rate));
  Cycle delay = 0;
  for (std::uint32_t attempt = 1; random_.happens(damage); ++attempt) {
    if (!options_.link.retransmits || attempt == options_.link.attempts) {
      packet.is_bad = true;
      break;
    }
    ++counts_.retransmissions;
    counts_.busy[channel] += packet.cells;
    delay += packet.cells + 2 * Cycle{options_.link.cycles};
  }
  return delay;
}

void Simulation::release(ChannelId output, std::uint32_t in) {
  const SwitchId at = output / topology_.ports();
  const std::uint64_t out = std::uint64_t{1} << output % topology_.ports();
  busy_outputs_[at] &= ~out;
  busy_inputs_[at] &= ~(std::uint64_t{1} << in);
  touch(at, out | wanted_[topology_.channel(at, in)]);
}

}  // namespace stopbit::network
