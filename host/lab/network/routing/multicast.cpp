#include "host/lab/network/routing/multicast.hpp"

#include <algorithm>
#include <queue>
#include <string>

namespace stopbit::network {

Status Groups::add(const Topology& topology, const GroupPlan& plan) {
  std::vector<Entry> tree{{topology.place(plan.source).at, 0}};
  std::vector<std::pair<SwitchId, HostId>> missing;
  for (const HostId member : plan.members) missing.emplace_back(topology.place(member).at, member);
  std::sort(missing.begin(), missing.end());
  while (!missing.empty()) {
    if (Status status = add_member(topology, tree, missing); !status) return status;
  }
  std::sort(tree.begin(), tree.end(), [](const Entry& a, const Entry& b) { return a.at < b.at; });
  groups_.push_back(std::move(tree));
  return Done{};
}

/// The shortest way from the tree to a switch with missing members; of several that to the lowest switch.
Status Groups::add_member(const Topology& topology, std::vector<Entry>& tree,
                          std::vector<std::pair<SwitchId, HostId>>& missing) const {
  std::vector<std::uint32_t> distance(topology.switches(), kNone);
  std::vector<ChannelId> from(topology.switches(), kNone);
  std::queue<SwitchId> next;
  for (const Entry& entry : tree) {
    distance[entry.at] = 0;
    next.push(entry.at);
  }
  for (; !next.empty(); next.pop()) {
    const SwitchId at = next.front();
    for (std::uint32_t port = 0; port < topology.ports(); ++port) {
      const Peer& peer = topology.peer(at, port);
      if (peer.kind != Peer::Kind::Switch || distance[peer.number] != kNone) continue;
      distance[peer.number] = distance[at] + 1;
      from[peer.number] = topology.channel(at, port);
      next.push(peer.number);
    }
  }
  const auto nearest = std::min_element(missing.begin(), missing.end(), [&](const auto& a, const auto& b) {
    return std::pair(distance[a.first], a.first) < std::pair(distance[b.first], b.first);
  });
  const SwitchId target = nearest->first;
  if (distance[target] == kNone) return Failure{"no way leads to host " + std::to_string(nearest->second)};
  std::uint64_t ports = 0;
  for (const auto& [at, host] : missing) {
    if (at == target) ports |= std::uint64_t{1} << topology.place(host).port;
  }
  std::erase_if(missing, [target](const auto& item) { return item.first == target; });
  for (SwitchId at = target;;) {
    const auto known = std::find_if(tree.begin(), tree.end(), [at](const Entry& entry) { return entry.at == at; });
    if (known != tree.end()) {
      known->ports |= ports;
      return Done{};
    }
    tree.push_back({at, ports});
    ports = std::uint64_t{1} << from[at] % topology.ports();
    at = from[at] / topology.ports();
  }
}

std::uint64_t Groups::ports(std::uint32_t group, SwitchId at) const noexcept {
  const std::vector<Entry>& tree = groups_[group];
  const auto found = std::lower_bound(tree.begin(), tree.end(), at,
                                      [](const Entry& entry, SwitchId value) { return entry.at < value; });
  return found != tree.end() && found->at == at ? found->ports : 0;
}

std::size_t Groups::links(const Topology& topology, std::uint32_t group) const noexcept {
  std::size_t count = 0;
  for (const Entry& entry : groups_[group]) {
    for_each_bit(entry.ports, [&](std::uint32_t port) {
      count += topology.peer(entry.at, port).kind == Peer::Kind::Switch ? 1 : 0;
    });
  }
  return count;
}

void Groups::add_dependencies(const Topology& topology, Dependencies& dependencies) const {
  for (const std::vector<Entry>& tree : groups_) {
    for (const Entry& entry : tree) {
      for_each_bit(entry.ports, [&](std::uint32_t port) {
        const Peer& peer = topology.peer(entry.at, port);
        if (peer.kind != Peer::Kind::Switch) return;
        const auto next = std::lower_bound(tree.begin(), tree.end(), peer.number,
                                           [](const Entry& each, SwitchId value) { return each.at < value; });
        for_each_bit(next->ports, [&](std::uint32_t out) {
          dependencies.add(topology.channel(entry.at, port), 0, {.port = static_cast<std::uint8_t>(out), .vc = 0});
        });
      });
    }
  }
}

}  // namespace stopbit::network
