#include <gtest/gtest.h>

#include <cmath>

#include "host/lab/network/plan/network.hpp"
#include "host/lab/network/result/run.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/form.hpp"
#include "tests/unit/lab/network/fixture.hpp"

/// Figures that the sources state for their switches and networks: Geib 2012, chapter 3 (R1, R2), and Nüssle 2009,
/// section 2.7 (SWORDFISH).
namespace stopbit::network::figures_test {

using testing::ListSource;
using testing::mesh;
using testing::topology_of;

Plan plan_of(const std::string& text) {
  Diagnostics diagnostics;
  const config::Document document = config::Document::parse("sim.toml", text, diagnostics);
  std::optional<Plan> plan = read_plan(document, diagnostics);
  EXPECT_TRUE(plan.has_value()) << diagnostics.format();
  return plan.value_or(Plan());
}

RunResult run(const Plan& plan) {
  const auto network = Network::make(plan);
  EXPECT_TRUE(network.ok()) << (network.ok() ? "" : network.message());
  const auto datagrams = datagrams_of(plan);
  EXPECT_TRUE(datagrams.ok());
  const double load = plan.traffic.pattern.load;
  return *run_once(plan, *network.value(), datagrams.value(), load, [](Cycle, std::uint64_t) { return true; });
}

/// Replacements in a text; each must change it.
using Changes = std::vector<std::pair<std::string, std::string>>;

/// A file of host/lab/network/figures, changed.
Plan figure(const std::string& name, const Changes& changes = {}) {
  std::string text = stopbit::testing::file_text(STOPBIT_SOURCE_DIR "/host/lab/network/figures/" + name + ".toml");
  for (const auto& [from, to] : changes) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << name << " has no " << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
  }
  return plan_of(text);
}

/// Cycles from the first cell in to the first cell out: what each further switch of a chain adds, less its link.
double route_through(const std::string& model) {
  const auto latency = [&](int switches) {
    const Plan plan = figure("r2-chain", {{"\"r2\"", '"' + model + '"'},
                                          {"[9]", '[' + std::to_string(switches) + ']'},
                                          {"[8]", '[' + std::to_string(switches - 1) + ']'}});
    return run(plan).counts.latency.sum;
  };
  return static_cast<double>(latency(9) - latency(3)) / 6 - LinkOptions().cycles;
}

