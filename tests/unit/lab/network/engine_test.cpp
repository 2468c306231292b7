#include <gtest/gtest.h>

#include "tests/unit/lab/network/fixture.hpp"

namespace stopbit::network::engine_test {

using testing::ListSource;
using testing::mesh;
using testing::topology_of;
using testing::torus;

/// What a packet takes through an empty network, from the parts of its way.
Cycle empty_latency(const SimulationOptions& options, std::uint32_t switches, std::uint32_t payload) {
  return 2 * options.link.host_cycles + switches * options.node.latency_cycles + (switches - 1) * options.link.cycles +
         options.node.cells_of(payload);
}

TEST(Engine, an_empty_network_has_exactly_the_latency_of_its_parts) {
  const Topology topology = topology_of(torus({5, 4}));
  SimulationOptions options;
  options.node.vcs = 2;
  const GridRouter router(topology, GridOrder::Dimension, 2, false);
  for (const std::uint32_t payload : {8U, 64U, 100U, 256U}) {
    for (HostId target = 1; target < topology.hosts(); ++target) {
      ListSource source({{{.at = 7, .target = target, .payload = payload}}});
      Simulation simulation(topology, router, {}, &source, options);
      ASSERT_EQ(simulation.run(kNever), End::Idle);
      const std::uint32_t switches = topology.distances_to(topology.place(target).at)[0] + 1;
      EXPECT_EQ(simulation.counts().latency.count, 1U);
      EXPECT_EQ(simulation.counts().latency.sum, empty_latency(options, switches, payload)) << target;
      EXPECT_EQ(simulation.counts().hops, switches);
    }
  }
}

TEST(Engine, store_and_forward_adds_the_length_of_the_packet_at_each_switch) {
  const Topology topology = topology_of(mesh({4}));
  SimulationOptions options;
  options.node.stores_and_forwards = true;
  const GridRouter router(topology, GridOrder::Dimension, 1, false);
  ListSource source({{{.at = 0, .target = 3, .payload = 256}}});
  Simulation simulation(topology, router, {}, &source, options);
  ASSERT_EQ(simulation.run(kNever), End::Idle);
  EXPECT_EQ(simulation.counts().latency.sum, empty_latency(options, 4, 256) + 4 * 34);
}

TEST(Engine, a_blocked_output_does_not_delay_packets_for_others) {
  // Six hosts flood host 2. Host 0 sends to it, too, and to host 3, whose output is idle.
  const Topology topology = topology_of({.shape = Shape::Single, .hosts = 10});
  const auto worst = [&](bool is_fifo) {
    SimulationOptions options;
    options.node.is_fifo = is_fifo;
    std::vector<std::vector<Offer>> offers(10);
    for (Cycle i = 0; i < 40; ++i) {
      offers[0].push_back({.at = 68 * i, .target = i % 2 == 0 ? 2U : 3U, .payload = 256});
      for (HostId host = 4; host < 10; ++host) offers[host].push_back({.at = 34 * i, .target = 2, .payload = 256});
    }
    ListSource source(std::move(offers));
    const auto router = TableRouter::shortest(topology);
    Simulation simulation(topology, *router, {}, &source, options);
    Cycle most = 0;
    simulation.on_delivery([&](const Packet& packet, HostId host) {
      if (host == 3) most = std::max(most, simulation.now() - packet.created);
    });
    EXPECT_EQ(simulation.run(kNever), End::Idle);
    EXPECT_EQ(simulation.counts().delivered, 280U);
    return most;
  };
  EXPECT_LT(worst(false), 150U);
  EXPECT_GT(worst(true), 500U);
}

TEST(Engine, a_class_that_is_stuck_leaves_the_link_to_the_others) {
  // Three hosts of each of two switches flood host 4, so the link between the switches is full of packets for it. Host
  // 3 sends over the same link to host 5, whose output is idle.
  const Topology topology = topology_of({.shape = Shape::Grid, .extent = {2}, .wraps = false, .hosts = 4});
  const auto worst = [&](std::uint8_t traffic_class) {
    SimulationOptions options;
    options.node.classes = 2;
    std::vector<std::vector<Offer>> offers(8);
    for (Cycle i = 0; i < 200; ++i) {
      for (const HostId host : {0U, 1U, 2U, 5U, 6U, 7U}) {
        offers[host].push_back({.at = 34 * i, .target = 4, .payload = 256});
      }
      if (i % 10 == 0) {
        offers[3].push_back({.at = 34 * i, .target = 5, .payload = 8, .traffic_class = traffic_class});
      }
    }
    ListSource source(std::move(offers));
    const GridRouter router(topology, GridOrder::Dimension, 1, false);
    Simulation simulation(topology, router, {}, &source, options);
    Cycle most = 0;
    simulation.on_delivery([&](const Packet& packet, HostId host) {
      if (host == 5) most = std::max(most, simulation.now() - packet.created);
    });
    EXPECT_EQ(simulation.run(kNever), End::Idle);
    EXPECT_EQ(simulation.counts().delivered, 1'220U);
    return most;
  };
  EXPECT_LT(worst(1), 200U);
  EXPECT_GT(worst(0), 1'000U);
}

TEST(Engine, loses_doubles_and_reorders_nothing_under_load) {
  const Topology topology = topology_of(torus({4, 4}));
  SimulationOptions options;
  options.node.vcs = 2;
  options.node.slots = 16;
  const GridRouter router(topology, GridOrder::Dimension, 2, false);
  PatternSource source(16, options.node.cells_of(100), {.load = 0.9, .payload = 100, .seed = 5});
  Simulation simulation(topology, router, {}, &source, options);
  simulation.limit_packets(20'000);
  std::vector<Cycle> last(16 * 16, 0);
  std::uint64_t disordered = 0;
  simulation.on_delivery([&](const Packet& packet, HostId host) {
    EXPECT_EQ(packet.route.target, host);
    Cycle& before = last[packet.source * 16 + host];
    disordered += packet.created < before ? 1 : 0;
    before = packet.created;
  });
  ASSERT_EQ(simulation.run(kNever), End::Idle);
  EXPECT_EQ(simulation.counts().created, 20'000U);
  EXPECT_EQ(simulation.counts().delivered, 20'000U);
  EXPECT_EQ(simulation.under_way(), 0U);
  EXPECT_EQ(disordered, 0U);
}

TEST(Engine, the_same_seed_gives_the_same_events) {
  const Topology topology = topology_of(torus({4, 4}));
  SimulationOptions options;
  options.node.vcs = 2;
  const GridRouter router(topology, GridOrder::Dimension, 2, false);
  const auto trace = [&](std::uint64_t seed) {
    PatternSource source(16, options.node.cells_of(64), {.load = 0.7, .payload = 64, .seed = seed});
    Simulation simulation(topology, router, {}, &source, options);
    std::uint64_t hash = 0;
    simulation.on_delivery([&](const Packet& packet, HostId host) {
      hash = (hash ^ (simulation.now() << 20) ^ (packet.source << 10) ^ host) * 0x9E3779B97F4A7C15U;
    });
    EXPECT_EQ(simulation.run(50'000), End::Limit);
    return hash;
  };
  EXPECT_EQ(trace(1), trace(1));
  EXPECT_NE(trace(1), trace(2));
}

TEST(Engine, a_run_in_pieces_is_the_same_as_one_run) {
  const Topology topology = topology_of(mesh({3, 3}));
  const SimulationOptions options;
  const GridRouter router(topology, GridOrder::Dimension, 1, false);
  const auto sum = [&](Cycle step) {
    PatternSource source(9, options.node.cells_of(64), {.load = 0.5, .payload = 64, .seed = 3});
    Simulation simulation(topology, router, {}, &source, options);
    for (Cycle until = step; until <= 30'000; until += step) EXPECT_EQ(simulation.run(until), End::Limit);
    return std::pair(simulation.counts().latency.sum, simulation.counts().delivered);
  };
  EXPECT_EQ(sum(30'000), sum(7));
}

TEST(EventWheel, events_come_in_the_order_of_time_and_then_of_their_addition) {
  EventWheel wheel;
  // Far ones, near ones, and one beyond the wheel that meets near ones of the same cycle.
  for (const Cycle at : {9'000U, 5U, 5U, 100'000U, 4'096U, 4'095U}) {
    wheel.add(at, {.kind = EventKind::Inject, .a = static_cast<std::uint32_t>(at)});
  }
  for (std::uint32_t i = 1; i <= 5; ++i) wheel.add(200'000, {.kind = EventKind::Inject, .a = i});
  std::vector<std::pair<Cycle, std::uint32_t>> got;
  Event event;
  while (wheel.advance(~Cycle{0})) {
    while (wheel.pop(event)) {
      got.emplace_back(wheel.now(), event.a);
      if (event.a == 5'000) wheel.add(9'000, {.kind = EventKind::Inject, .a = 1});
      if (event.a == 4'096) wheel.add(5'000, {.kind = EventKind::Inject, .a = 5'000});
    }
  }
  const std::vector<std::pair<Cycle, std::uint32_t>> want{
      {5, 5},         {5, 5},       {4'095, 4'095},     {4'096, 4'096}, {5'000, 5'000},
      {9'000, 9'000}, {9'000, 1},   {100'000, 100'000}, {200'000, 1},   {200'000, 2},
      {200'000, 3},   {200'000, 4}, {200'000, 5}};
  EXPECT_EQ(got, want);
}

TEST(EventWheel, memory_follows_the_events_under_way) {
  EventWheel wheel;
  Event event;
  std::uint64_t count = 0;
  for (Cycle cycle = 1; cycle <= 10'000; ++cycle) {
    for (int i = 0; i < 1'000; ++i) wheel.add(cycle, {.kind = EventKind::Inject});
    ASSERT_TRUE(wheel.advance(cycle));
    while (wheel.pop(event)) ++count;
  }
  EXPECT_EQ(count, 10'000'000U);
  EXPECT_EQ(wheel.size(), 0U);
  EXPECT_LT(wheel.bytes(), 200'000U);
}

}  // namespace stopbit::network::engine_test
