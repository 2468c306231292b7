#include "host/lab/network/engine/simulation.hpp"

namespace stopbit::network {

Simulation::Simulation(const Topology& topology, const Router& router, const Groups& groups, Source* source,
                       const SimulationOptions& options)
    : topology_(topology),
      router_(router),
      groups_(groups),
      source_(source),
      options_(options),
      flows_(options.node.flows()),
      random_(options.seed),
      credits_(topology.channels(), flows_, options.node.slots, options.node.reserve) {
  const std::size_t ports = std::size_t{topology.switches()} * topology.ports();
  hosts_.resize(topology.hosts());
  queues_.resize(options.node.is_fifo ? ports : ports * topology.ports() * flows_);
  ends_.resize(ports);
  for (std::size_t port = 0; port < ports; ++port) {
    ends_[port] =
        topology
            .peer(static_cast<SwitchId>(port / topology.ports()), static_cast<std::uint32_t>(port % topology.ports()))
            .kind;
  }
  requests_.resize(ports * flows_);
  wanted_.resize(ports);
  busy_inputs_.resize(topology.switches());
  busy_outputs_.resize(topology.switches());
  pending_.resize(topology.switches());
  is_dirty_.resize(topology.switches());
  turns_.resize(ports);
  accepts_.resize(ports);
  adaptives_.resize(ports);
  blocked_since_.resize(ports * flows_, kNever);
  coming_.resize(std::size_t{topology.channels()} * flows_);
  returning_.resize(coming_.size());
  clear_counts();
}

std::uint64_t Simulation::bytes_for(const TopologySize& size, const SwitchOptions& options) noexcept {
  const std::uint64_t ports = size.switches * size.ports;
  const std::uint64_t flows = options.flows();
  const std::uint64_t queues = options.is_fifo ? ports : ports * size.ports * flows;
  const std::uint64_t by_port = sizeof(Peer) + sizeof(Peer::Kind) + sizeof(std::uint64_t) + sizeof(Turn) + 2;
  const std::uint64_t by_flow = sizeof(std::uint64_t) + sizeof(Cycle) + 3 * sizeof(std::uint32_t);
  const std::uint64_t by_channel = 2 * sizeof(std::uint32_t) + sizeof(std::uint64_t);
  return queues * sizeof(Queue) + ports * by_port + size.channels() * (by_channel + flows * by_flow) +
         size.switches * 4 * sizeof(std::uint64_t) + size.hosts * (sizeof(Host) + sizeof(Place));
}

void Simulation::clear_counts() {
  counts_ = Counts{};
  counts_.busy.assign(topology_.channels(), 0);
  counted_from_ = wheel_.now();
}

End Simulation::run(Cycle until) {
  if (!is_started_) start_hosts();
  for (;;) {
    Event event;
    while (wheel_.pop(event)) dispatch(event);
    // Requests of one cycle are compared with each other, in whatever order they came.
    for (std::size_t i = 0; i < dirty_.size(); ++i) {
      is_dirty_[dirty_[i]] = false;
      arbitrate(dirty_[i]);
    }
    dirty_.clear();
    if (is_stuck_) return End::Deadlock;
    if (packet_bytes() > most_bytes_) return End::Memory;
    if (wheel_.size() == 0) return End::Idle;
    if (!wheel_.advance(until)) return End::Limit;
  }
}

void Simulation::dispatch(const Event& event) {
  ++counts_.events;
  switch (event.kind) {
    case EventKind::Inject:
      if (hosts_[event.a].wake == now()) hosts_[event.a].wake = kNever;
      inject(event.a);
      break;
    case EventKind::Arrive: arrive(event.a, event.b); break;
    case EventKind::Release: release(event.a, event.b); break;
    case EventKind::Credit: {
      credits_.give_back(event.a, event.b, event.c);
      --returning_[event.a * std::size_t{flows_} + event.b];
      const ChannelId ports = topology_.switches() * topology_.ports();
      if (event.a >= ports) {
        inject(event.a - ports);
      } else {
        touch(event.a / topology_.ports(), std::uint64_t{1} << event.a % topology_.ports());
      }
      break;
    }
    case EventKind::Deliver: deliver(event.a, event.b); break;
    case EventKind::Arbitrate: touch(event.a, 0); break;
    case EventKind::Escape: escape(event.a, event.b); break;
    case EventKind::Check: check(event.a, event.b); break;
    case EventKind::Reinject: reinject(event.a, event.b); break;
  }
}

}  // namespace stopbit::network