TEST(Geib, an_idle_switch_is_passed_in_13_and_16_cycles) {
  EXPECT_EQ(route_through("r1"), 13);  // 83.2 ns at 156.25 MHz
  EXPECT_NEAR(
      13 * 1'000 /
          plan_of("[topology]\nkind = \"single\"\nhosts = 2\n[switch]\nmodel = \"r1\"\n").simulation.node.clock_mhz,
      83.2, 1e-9);
  EXPECT_EQ(route_through("r2"), 16);  // 80 ns at 200 MHz
  EXPECT_NEAR(16 * 1'000 / plan_of("[topology]\nkind = \"single\"\nhosts = 2\n").simulation.node.clock_mhz, 80, 1e-9);
}

/// Packets that a host can send to an input whose output takes none: the capacity of its store, as credits allow.
std::uint32_t capacity(SwitchOptions node, std::uint32_t payload) {
  node.reserve = node.most_slots();
  CreditBank bank(1, 1, node.slots, node.reserve);
  std::uint32_t packets = 0;
  for (; bank.can_send(0, 0, node.most_slots()); ++packets) bank.take(0, 0, node.slots_of(payload));
  return packets;
}

/// The same in a network: each of two switches sends until it has no credits, which never come back.
std::uint64_t stored_packets(const std::string& payload, const std::string& slots = "") {
  const RunResult result = run(figure("r2-store", {{"payload_bytes = 64", "payload_bytes = " + payload},
                                                   {"model = \"r2\"", "model = \"r2\"\n" + slots + "#"}}));
  EXPECT_EQ(result.counts.delivered, 0U);
  return result.counts.link_packets / 2;
}

TEST(Geib, small_slots_store_125_packets_and_are_97_6_percent_full) {
  const SwitchOptions r2;
  EXPECT_EQ(capacity(r2, 64), 125U);
  EXPECT_EQ(stored_packets("64"), 125U);
  EXPECT_EQ(stored_packets("8"), 125U);
  const double room = r2.slots * r2.slot_bytes;
  EXPECT_NEAR(125 * 64 / room, 0.976, 0.0006);
  EXPECT_NEAR(125 * 8 / room, 0.122, 0.0002);
  EXPECT_EQ(stored_packets("64", "slots = 32\nslot_bytes = 256\n"), 32U);  // a slot for the longest, in the same room
  EXPECT_NEAR(32 * 64 / room, 0.25, 1e-9);
  EXPECT_NEAR(32 * 8 / room, 0.031, 0.0003);
}

/// MB/s of payload, and million packets a second, that one port of a switch carries.
std::pair<double, double> port_rate(std::uint32_t payload, std::uint32_t packet_cycles) {
  const Plan plan = figure("r2-port", {{"payload_bytes = 256", "payload_bytes = " + std::to_string(payload)},
                                       {"[switch]", "[switch]\npacket_cycles = " + std::to_string(packet_cycles)}});
  const RunResult result = run(plan);
  const double us = static_cast<double>(result.cycles) / plan.simulation.node.clock_mhz;
  return {static_cast<double>(result.counts.payload_bytes) / us / 2,
          static_cast<double>(result.counts.payload_bytes) / payload / us / 2};
}

TEST(Geib, a_port_carries_1505_mb_a_second_and_33_million_packets) {
  EXPECT_NEAR(port_rate(256, 6).first, 1505, 2);  // 94.1 % of 1600
  EXPECT_NEAR(port_rate(256, 6).first / 1600, 0.941, 0.001);
  EXPECT_NEAR(port_rate(8, 6).first, 267, 1);
  for (const std::uint32_t payload : {8U, 16U, 24U}) EXPECT_NEAR(port_rate(payload, 6).second, 33.3, 0.1) << payload;
  EXPECT_NEAR(port_rate(8, 8).second, 25, 0.1);  // without early arbitration
  EXPECT_NEAR(port_rate(8, 4).second, 50, 0.1);  // with look-ahead: 400 MB/s
  EXPECT_NEAR(port_rate(8, 4).first, 400, 1);
}

/// What 16 hosts that always have packets get through one switch.
double saturated_switch(const std::string& queues) {
  return run(figure("queues", {{"\"voq\"", '"' + queues + '"'}})).accepted;
}

TEST(Switch, one_queue_for_each_input_wastes_two_fifths_and_virtual_output_queues_almost_nothing) {
  // Karol, Hluchyj and Morgan 1987: 0.6013 for 16 ports, 2 - sqrt(2) for very many.
  EXPECT_NEAR(saturated_switch("fifo"), 0.60, 0.015);
  EXPECT_GT(saturated_switch("voq"), 0.95);
}

TEST(Geib, packets_are_33_80_and_94_percent_payload) {
  const SwitchOptions r2;
  const auto efficiency = [&](std::uint32_t payload) { return payload / (8.0 * r2.cells_of(payload)); };
  EXPECT_NEAR(efficiency(8), 0.333, 0.001);
  EXPECT_NEAR(efficiency(64), 0.8, 1e-9);
  EXPECT_NEAR(efficiency(256), 0.941, 0.001);
}

std::uint64_t traversals(const Plan& plan) {
  const RunResult result = run(plan);
  EXPECT_EQ(result.counts.delivered, 4U);
  return result.counts.link_packets;
}

TEST(Geib, multicast_needs_4_link_traversals_instead_of_9) {
  const Changes unicast{{"\"multicast\"", "\"unicast\""}};
  EXPECT_EQ(traversals(figure("multicast", unicast)), 9U);
  EXPECT_EQ(traversals(figure("multicast")), 4U);
  // Numbered row by row the copies take 9 as well, and no tree has less than 5.
  const TopologyPlan rows = mesh({3, 3});
  Plan plan = figure("multicast", unicast);
  plan.topology = rows;
  EXPECT_EQ(traversals(plan), 9U);
  plan = figure("multicast");
  plan.topology = rows;
  EXPECT_EQ(traversals(plan), 5U);
}

TEST(Swordfish, dimension_order_is_best_on_meshes) {
  const auto saturation = [](const std::string& order) {
    return run(figure("mesh", {{"\"dimension\"", '"' + order + '"'}})).accepted;
  };
  const double dimension = saturation("dimension");
  EXPECT_GT(dimension, 0.18);  // of 0.25, where the links in the middle are full
  for (const char* const other : {"west-first", "up-down", "random"}) {
    EXPECT_GT(dimension, 1.5 * saturation(other)) << other;
  }
}

const int kSeeds = by_form(2, 4, 10);

/// Of the seeds those whose run ends with a deadlock.
int deadlocks(Plan plan) {
  int count = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    plan.simulation.seed = plan.traffic.pattern.seed = static_cast<std::uint64_t>(seed);
    count += run(plan).end == End::Deadlock ? 1 : 0;
  }
  return count;
}

