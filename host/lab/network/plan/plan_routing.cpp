#include "host/lab/network/plan/plan_parts.hpp"

namespace stopbit::network {
namespace {

Order usual_order(const TopologyPlan& topology) {
  if (topology.shape == Shape::Grid) return Order::Dimension;
  return topology.shape == Shape::FatTree ? Order::Tree : Order::UpDown;
}

bool is_by_target(Order order) {
  return order == Order::Dimension || order == Order::Reverse || order == Order::Shortest || order == Order::EdgeWrap;
}

/// Why this order cannot be used here; null: it can.
const char* why_not(Order order, const TopologyPlan& topology) {
  switch (order) {
    case Order::Dimension:
    case Order::Reverse:
    case Order::Random: return topology.shape == Shape::Grid ? nullptr : "this order needs a ring, mesh or torus";
    case Order::WestFirst: {
      const bool is_flat = topology.shape == Shape::Grid && topology.extent.size() == 2 && !topology.wraps;
      return is_flat ? nullptr : "west-first needs a mesh of two dimensions";
    }
    case Order::EdgeWrap:
      return topology.shape == Shape::Grid && topology.wraps ? nullptr : "edge-wrap needs a ring or torus";
    case Order::Tree: return topology.shape == Shape::FatTree ? nullptr : "this order needs a fat tree";
    case Order::Shortest:
    case Order::UpDown: break;
  }
  return nullptr;
}

void check_adaptive(config::Table& table, const Plan& plan) {
  const RoutingPlan& routing = plan.routing;
  if (routing.order == Order::Tree && routing.by == By::Computed) return;
  const std::uint32_t needed = plan.topology.wraps ? 3 : 2;
  if ((routing.order != Order::Dimension && routing.order != Order::Reverse) || routing.by != By::Computed) {
    table.error("adaptive", "adaptive routing needs order = \"dimension\" or \"tree\", and by = \"computed\"");
  } else if (plan.simulation.node.vcs < needed) {
    table.error("adaptive", "adaptive routing needs 'vcs' of at least " + std::to_string(needed) +
                                " here: the others keep it free of deadlocks");
  }
}

void check_by(config::Table& table, const Plan& plan) {
  const RoutingPlan& routing = plan.routing;
  const bool is_table = routing.by == By::Table || routing.by == By::Interval || routing.by == By::TwoLevel;
  if (is_table && !is_by_target(routing.order)) {
    table.error("by",
                "tables need an order that depends on the target alone: dimension, reverse, shortest or edge-wrap");
  }
  if (routing.by == By::Delta && routing.order != Order::Dimension) {
    table.error("by", "delta routing needs order = \"dimension\"");
  }
}

void read_changes(config::Table& table, Plan& plan, const std::optional<TopologySize>& size) {
  const std::uint64_t last = size ? size->switches - 1 : kNone;
  for (config::Table& change : table.tables("route")) {
    RouteChange& to = plan.routing.changes.emplace_back();
    to.at = static_cast<SwitchId>(change.integer("at", {0, last}));
    to.target = static_cast<SwitchId>(change.integer("to", {0, last}));
    to.port = static_cast<std::uint8_t>(change.integer("port", {0, size ? size->ports - 1 : kMaxPorts - 1}));
    to.vc = static_cast<std::uint8_t>(change.integer("vc", {0, plan.simulation.node.vcs - 1}, 0));
    to.place = change.range();
    change.finish();
  }
  if (!plan.routing.changes.empty() && plan.routing.by != By::Table) {
    table.error("route", "routes of your own need by = \"table\"");
  }
}

}  // namespace

void read_routing(config::Table& root, Plan& plan, const std::optional<TopologySize>& size) {
  RoutingPlan& routing = plan.routing;
  const Order usual = usual_order(plan.topology);
  routing.order = usual;
  routing.place = root.range("routing");
  auto table = root.table("routing");
  if (!table) return;
  routing.order = static_cast<Order>(table->choice(
      "order", {"dimension", "reverse", "random", "west-first", "shortest", "up-down", "tree", "edge-wrap"},
      static_cast<std::size_t>(usual)));
  routing.by = static_cast<By>(table->choice("by"));
  routing.is_adaptive = table->flag("adaptive");
  routing.local_bits = static_cast<std::uint32_t>(table->integer("local_bits"));
  if (const char* const why = size ? why_not(routing.order, plan.topology) : nullptr) table->error("order", why);
  check_by(*table, plan);
  if (size && size->switches > kMostCheckedSwitches && (routing.by == By::TwoLevel || table->has("route"))) {
    table->error("by",
                 "routes that may lead in circles, two-level or of your own, need at most 1024 switches: only these "
                 "are followed");
  }
  if (routing.is_adaptive) check_adaptive(*table, plan);
  if (plan.simulation.node.is_fifo && routing.is_adaptive)
    table->error("adaptive", "adaptive routing needs queues = \"voq\"");
  read_changes(*table, plan, size);
  table->finish();
}

}  // namespace stopbit::network
