#include "host/lab/network/plan/plan_parts.hpp"

namespace stopbit::network {
namespace {

enum SwitchModel : std::size_t { kR2, kR1, kAtoll };

/// Published figures: Geib 2012 (R2, R1: sections 3.7 and 3.8), Fröning 2007 (ATOLL: section 1.4). What a source leaves
/// open is in README.md.
SwitchOptions switch_of(std::size_t model) {
  SwitchOptions options;
  if (model == kR1) {
    options = {.clock_mhz = 156.25,
               .latency_cycles = 13,
               .route_cycles = 7,
               .packet_cycles = 10,
               .cell_bytes = 4,
               .overhead_cells = 3,
               .slots = 32,
               .slot_bytes = 128,
               .packet_bytes = 128,
               .reserve = 1};
  } else if (model == kAtoll) {
    options = {.clock_mhz = 330,
               .latency_cycles = 30,
               .route_cycles = 27,
               .packet_cycles = 3,
               .cell_bytes = 1,
               .overhead_cells = 8,
               .slots = 4,
               .slot_bytes = 64,
               .packet_bytes = 64,
               .reserve = 1,
               .is_fifo = true};
  }
  return options;
}

void read_sizes(config::Table& table, SwitchOptions& node) {
  const auto number = [&table](const char* key, std::uint64_t least, std::uint64_t most, std::uint32_t& value) {
    value = static_cast<std::uint32_t>(table.integer(key, {least, most}, value));
  };
  node.clock_mhz = table.real("clock_mhz", {1, 100'000}, node.clock_mhz);
  number("latency_cycles", 2, 10'000, node.latency_cycles);
  node.route_cycles = std::min(node.route_cycles, node.latency_cycles - 1);
  number("route_cycles", 1, 9'999, node.route_cycles);
  number("packet_cycles", 1, 10'000, node.packet_cycles);
  number("cell_bytes", 1, 64, node.cell_bytes);
  number("overhead_cells", 0, 64, node.overhead_cells);
  number("packet_bytes", 1, 4'096, node.packet_bytes);
  number("slot_bytes", 32, 4'096, node.slot_bytes);
  number("slots", 1, 65'535, node.slots);
  number("classes", 1, kMaxClasses, node.classes);
  number("vcs", 1, kMaxVcs, node.vcs);
  number("almost_full", 1, 1'000, node.almost_full);
  number("escape_cycles", 1, 1'000'000, node.escape_cycles);
}

}  // namespace

void read_switch(config::Table& root, Plan& plan) {
  SwitchOptions& node = plan.simulation.node;
  auto table = root.table("switch");
  if (!table) return;
  node = switch_of(table->choice("model", {"r2", "r1", "atoll"}, kR2));
  read_sizes(*table, node);
  node.reserve = static_cast<std::uint32_t>(table->integer("reserve", {0, 65'535}, node.most_slots()));
  node.is_fifo = table->choice("queues", {"voq", "fifo"}, node.is_fifo ? 1 : 0) == 1;
  node.stores_and_forwards = table->flag("store_and_forward", false);
  table->finish();
  if (node.route_cycles >= node.latency_cycles)
    table->error("route_cycles", "'route_cycles' is part of 'latency_cycles'");
  if (node.reserve * node.flows() > node.slots) {
    table->error("slots", "'slots' is less than the reserves of all classes and channels: " +
                              std::to_string(node.reserve) + " slots each, of " + std::to_string(node.flows()));
  }
  if (node.most_slots() > node.slots) table->error("slots", "the longest packet does not fit 'slots'");
  if (node.flows() > 1 && node.reserve < node.most_slots()) {
    table->error(
        "reserve",
        "with several classes or channels each needs a reserve for the longest packet, or one could stop another");
  }
  if (node.is_fifo && node.flows() > 1) table->error("queues", "a fifo has one class with one channel");
}

void read_link(config::Table& root, Plan& plan) {
  LinkOptions& link = plan.simulation.link;
  auto table = root.table("link");
  if (!table) return;
  link.cycles = static_cast<std::uint32_t>(table->integer("cycles", {1, 100'000}, link.cycles));
  link.host_cycles = static_cast<std::uint32_t>(table->integer("host_cycles", {1, 100'000}, link.host_cycles));
  link.bit_error_rate = table->real("bit_error_rate", {0, 0.01}, 0);
  link.retransmits = table->flag("retransmit", true);
  link.attempts = static_cast<std::uint32_t>(table->integer("attempts", {1, 1'000}, link.attempts));
  table->finish();
}

void read_deadlock(config::Table& root, Plan& plan) {
  DeadlockOptions& deadlock = plan.simulation.deadlock;
  auto table = root.table("deadlock");
  if (!table) return;
  deadlock.action = static_cast<OnDeadlock>(table->choice("action", {"ignore", "stop", "recover"}, 1));
  deadlock.timer_cycles =
      static_cast<std::uint32_t>(table->integer("timer_cycles", {10, 10'000'000}, deadlock.timer_cycles));
  deadlock.recovery_cycles =
      static_cast<std::uint32_t>(table->integer("recovery_cycles", {1, 10'000'000}, deadlock.recovery_cycles));
  table->finish();
}

}  // namespace stopbit::network