TEST(Swordfish, unsafe_routes_deadlock_from_256_nodes_on_and_cured_ones_never) {
  const auto with_side = [](const std::string& side) {
    return deadlocks(figure("atoll", {{"[16, 16]", '[' + side + ", " + side + ']'}}));
  };
  EXPECT_EQ(with_side("4"), 0);
  EXPECT_EQ(with_side("8"), 0);
  EXPECT_EQ(with_side("16"), kSeeds);
  EXPECT_EQ(with_side("32"), kSeeds);
  for (const char* const order : {"dimension", "west-first", "up-down"}) {
    EXPECT_EQ(deadlocks(figure("atoll", {{"\"random\"", '"' + std::string(order) + '"'}})), 0) << order;
  }
}

TEST(Swordfish, recovery_is_no_substitute_for_routes_without_deadlock) {
  const RunResult recovered = run(figure("atoll-recovery"));
  EXPECT_GT(recovered.counts.removed, 10U);
  EXPECT_EQ(recovered.counts.removed, recovered.counts.deadlocks);
  const RunResult cured = run(figure("atoll-recovery", {{"\"random\"", "\"dimension\""}}));
  EXPECT_EQ(cured.counts.deadlocks, 0U);
  EXPECT_GT(cured.accepted, 10 * recovered.accepted);
}

TEST(Swordfish, a_torus_needs_two_channels_or_longer_paths) {
  EXPECT_EQ(deadlocks(figure("torus")), kSeeds);
  EXPECT_EQ(deadlocks(figure("torus", {{"vcs = 1", "vcs = 2"}})), 0);
  EXPECT_EQ(deadlocks(figure("torus", {{"\"dimension\"", "\"edge-wrap\""}})), 0);
}

