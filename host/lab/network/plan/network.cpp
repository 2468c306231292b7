#include "host/lab/network/plan/network.hpp"

#include <algorithm>

#include "host/lab/network/routing/delta_router.hpp"
#include "host/lab/network/routing/grid_router.hpp"
#include "host/lab/network/routing/tables.hpp"
#include "host/lab/network/routing/tree_router.hpp"

namespace stopbit::network {
namespace {

GridOrder grid_order(Order order) {
  switch (order) {
    case Order::Reverse: return GridOrder::Reverse;
    case Order::Random: return GridOrder::Random;
    case Order::WestFirst: return GridOrder::WestFirst;
    case Order::EdgeWrap: return GridOrder::EdgeWrap;
    default: return GridOrder::Dimension;
  }
}

}  // namespace

Network::Network(Topology topology) : topology_(std::move(topology)) {}
Network::~Network() = default;

void Network::make_router(const Plan& plan) {
  const RoutingPlan& routing = plan.routing;
  const std::uint32_t vcs = plan.simulation.node.vcs;
  const std::uint32_t own_vcs = routing.is_adaptive && vcs > 1 ? vcs - 1 : vcs;
  switch (routing.order) {
    case Order::Tree:
      own_ = std::make_unique<TreeRouter>(topology_, vcs - 1, routing.is_adaptive);
      router_ = own_.get();
      return;
    case Order::Shortest: table_ = TableRouter::shortest(topology_); break;
    case Order::UpDown: table_ = TableRouter::up_down(topology_); break;
    default:
      grid_ = std::make_unique<GridRouter>(topology_, grid_order(routing.order), own_vcs, routing.is_adaptive);
      break;
  }
  router_ = table_ != nullptr ? static_cast<const Router*>(table_.get()) : grid_.get();
  if (routing.by == By::Computed) return;
  if (routing.by == By::Delta) {
    own_ = std::make_unique<DeltaRouter>(topology_, *grid_);
    router_ = own_.get();
    return;
  }
  if (table_ == nullptr) table_ = TableRouter::of(topology_, *grid_);
  for (const RouteChange& change : routing.changes) table_->set(change.at, change.target, change.port, change.vc);
  if (routing.by == By::Interval) own_ = std::make_unique<IntervalRouter>(topology_, *table_);
  if (routing.by == By::TwoLevel) own_ = std::make_unique<TwoLevelRouter>(topology_, *table_, routing.local_bits);
  router_ = own_ != nullptr ? own_.get() : table_.get();
}

Result<Done, NetworkFault> Network::check(const Plan& plan) {
  // Without a walk over all routes: those that can be wrong are refused (read_plan), and the network is connected.
  if (topology_.switches() > kMostCheckedSwitches) {
    const std::vector<std::uint32_t> distances = topology_.distances_to(0);
    const bool is_connected = std::find(distances.begin(), distances.end(), kNone) == distances.end();
    if (!is_connected) return NetworkFault{"the network is not connected", plan.topology_place};
    return Done{};
  }
  Dependencies dependencies(topology_, plan.simulation.node.vcs);
  const auto followed = follow_routes(topology_, *router_, plan.simulation.node.vcs, dependencies);
  if (!followed) {
    const RouteFault& fault = followed.failure();
    // The first change of a route to this target is the most likely cause.
    for (const RouteChange& change : plan.routing.changes) {
      if (change.target == fault.target) return NetworkFault{fault.message, change.place};
    }
    return NetworkFault{fault.message, plan.routing.place};
  }
  groups_.add_dependencies(topology_, dependencies);
  cycle_ = dependencies.cycle();
  is_checked_ = true;
  return Done{};
}

Result<std::unique_ptr<Network>, NetworkFault> Network::make(const Plan& plan) {
  Result<Topology> topology = Topology::make(plan.topology);
  if (!topology) return NetworkFault{topology.message(), {}};
  std::unique_ptr<Network> made(new Network(std::move(topology).value()));
  if (plan.routing.by == By::Delta && !DeltaRouter::fits(made->topology_)) {
    return NetworkFault{
        "delta routes of this network do not fit their elements: at most 63 hops along a dimension, 16 ports"};
  }
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const Status added = made->groups_.add(made->topology_, plan.groups[i]);
    if (added) continue;
    return NetworkFault{added.message(), i < plan.group_places.size() ? plan.group_places[i] : SourceRange{}};
  }
  made->make_router(plan);
  if (auto checked = made->check(plan); !checked) return checked.failure();
  return made;
}

}  // namespace stopbit::network
