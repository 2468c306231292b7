#include "host/lab/network/result/run.hpp"

#include <algorithm>

#include "host/feed/packet/packet.hpp"
#include "host/ports/pcap/pcap_source.hpp"

namespace stopbit::network {
namespace {

constexpr Cycle kSlice = 20'000;  ///< Between two calls of the progress.
constexpr std::size_t kMostDatagrams = 10'000'000;

std::unique_ptr<Source> source_of(const Plan& plan, const Network& network, const std::vector<Datagram>& datagrams,
                                  double load) {
  const SwitchOptions& node = plan.simulation.node;
  const TrafficPlan& traffic = plan.traffic;
  if (traffic.kind == TrafficKind::FanOut) {
    const GroupPlan& group = plan.groups[traffic.group];
    return std::make_unique<FanOutSource>(group.source, datagrams, node.packet_bytes,
                                          traffic.is_multicast ? traffic.group : kNone, group.members);
  }
  PatternOptions options = traffic.pattern;
  options.load = load;
  return std::make_unique<PatternSource>(network.topology().hosts(), node.cells_of(options.payload), options);
}

/// Runs to `until`, in slices. Nothing: the progress ended it.
std::optional<End> run_to(Simulation& simulation, Cycle until, const Progress& progress) {
  for (;;) {
    const Cycle slice = until - simulation.now() > kSlice ? simulation.now() + kSlice : until;
    const End end = simulation.run(slice);
    if (end != End::Limit || slice == until) return end;
    if (!progress(simulation.now(), simulation.counts().created)) return std::nullopt;
  }
}

}  // namespace

Result<std::vector<Datagram>> datagrams_of(const Plan& plan) {
  std::vector<Datagram> all;
  const TrafficPlan& traffic = plan.traffic;
  if (traffic.kind != TrafficKind::FanOut) return all;
  const double cycles_of_ns = plan.simulation.node.clock_mhz / 1'000;
  if (traffic.capture.empty()) {
    for (std::uint64_t i = 0; i < traffic.datagrams; ++i) {
      all.push_back(
          {static_cast<Cycle>(static_cast<double>(i * traffic.every_ns) * cycles_of_ns), traffic.pattern.payload});
    }
    return all;
  }
  Result<std::unique_ptr<ingest::PacketSource>> source = ingest::open_capture(traffic.capture);
  if (!source) return source.failure();
  ingest::Packet packet;
  std::uint64_t first = 0;
  ingest::Next next = source.value()->next(packet);
  for (; next == ingest::Next::Packet; next = source.value()->next(packet)) {
    net::Datagram datagram;
    if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted)
      continue;
    if (all.size() == kMostDatagrams) return Failure{traffic.capture + ": more than 10000000 datagrams"};
    if (all.empty()) first = packet.arrival_ns;
    const double ns = packet.arrival_ns < first ? 0 : static_cast<double>(packet.arrival_ns - first);
    const auto at = static_cast<Cycle>(ns * cycles_of_ns / traffic.speed);
    all.push_back(
        {all.empty() ? at : std::max(at, all.back().at), static_cast<std::uint32_t>(datagram.payload.size())});
  }
  if (next == ingest::Next::Fault) return Failure{source.value()->fault().message};
  if (all.empty()) return Failure{traffic.capture + ": no datagram in it"};
  return all;
}

std::optional<RunResult> run_once(const Plan& plan, const Network& network, const std::vector<Datagram>& datagrams,
                                  double load, const Progress& progress) {
  const std::unique_ptr<Source> source = source_of(plan, network, datagrams, load);
  Simulation simulation(network.topology(), network.router(), network.groups(), source.get(), plan.simulation);
  simulation.limit_packets(plan.run.packets);
  const Result<TopologySize> size = size_of(plan.topology);
  simulation.limit_packet_bytes(kMaxMemoryBytes - std::min(kMaxMemoryBytes, memory_of(plan, size.value())));
  std::optional<End> end = End::Limit;
  if (plan.run.warmup != 0) end = run_to(simulation, plan.run.warmup, progress);
  if (end == End::Limit) {
    simulation.clear_counts();
    end = run_to(simulation, plan.run.cycles, progress);
  }
  if (!end) return std::nullopt;
  RunResult result;
  result.load = plan.traffic.kind == TrafficKind::FanOut ? 0 : load;
  result.end = *end;
  result.cycles = simulation.now() - simulation.counted_from();
  result.counts = simulation.counts();
  result.under_way = simulation.under_way();
  result.packet_bytes = simulation.packet_bytes();
  result.deadlock = simulation.last_cycle();
  if (result.cycles != 0) {
    result.accepted =
        static_cast<double>(result.counts.cells) / static_cast<double>(result.cycles) / network.topology().hosts();
  }
  return result;
}

}  // namespace stopbit::network
