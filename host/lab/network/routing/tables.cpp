#include "host/lab/network/routing/tables.hpp"

#include <algorithm>
#include <queue>

namespace stopbit::network {

void TableRouter::set(SwitchId at, SwitchId target, std::uint8_t port, std::uint8_t vc) noexcept {
  rising_[index(at, target)] = static_cast<Entry>(port << 2 | vc);
}

std::unique_ptr<TableRouter> TableRouter::shortest(const Topology& topology) {
  std::unique_ptr<TableRouter> made(new TableRouter(topology));
  for (SwitchId target = 0; target < topology.switches(); ++target) {
    const std::vector<std::uint32_t> distance = topology.distances_to(target);
    for (SwitchId at = 0; at < topology.switches(); ++at) {
      if (at == target || distance[at] == kNone) continue;
      std::uint32_t port = 0;
      while (topology.peer(at, port).kind != Peer::Kind::Switch ||
             distance[topology.peer(at, port).number] + 1 != distance[at]) {
        ++port;
      }
      made->set(at, target, static_cast<std::uint8_t>(port), 0);
    }
  }
  return made;
}

std::unique_ptr<TableRouter> TableRouter::of(const Topology& topology, const Router& router) {
  std::unique_ptr<TableRouter> made(new TableRouter(topology));
  for (SwitchId target = 0; target < topology.switches(); ++target) {
    if (topology.host_of(target) == kNone) continue;
    for (SwitchId at = 0; at < topology.switches(); ++at) {
      if (at == target) continue;
      Route route{.target = topology.host_of(target)};
      const Hop hop = router.next(at, 0, route);
      made->set(at, target, hop.port, hop.vc);
    }
  }
  return made;
}

bool TableRouter::falls(SwitchId at, std::uint32_t in_port) const noexcept {
  const Peer& from = topology_.peer(at, in_port);
  if (from.kind != Peer::Kind::Switch) return false;
  return std::pair(level_[at], at) > std::pair(level_[from.number], from.number);
}

std::unique_ptr<TableRouter> TableRouter::up_down(const Topology& topology) {
  std::unique_ptr<TableRouter> made(new TableRouter(topology));
  made->falling_.assign(made->rising_.size(), kNoWay);
  made->level_ = topology.distances_to(0);
  for (SwitchId target = 0; target < topology.switches(); ++target) made->fill_up_down(target);
  return made;
}

/// Backwards from the target: the links down that lead there; then, with those known, the links up.
void TableRouter::fill_up_down(SwitchId target) {
  const std::size_t count = topology_.switches();
  std::vector<std::uint32_t> falling(count, kNone);
  std::vector<std::uint32_t> rising(count, kNone);
  std::queue<std::pair<SwitchId, bool>> next;  // a switch, and whether a packet at it has gone down
  falling[target] = rising[target] = 0;
  next.emplace(target, true);
  next.emplace(target, false);
  while (!next.empty()) {
    const auto [at, is_falling] = next.front();
    next.pop();
    const std::uint32_t distance = (is_falling ? falling : rising)[at];
    for (std::uint32_t port = 0; port < topology_.ports(); ++port) {
      const Peer& from = topology_.peer(at, port);
      if (from.kind != Peer::Kind::Switch) continue;
      // A link down leads to a state that has gone down, a link up to one that has not.
      if (falls(at, port) != is_falling) continue;
      const auto reach = [&](std::vector<std::uint32_t>& of, std::vector<Entry>& table, bool state) {
        if (of[from.number] != kNone) return;
        of[from.number] = distance + 1;
        table[index(from.number, target)] = static_cast<Entry>(from.port << 2);
        next.emplace(from.number, state);
      };
      if (is_falling) reach(falling, falling_, true);
      reach(rising, rising_, false);
    }
  }
}

Hop TableRouter::next(SwitchId at, std::uint8_t in_port, Route& route) const {
  const std::size_t at_target = index(at, topology_.place(route.target).at);
  if (!falling_.empty() && falls(at, in_port)) return hop(falling_[at_target]);
  return hop(rising_[at_target]);
}

IntervalRouter::IntervalRouter(const Topology& topology, const TableRouter& table) : topology_(topology) {
  for (SwitchId at = 0; at < topology.switches(); ++at) {
    begin_.push_back(intervals_.size());
    for (SwitchId target = 0; target < topology.switches(); ++target) {
      if (target == at) continue;  // which may lie in any interval
      const Hop hop = table.entry(at, target);
      if (intervals_.size() > begin_.back() && intervals_.back().hop.port == hop.port &&
          intervals_.back().hop.vc == hop.vc) {
        continue;
      }
      intervals_.push_back({intervals_.size() == begin_.back() ? 0 : target, hop});
    }
  }
  begin_.push_back(intervals_.size());
}

Hop IntervalRouter::next(SwitchId at, std::uint8_t /*in_port*/, Route& route) const {
  const auto begin = intervals_.begin() + static_cast<std::ptrdiff_t>(begin_[at]);
  const auto end = intervals_.begin() + static_cast<std::ptrdiff_t>(begin_[at + 1]);
  const SwitchId target = topology_.place(route.target).at;
  return std::prev(std::upper_bound(begin, end, target,
                                    [](SwitchId value, const Interval& interval) { return value < interval.begin; }))
      ->hop;
}

std::size_t IntervalRouter::most_intervals() const noexcept {
  std::size_t most = 0;
  for (std::size_t at = 0; at + 1 < begin_.size(); ++at) most = std::max(most, begin_[at + 1] - begin_[at]);
  return most;
}

TwoLevelRouter::TwoLevelRouter(const Topology& topology, const TableRouter& table, std::uint32_t local_bits)
    : topology_(topology),
      local_bits_(local_bits),
      groups_(((topology.switches() - 1) >> local_bits) + 1),
      global_(std::size_t{topology.switches()} * groups_),
      local_(std::size_t{topology.switches()} << local_bits) {
  std::vector<std::uint32_t> nearest(global_.size(), kNone);
  for (SwitchId target = 0; target < topology.switches(); ++target) {
    const std::vector<std::uint32_t> distance = topology.distances_to(target);
    const std::uint32_t group = target >> local_bits;
    for (SwitchId at = 0; at < topology.switches(); ++at) {
      const std::size_t to_group = std::size_t{at} * groups_ + group;
      if (at >> local_bits == group) {
        local_[(std::size_t{at} << local_bits) + (target & ((1U << local_bits) - 1))] = table.entry(at, target);
      } else if (distance[at] < nearest[to_group]) {
        nearest[to_group] = distance[at];
        global_[to_group] = table.entry(at, target);
      }
    }
  }
}

Hop TwoLevelRouter::next(SwitchId at, std::uint8_t /*in_port*/, Route& route) const {
  const SwitchId target = topology_.place(route.target).at;
  const std::uint32_t group = target >> local_bits_;
  if (at >> local_bits_ != group) return global_[std::size_t{at} * groups_ + group];
  return local_[(std::size_t{at} << local_bits_) + (target & ((1U << local_bits_) - 1))];
}

}  // namespace stopbit::network
