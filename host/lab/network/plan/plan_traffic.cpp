#include "host/lab/network/plan/plan_parts.hpp"

namespace stopbit::network {
namespace {

void read_fan_out(config::Table& table, Plan& plan) {
  TrafficPlan& traffic = plan.traffic;
  if (plan.groups.empty()) {
    table.error("kind", "fan-out needs a [[group]]: source and members");
  } else {
    traffic.group = static_cast<std::uint32_t>(table.integer("group", {0, plan.groups.size() - 1}, 0));
  }
  traffic.is_multicast = table.choice("copies") == 0;
  traffic.capture = table.text("capture", "");
  traffic.speed = table.real("speed", {1e-6, 1e6}, 1);
  traffic.datagrams = table.integer("datagrams");
  traffic.every_ns = table.duration_ns("every");
}

void read_pattern(config::Table& table, Plan& plan, std::size_t kind, const std::optional<TopologySize>& size) {
  PatternOptions& pattern = plan.traffic.pattern;
  pattern.pattern = static_cast<Pattern>(kind);
  pattern.load = table.real("load", {0.0001, 2}, pattern.load);
  if (pattern.pattern == Pattern::HotSpot) {
    pattern.hot_host = static_cast<HostId>(table.integer("hot_host", {0, size ? size->hosts - 1 : kNone}, 0));
    pattern.hot_share = table.real("hot_share", {0, 1}, pattern.hot_share);
  }
  if (size && !PatternSource::fits(pattern.pattern, static_cast<std::uint32_t>(size->hosts))) {
    table.error("kind", pattern.pattern == Pattern::BitReversal ? "bit reversal needs a power of two of hosts"
                                                                : "a transpose needs a square of hosts");
  }
}

}  // namespace

/// A tree is grown by a walk over the network for each member.
constexpr std::uint64_t kMostTreeSteps = 10'000'000'000;

void read_groups(config::Table& root, Plan& plan, const std::optional<TopologySize>& size) {
  std::uint64_t steps = 0;
  const std::uint64_t last = size ? size->hosts - 1 : kNone;
  for (config::Table& table : root.tables("group")) {
    GroupPlan& group = plan.groups.emplace_back();
    plan.group_places.push_back(table.range("members"));
    group.source = static_cast<HostId>(table.integer("source", {0, last}));
    for (const std::uint64_t member : table.integers("members", {0, last}, {1, 65'536})) {
      group.members.push_back(static_cast<HostId>(member));
      if (member == group.source) table.error("members", "the source of a group is not a member");
    }
    if (size) steps += group.members.size() * size->channels();
    if (steps > kMostTreeSteps) {
      table.error("members", "the trees of the groups would take hours: fewer members, or a smaller network");
      return;
    }
    table.finish();
  }
}

void read_traffic(config::Table& root, Plan& plan, const std::optional<TopologySize>& size) {
  const SwitchOptions& node = plan.simulation.node;
  PatternOptions& pattern = plan.traffic.pattern;
  pattern.payload = std::min(pattern.payload, node.packet_bytes);
  pattern.classes = node.classes;
  pattern.seed = plan.simulation.seed;
  auto table = root.table("traffic");
  if (!table) return;
  const std::size_t kind = table->choice("kind");
  constexpr std::size_t kFanOut = 5;
  plan.traffic.kind = kind == kFanOut ? TrafficKind::FanOut : TrafficKind::Pattern;
  if (kind == kFanOut) {
    read_fan_out(*table, plan);
    pattern.payload = static_cast<std::uint32_t>(table->integer_or("payload_bytes", pattern.payload));
  } else {
    read_pattern(*table, plan, kind, size);
    pattern.payload =
        static_cast<std::uint32_t>(table->integer("payload_bytes", {1, node.packet_bytes}, pattern.payload));
  }
  table->finish();
}

void read_run(config::Table& root, Plan& plan) {
  if (auto table = root.table("run")) {
    plan.run.packets = table->integer_or("packets", plan.run.packets);
    plan.run.cycles = table->integer_or("cycles", plan.run.cycles);
    plan.run.warmup = table->integer("warmup");
    table->finish();
    if (plan.run.warmup >= plan.run.cycles) table->error("warmup", "'warmup' is part of 'cycles'");
  }
  if (plan.run.packets == ~std::uint64_t{0} && plan.run.cycles == ~Cycle{0}) plan.run.packets = 100'000;
  auto sweep = root.table("sweep");
  if (!sweep) return;
  const double from = sweep->real("from", {0.0001, 1}, 0.05);
  const double to = sweep->real("to", {0.0001, 1}, 0.95);
  const std::uint64_t steps = sweep->integer("steps");
  sweep->finish();
  if (to < from) sweep->error("to", "'to' is less than 'from'");
  if (plan.traffic.kind == TrafficKind::FanOut) sweep->error("a sweep needs a pattern: fan-out has no load");
  if (plan.run.cycles == ~Cycle{0})
    sweep->error("a sweep needs 'cycles' of [run]: beyond saturation packets wait without end");
  for (std::uint64_t i = 0; i < steps; ++i) {
    plan.loads.push_back(from + (to - from) * static_cast<double>(i) / static_cast<double>(steps - 1));
  }
}

}  // namespace stopbit::network
