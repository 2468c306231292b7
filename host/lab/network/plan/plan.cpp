#include "host/lab/network/plan/plan.hpp"

#include <charconv>

#include "host/lab/network/engine/simulation.hpp"
#include "host/lab/network/plan/plan_parts.hpp"
#include "host/os/config/keys.hpp"

namespace stopbit::network {
namespace {

/// "3-7".
std::optional<std::pair<std::uint32_t, std::uint32_t>> parse_link(std::string_view text) {
  std::pair<std::uint32_t, std::uint32_t> ends;
  const char* const end = text.data() + text.size();
  const auto [dash, first] = std::from_chars(text.data(), end, ends.first);
  if (first != std::errc() || dash == end || *dash != '-') return std::nullopt;
  const auto [rest, second] = std::from_chars(dash + 1, end, ends.second);
  if (second != std::errc() || rest != end) return std::nullopt;
  return ends;
}

TopologyPlan read_shape(config::Table& table) {
  const config::TableKeys& rows = *plan_keys().find("topology")->table;
  enum : std::size_t { kSingle, kRing, kMesh, kTorus, kFatTree, kGraph };
  TopologyPlan plan;
  const std::size_t kind = table.choice("kind");
  switch (kind) {
    case kSingle: plan.shape = Shape::Single; break;
    case kRing:
      plan.shape = Shape::Grid;
      plan.wraps = true;
      plan.extent = {static_cast<std::uint32_t>(table.integer("nodes", {2, rows.find("nodes")->range.most}))};
      break;
    case kMesh:
    case kTorus:
      plan.shape = Shape::Grid;
      plan.wraps = kind == kTorus;
      for (const std::uint64_t extent : table.integers("extent")) {
        plan.extent.push_back(static_cast<std::uint32_t>(extent));
      }
      break;
    case kFatTree:
      plan.shape = Shape::FatTree;
      plan.arity = static_cast<std::uint32_t>(table.integer("arity", rows.find("arity")->range));
      return plan;
    default:
      plan.shape = Shape::Graph;
      plan.nodes = static_cast<std::uint32_t>(table.integer("nodes", rows.find("nodes")->range));
      for (const std::string& text : table.texts("links")) {
        if (const auto link = parse_link(text)) {
          plan.links.push_back(*link);
        } else {
          table.error("links", "a link is two switches: \"3-7\"");
        }
      }
      break;
  }
  if (kind == kSingle) {
    plan.hosts = static_cast<std::uint32_t>(table.integer("hosts", {2, kMaxPorts}));
  } else {
    plan.hosts = static_cast<std::uint32_t>(table.integer_or("hosts", 1));
  }
  return plan;
}

std::optional<TopologySize> read_topology(config::Table& root, Plan& plan) {
  auto table = root.table("topology");
  if (!table) {
    if (!root.has("topology")) root.error("[topology] is missing: kind = \"torus\", extent = [4, 4]");
    return std::nullopt;
  }
  plan.topology_place = root.range("topology");
  plan.topology = read_shape(*table);
  table->finish();
  const Result<TopologySize> size = size_of(plan.topology);
  if (!size) {
    table->error(table->has("extent") ? "extent" : table->has("nodes") ? "nodes" : "kind", size.message());
    return std::nullopt;
  }
  return size.value();
}

std::string gibibytes(std::uint64_t bytes) {
  return std::to_string(bytes >> 30) + '.' + std::to_string((bytes >> 20) % 1'024 * 10 / 1'024) + " GiB";
}

}  // namespace

std::uint64_t memory_of(const Plan& plan, const TopologySize& size) noexcept {
  std::uint64_t bytes = Simulation::bytes_for(size, plan.simulation.node) + size.switches * sizeof(Coordinates);
  const RoutingPlan& routing = plan.routing;
  const bool has_table = routing.order == Order::Shortest || routing.order == Order::UpDown ||
                         routing.by == By::Table || routing.by == By::Interval || routing.by == By::TwoLevel;
  const std::uint64_t pairs = size.switches * size.switches;
  if (has_table) bytes += pairs * sizeof(std::uint16_t) * (routing.order == Order::UpDown ? 2 : 1);
  if (routing.by == By::Interval) bytes += pairs * 2 * sizeof(std::uint64_t);
  if (routing.by == By::TwoLevel) {
    const std::uint64_t entries = (size.switches >> routing.local_bits) + 1 + (std::uint64_t{1} << routing.local_bits);
    bytes += size.switches * entries * (sizeof(Hop) + sizeof(std::uint32_t));
  }
  if (size.switches <= kMostCheckedSwitches) {
    bytes += size.channels() * plan.simulation.node.vcs * (kMaxVcs + 1) * sizeof(std::uint64_t);
  }
  return bytes + size.hosts * 32;
}

std::optional<Plan> read_plan(const config::Document& document, Diagnostics& diagnostics) {
  if (!document.ok()) return std::nullopt;
  config::Table root = document.root(plan_keys());
  Plan plan;
  plan.simulation.seed = root.integer("seed");
  const std::optional<TopologySize> size = read_topology(root, plan);
  read_switch(root, plan);
  read_link(root, plan);
  read_routing(root, plan, size);
  read_deadlock(root, plan);
  read_groups(root, plan, size);
  read_traffic(root, plan, size);
  read_run(root, plan);
  root.finish();
  if (diagnostics.has_errors()) return std::nullopt;
  const std::uint64_t bytes = memory_of(plan, *size);
  if (bytes > kMaxMemoryBytes) {
    root.error("topology", "this network needs " + gibibytes(bytes) + " of memory; the room is 8 GiB");
    return std::nullopt;
  }
  return plan;
}

}  // namespace stopbit::network