TEST(Links, damaged_packets_are_repeated_and_none_is_lost_or_overtaken) {
  const Topology topology = topology_of(mesh({4, 4}));
  const GridRouter router(topology, GridOrder::Dimension, 1, false);
  SimulationOptions options;
  options.link.bit_error_rate = 1e-4;
  const double damage = 1 - std::pow(1 - 1e-4, 8.0 * 8 * options.node.cells_of(256));
  PatternSource source(16, options.node.cells_of(256), {.load = 0.3, .payload = 256, .seed = 4});
  Simulation simulation(topology, router, {}, &source, options);
  simulation.limit_packets(20'000);
  std::vector<Cycle> last(256, 0);
  simulation.on_delivery([&](const Packet& packet, HostId host) {
    EXPECT_GE(packet.created, last[packet.source * 16 + host]);
    last[packet.source * 16 + host] = packet.created;
  });
  EXPECT_EQ(simulation.run(kNever), End::Idle);
  EXPECT_EQ(simulation.counts().delivered, 20'000U);
  EXPECT_EQ(simulation.counts().lost, 0U);
  const auto attempts = static_cast<double>(simulation.counts().retransmissions + simulation.counts().link_packets);
  EXPECT_NEAR(static_cast<double>(simulation.counts().retransmissions) / attempts, damage, 0.01);
}

TEST(Links, without_retransmission_damaged_packets_are_lost_at_the_end) {
  const Topology topology = topology_of(mesh({2}));
  const GridRouter router(topology, GridOrder::Dimension, 1, false);
  SimulationOptions options;
  options.link.bit_error_rate = 1e-4;
  options.link.retransmits = false;
  PatternSource source(2, options.node.cells_of(256), {.load = 0.3, .payload = 256, .seed = 4});
  Simulation simulation(topology, router, {}, &source, options);
  simulation.limit_packets(20'000);
  EXPECT_EQ(simulation.run(kNever), End::Idle);
  EXPECT_EQ(simulation.counts().delivered + simulation.counts().lost, 20'000U);
  EXPECT_NEAR(static_cast<double>(simulation.counts().lost) / 20'000, 1 - std::pow(1 - 1e-4, 2'176), 0.015);
}

TEST(Adaptive, avoids_a_hot_row_and_never_deadlocks) {
  const std::string text =
      "[topology]\nkind = \"torus\"\nextent = [8, 8]\n[switch]\nvcs = 3\n[traffic]\nkind = \"transpose\"\nload = 0.9\n"
      "payload_bytes = 64\n[run]\ncycles = 40000\nwarmup = 10000\n[routing]\nadaptive = ";
  const RunResult fixed = run(plan_of(text + "false\n"));
  const RunResult adaptive = run(plan_of(text + "true\n"));
  EXPECT_GT(adaptive.accepted, 1.1 * fixed.accepted);
  EXPECT_GT(adaptive.counts.adaptive_hops, 0U);
  EXPECT_EQ(adaptive.counts.deadlocks, 0U);
}

TEST(Adaptive, packets_that_chose_the_same_channel_get_out_of_each_others_way) {
  const Topology topology = topology_of(testing::torus({8, 8}));
  const GridRouter router(topology, GridOrder::Dimension, 2, true);
  SimulationOptions options;
  options.node.vcs = 3;
  options.node.packet_bytes = 64;
  options.node.slots = 3;  // one for each channel
  options.node.reserve = 1;
  options.node.almost_full = 100;
  PatternSource source(64, options.node.cells_of(64), {.load = 1, .payload = 64, .seed = 2});
  Simulation simulation(topology, router, {}, &source, options);
  simulation.limit_packets(20'000);
  EXPECT_EQ(simulation.run(10'000'000), End::Idle);
  EXPECT_EQ(simulation.counts().delivered, 20'000U);
  EXPECT_GT(simulation.counts().escapes, 100U);
}

TEST(Multicast, copies_share_one_store_and_free_it_with_the_last) {
  const Topology topology = topology_of(mesh({3, 3}));
  const GridRouter router(topology, GridOrder::Dimension, 1, false);
  Groups groups;
  ASSERT_TRUE(groups.add(topology, {.source = 4, .members = {0, 1, 2, 3, 5, 6, 7, 8}}).ok());
  SimulationOptions options;
  std::vector<std::vector<Offer>> offers(9);
  for (int i = 0; i < 500; ++i) offers[4].push_back({.at = 0, .target = 0, .group = 0, .payload = 256});
  ListSource source(std::move(offers));
  Simulation simulation(topology, router, groups, &source, options);
  EXPECT_EQ(simulation.run(kNever), End::Idle);
  EXPECT_EQ(simulation.counts().delivered, 8U * 500);
  EXPECT_EQ(simulation.under_way(), 0U);
  EXPECT_EQ(simulation.counts().link_packets, 500 * groups.links(topology, 0));
}

}  // namespace stopbit::network::figures_test
