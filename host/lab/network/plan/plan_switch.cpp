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
  const auto number = [&table](const char* key, std::uint32_t& value) {
    value = static_cast<std::uint32_t>(table.integer_or(key, value));
  };
  node.clock_mhz = table.real("clock_mhz", {1, 100'000}, node.clock_mhz);
  number("latency_cycles", node.latency_cycles);
  node.route_cycles = std::min(node.route_cycles, node.latency_cycles - 1);
  number("route_cycles", node.route_cycles);
  number("packet_cycles", node.packet_cycles);
  number("cell_bytes", node.cell_bytes);
  number("overhead_cells", node.overhead_cells);
  number("packet_bytes", node.packet_bytes);
  number("slot_bytes", node.slot_bytes);
  number("slots", node.slots);
  number("classes", node.classes);
  number("vcs", node.vcs);
  number("almost_full", node.almost_full);
  number("escape_cycles", node.escape_cycles);
}

}  // namespace

void read_switch(config::Table& root, Plan& plan) {
  SwitchOptions& node = plan.simulation.node;
  auto table = root.table("switch");
  if (!table) return;
  node = switch_of(table->choice("model"));
  read_sizes(*table, node);
  node.reserve = static_cast<std::uint32_t>(table->integer_or("reserve", node.most_slots()));
  node.is_fifo = table->choice("queues", {"voq", "fifo"}, node.is_fifo ? 1 : 0) == 1;
  node.stores_and_forwards = table->flag("store_and_forward");
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
  link.cycles = static_cast<std::uint32_t>(table->integer("cycles"));
  link.host_cycles = static_cast<std::uint32_t>(table->integer("host_cycles"));
  link.bit_error_rate = table->real("bit_error_rate");
  link.retransmits = table->flag("retransmit");
  link.attempts = static_cast<std::uint32_t>(table->integer("attempts"));
  table->finish();
}

void read_deadlock(config::Table& root, Plan& plan) {
  DeadlockOptions& deadlock = plan.simulation.deadlock;
  auto table = root.table("deadlock");
  if (!table) return;
  deadlock.action = static_cast<OnDeadlock>(table->choice("action"));
  deadlock.timer_cycles = static_cast<std::uint32_t>(table->integer("timer_cycles"));
  deadlock.recovery_cycles = static_cast<std::uint32_t>(table->integer("recovery_cycles"));
  table->finish();
}

}  // namespace stopbit::network
