#include "host/lab/network/result/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

namespace stopbit::network {
namespace {

constexpr std::array<double, 4> kQuantiles = {0.5, 0.9, 0.99, 0.999};
constexpr std::size_t kShownLinks = 5;

double mean(const counters::Distribution& values) {
  return values.count == 0 ? 0 : static_cast<double>(values.sum) / static_cast<double>(values.count);
}

std::string_view end_text(End end) {
  switch (end) {
    case End::Limit: return "its time was over";
    case End::Idle: return "everything was delivered";
    case End::Deadlock: return "DEADLOCK";
    case End::Memory: break;
  }
  return "packets need more than the limit of 8 GiB";
}

std::string channels_text(const Topology& topology, const std::vector<ChannelId>& channels) {
  std::string out;
  for (const ChannelId channel : channels) out += (out.empty() ? "" : " ") + topology.name(channel);
  return out;
}

void add_run(std::string& out, const Plan& plan, const Network& network, const RunResult& result) {
  const Counts& counts = result.counts;
  const auto to = std::back_inserter(out);
  const double ns = 1'000 / plan.simulation.node.clock_mhz;
  fmt::format_to(to, "end            {} after {} cycles\n", end_text(result.end), result.cycles);
  fmt::format_to(to, "packets        {} created, {} delivered, {} lost, {} in flight\n", counts.created,
                 counts.delivered, counts.lost, result.under_way);
  if (result.load > 0) {
    fmt::format_to(to, "load           {:.4f} offered, {:.4f} accepted, of a host's link\n", result.load,
                   result.accepted);
  }
  const double seconds = static_cast<double>(result.cycles) * ns / 1e9;
  if (seconds > 0) {
    fmt::format_to(to, "payload        {:.1f} MB/s, {:.3f} million packets/s, over all hosts\n",
                   static_cast<double>(counts.payload_bytes) / seconds / 1e6,
                   static_cast<double>(counts.delivered) / seconds / 1e6);
  }
  fmt::format_to(to, "latency        {:.1f} cycles ({:.1f} ns) on average", mean(counts.latency),
                 mean(counts.latency) * ns);
  for (const double part : kQuantiles) fmt::format_to(to, ", {} % {}", part * 100, counts.latency.quantile(part));
  fmt::format_to(to, ", at most {}\n", counts.latency.largest);
  fmt::format_to(to, "in the network {:.1f} cycles on average\n", mean(counts.transit));
  const LinkLoads loads = loads_of(network, result);
  if (!loads.all.empty()) {
    fmt::format_to(to, "links          {} packets; load {:.4f} on average; highest", counts.link_packets, loads.mean);
    for (std::size_t i = 0; i < std::min(kShownLinks, loads.all.size()); ++i) {
      fmt::format_to(to, " {}={:.4f}", network.topology().name(loads.all[i].second), loads.all[i].first);
    }
    out += '\n';
  }
  if (counts.retransmissions != 0) fmt::format_to(to, "retransmitted  {}\n", counts.retransmissions);
  if (counts.adaptive_hops != 0) {
    fmt::format_to(to, "adaptive       {} hops, {} packets went on deterministically\n", counts.adaptive_hops,
                   counts.escapes);
  }
  if (counts.deadlocks != 0) {
    fmt::format_to(to, "deadlocks      {}, the first at cycle {}; {} packets removed and sent again\n",
                   counts.deadlocks, counts.first_deadlock, counts.removed);
    fmt::format_to(to, "               {:.1f} packets in each on average; inputs of the last one: {}\n",
                   static_cast<double>(counts.deadlocked) / static_cast<double>(counts.deadlocks),
                   channels_text(network.topology(), result.deadlock));
  }
}

std::string numbers_json(const counters::Distribution& values) {
  std::string out = fmt::format("{{\"mean\":{:.3f}", mean(values));
  for (const double part : kQuantiles)
    fmt::format_to(std::back_inserter(out), ",\"p{}\":{}", part * 100, values.quantile(part));
  out += fmt::format(",\"max\":{},\"histogram\":[", values.largest);
  bool is_first = true;
  for (std::size_t bucket = 0; bucket < values.buckets.size(); ++bucket) {
    if (values.buckets[bucket] == 0) continue;
    out += fmt::format("{}[{},{}]", is_first ? "" : ",", counters::bucket_begin(bucket), values.buckets[bucket]);
    is_first = false;
  }
  return out + "]}";
}

}  // namespace

LinkLoads loads_of(const Network& network, const RunResult& result) {
  const Topology& topology = network.topology();
  LinkLoads loads;
  for (ChannelId channel = 0; channel < topology.switches() * topology.ports(); ++channel) {
    if (topology.peer(channel / topology.ports(), channel % topology.ports()).kind != Peer::Kind::Switch) continue;
    const double busy = static_cast<double>(result.counts.busy[channel]);
    loads.all.emplace_back(result.cycles == 0 ? 0 : busy / static_cast<double>(result.cycles), channel);
  }
  std::stable_sort(loads.all.begin(), loads.all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [load, channel] : loads.all) loads.mean += load / static_cast<double>(loads.all.size());
  return loads;
}

std::string topology_text(const Plan& plan, const Network& network) {
  std::string shape;
  switch (plan.topology.shape) {
    case Shape::Single: shape = "single switch"; break;
    case Shape::FatTree: shape = fmt::format("fat tree of arity {}", plan.topology.arity); break;
    case Shape::Graph: shape = fmt::format("graph of {} switches", plan.topology.nodes); break;
    case Shape::Grid:
      shape = !plan.topology.wraps ? "mesh " : plan.topology.extent.size() == 1 ? "ring of " : "torus ";
      for (std::size_t d = 0; d < plan.topology.extent.size(); ++d) {
        shape += (d == 0 ? "" : "x") + std::to_string(plan.topology.extent[d]);
      }
      break;
  }
  return fmt::format("{}, {} hosts", shape, network.topology().hosts());
}

std::string report_text(const Plan& plan, const Network& network, const std::vector<RunResult>& results) {
  std::string out = fmt::format("network        {}\n", topology_text(plan, network));
  if (!network.cycle().empty()) {
    out += "routes         UNSAFE: these channels can wait for each other: " +
           channels_text(network.topology(), network.cycle()) + '\n';
  } else {
    out += network.is_checked() ? "routes         no deadlock is possible\n"
                                : "routes         not checked: more than 1024 switches\n";
  }
  if (results.empty()) return out;
  if (results.size() == 1) {
    add_run(out, plan, network, results.front());
    return out;
  }
  out += fmt::format("{:>8} {:>9} {:>10} {:>8} {:>8} {:>9} {:>9}  {}\n", "offered", "accepted", "mean", "50 %", "99 %",
                     "highest", "deadlocks", "end");
  for (const RunResult& result : results) {
    const LinkLoads loads = loads_of(network, result);
    out += fmt::format("{:8.4f} {:9.4f} {:10.1f} {:8} {:8} {:9.4f} {:9}  {}\n", result.load, result.accepted,
                       mean(result.counts.latency), result.counts.latency.quantile(0.5),
                       result.counts.latency.quantile(0.99), loads.all.empty() ? 0 : loads.all.front().first,
                       result.counts.deadlocks, end_text(result.end));
  }
  return out;
}

std::string report_json(const Plan& plan, const Network& network, const RunResult& result) {
  const Counts& counts = result.counts;
  const Topology& topology = network.topology();
  std::string out = fmt::format(
      "{{\"network\":\"{}\",\"safe\":{},\"seed\":{},\"offered\":{:.6f},\"accepted\":{:.6f},\"end\":\"{}\",\"cycles\":{}"
      ","
      "\"created\":{},\"delivered\":{},\"lost\":{},\"under_way\":{},\"payload_bytes\":{},\"hops\":{},\"link_packets\":{"
      "},"
      "\"retransmissions\":{},\"adaptive_hops\":{},\"escapes\":{},\"deadlocks\":{},\"deadlocked\":{},\"removed\":{},"
      "\"events\":{}",
      topology_text(plan, network), network.is_checked() ? (network.cycle().empty() ? "true" : "false") : "null",
      plan.simulation.seed, result.load, result.accepted, end_text(result.end), result.cycles, counts.created,
      counts.delivered, counts.lost, result.under_way, counts.payload_bytes, counts.hops, counts.link_packets,
      counts.retransmissions, counts.adaptive_hops, counts.escapes, counts.deadlocks, counts.deadlocked, counts.removed,
      counts.events);
  out +=
      ",\"latency\":" + numbers_json(counts.latency) + ",\"transit\":" + numbers_json(counts.transit) + ",\"links\":{";
  const LinkLoads loads = loads_of(network, result);
  for (std::size_t i = 0; i < loads.all.size(); ++i) {
    out += fmt::format("{}\"{}\":{:.5f}", i == 0 ? "" : ",", topology.name(loads.all[i].second), loads.all[i].first);
  }
  return out + "}}";
}

}  // namespace stopbit::network
