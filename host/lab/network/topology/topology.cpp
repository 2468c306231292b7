#include "host/lab/network/topology/topology.hpp"

#include <algorithm>
#include <queue>

namespace stopbit::network {
namespace {

constexpr std::uint64_t kMaxSwitches = 1U << 22;  // so that no product here overflows
constexpr std::uint32_t kMaxExtent = 4'096;

Result<TopologySize> grid_size(const TopologyPlan& plan) {
  if (plan.extent.empty() || plan.extent.size() > 3) return Failure{"a grid has one to three dimensions"};
  TopologySize size{.switches = 1, .ports = plan.hosts + 2 * static_cast<std::uint32_t>(plan.extent.size())};
  for (const std::uint32_t extent : plan.extent) {
    if (extent < 2 || extent > kMaxExtent) return Failure{"each dimension has 2 to 4096 switches"};
    size.switches *= extent;
    if (size.switches > kMaxSwitches) return Failure{"a network has at most 4194304 switches"};
  }
  size.hosts = size.switches * plan.hosts;
  return size;
}

Result<TopologySize> graph_size(const TopologyPlan& plan) {
  if (plan.nodes == 0 || plan.nodes > kMaxSwitches) return Failure{"a graph has 1 to 4194304 switches"};
  std::vector<std::uint32_t> all;  // as long as the links, whatever number of switches the settings name
  for (const auto& [a, b] : plan.links) {
    if (a >= plan.nodes || b >= plan.nodes) return Failure{"a link ends at a switch that does not exist"};
    if (a == b) return Failure{"a link connects a switch with itself"};
    all.push_back(a);
    all.push_back(b);
  }
  std::sort(all.begin(), all.end());
  std::uint32_t most = 0;
  for (std::size_t i = 0, begin = 0; i < all.size(); ++i) {
    if (all[i] != all[begin]) begin = i;
    most = std::max(most, static_cast<std::uint32_t>(i - begin + 1));
  }
  return TopologySize{
      .switches = plan.nodes, .hosts = std::uint64_t{plan.nodes} * plan.hosts, .ports = plan.hosts + most};
}

Result<TopologySize> tree_size(const TopologyPlan& plan) {
  if (plan.arity < 2 || plan.arity > kMaxPorts || plan.arity % 2 != 0)
    return Failure{"the arity of a fat tree is an even number from 2 to 64"};
  const std::uint64_t half = plan.arity / 2;
  return TopologySize{.switches = 5 * half * half, .hosts = 2 * half * half * half, .ports = plan.arity};
}

Result<TopologySize> raw_size(const TopologyPlan& plan) {
  switch (plan.shape) {
    case Shape::Single: return TopologySize{.switches = 1, .hosts = plan.hosts, .ports = plan.hosts};
    case Shape::Grid: return grid_size(plan);
    case Shape::FatTree: return tree_size(plan);
    case Shape::Graph: break;
  }
  return graph_size(plan);
}

}  // namespace

Result<TopologySize> size_of(const TopologyPlan& plan) {
  if (plan.hosts > kMaxPorts) return Failure{"a switch has at most 64 ports"};
  Result<TopologySize> size = raw_size(plan);
  if (!size) return size;
  if (size.value().ports > kMaxPorts) return Failure{"a switch has at most 64 ports"};
  if (size.value().hosts < 2) return Failure{"a network has at least 2 hosts"};
  return size;
}

Result<Topology> Topology::make(const TopologyPlan& plan) {
  const Result<TopologySize> size = size_of(plan);
  if (!size) return size.failure();
  Topology made;
  made.plan_ = plan;
  made.switches_ = static_cast<std::uint32_t>(size.value().switches);
  made.ports_ = size.value().ports;
  made.peers_.resize(std::size_t{made.switches_} * made.ports_);
  made.places_.reserve(size.value().hosts);
  switch (plan.shape) {
    case Shape::Single:
      for (std::uint32_t port = 0; port < plan.hosts; ++port) made.attach(0, port);
      break;
    case Shape::Grid: made.make_grid(); break;
    case Shape::FatTree: made.make_fat_tree(); break;
    case Shape::Graph: made.make_graph(); break;
  }
  return made;
}

void Topology::connect(SwitchId a, std::uint32_t port_a, SwitchId b, std::uint32_t port_b) {
  peers_[channel(a, port_a)] = {Peer::Kind::Switch, static_cast<std::uint8_t>(port_b), b};
  peers_[channel(b, port_b)] = {Peer::Kind::Switch, static_cast<std::uint8_t>(port_a), a};
}

void Topology::attach(SwitchId at, std::uint32_t port) {
  peers_[channel(at, port)] = {Peer::Kind::Host, 0, hosts()};
  places_.push_back({at, static_cast<std::uint8_t>(port)});
}

/// Dimension d has the ports hosts + 2d (upwards) and hosts + 2d + 1 (downwards).
void Topology::make_grid() {
  for (SwitchId at = 0; at < switches_; ++at) {
    for (std::uint32_t port = 0; port < plan_.hosts; ++port) attach(at, port);
    const Coordinates here = coordinates(at);
    std::uint32_t step = 1;
    for (std::uint32_t d = 0; d < plan_.extent.size(); ++d) {
      const std::uint32_t extent = plan_.extent[d];
      const std::uint32_t up = plan_.hosts + 2 * d;
      if (here[d] + 1U < extent) connect(at, up, at + step, up + 1);
      // A ring of two would have two links between the same switches: both are kept, as two cables would be.
      if (here[d] + 1U == extent && plan_.wraps) connect(at, up, at - step * (extent - 1), up + 1);
      step *= extent;
    }
  }
}

/// Three levels: edge and middle switches in pods, and the core. Ports of the lower half lead down, to hosts or
/// switches.
void Topology::make_fat_tree() {
  const std::uint32_t half = plan_.arity / 2;
  const std::uint32_t middles = plan_.arity * half;  // the number of edges; middles follow, then cores
  for (SwitchId edge = 0; edge < middles; ++edge) {
    for (std::uint32_t port = 0; port < half; ++port) attach(edge, port);
    const std::uint32_t pod = edge / half;
    for (std::uint32_t up = 0; up < half; ++up) connect(edge, half + up, middles + pod * half + up, edge % half);
  }
  for (SwitchId middle = 0; middle < middles; ++middle) {
    const std::uint32_t pod = middle / half;
    for (std::uint32_t up = 0; up < half; ++up) {
      connect(middles + middle, half + up, 2 * middles + (middle % half) * half + up, pod);
    }
  }
}

void Topology::make_graph() {
  std::vector<std::uint32_t> next(switches_, plan_.hosts);
  for (SwitchId at = 0; at < switches_; ++at) {
    for (std::uint32_t port = 0; port < plan_.hosts; ++port) attach(at, port);
  }
  for (const auto& [a, b] : plan_.links) {
    const std::uint32_t port_a = next[a]++;
    connect(a, port_a, b, next[b]++);
  }
}

Coordinates Topology::coordinates(SwitchId at) const noexcept {
  Coordinates here{};
  for (std::size_t d = 0; d < plan_.extent.size(); ++d) {
    here[d] = static_cast<std::uint16_t>(at % plan_.extent[d]);
    at /= plan_.extent[d];
  }
  return here;
}

std::vector<std::uint32_t> Topology::distances_to(SwitchId target) const {
  std::vector<std::uint32_t> distance(switches_, kNone);
  std::queue<SwitchId> next;
  distance[target] = 0;
  next.push(target);
  while (!next.empty()) {
    const SwitchId at = next.front();
    next.pop();
    for (std::uint32_t port = 0; port < ports_; ++port) {
      const Peer& other = peer(at, port);
      if (other.kind != Peer::Kind::Switch || distance[other.number] != kNone) continue;
      distance[other.number] = distance[at] + 1;
      next.push(other.number);
    }
  }
  return distance;
}

std::string Topology::name(ChannelId channel) const {
  if (channel >= switches_ * ports_) return "host " + std::to_string(channel - switches_ * ports_);
  return std::to_string(channel / ports_) + ':' + std::to_string(channel % ports_);
}

}  // namespace stopbit::network
