#include <gtest/gtest.h>

#include "tests/unit/lab/network/fixture.hpp"

namespace stopbit::network::deadlock_test {

using testing::ListSource;
using testing::mesh;
using testing::topology_of;
using testing::torus;

/// One channel, a fifo at each input and little room, as ATOLL's switches have them.
SimulationOptions one_channel(OnDeadlock action) {
  SimulationOptions options;
  options.node.is_fifo = true;
  options.node.packet_bytes = 64;
  options.node.slots = 4;
  options.node.reserve = 1;
  options.node.packet_cycles = 1;
  options.deadlock = {.action = action, .timer_cycles = 1'000, .recovery_cycles = 500};
  return options;
}

/// Four packets in a ring of four, each two hops away, with room for one: each holds what the next one needs.
ListSource ring_of_waits() {
  std::vector<std::vector<Offer>> offers(4);
  for (HostId host = 0; host < 4; ++host) {
    for (int i = 0; i < 8; ++i) offers[host].push_back({.at = 0, .target = (host + 2) % 4, .payload = 64});
  }
  return ListSource(std::move(offers));
}

SimulationOptions small_ring(OnDeadlock action) {
  SimulationOptions options = one_channel(action);
  options.node.slots = 1;
  return options;
}

/// Always clockwise, whatever the distance.
class Clockwise final : public Router {
 public:
  [[nodiscard]] Hop next(SwitchId, std::uint8_t, Route&) const override { return {.port = 1}; }
};

TEST(Deadlock, packets_in_a_ring_wait_for_each_other_and_are_found) {
  const Topology topology = topology_of(torus({4}));
  const Clockwise router;
  ListSource source = ring_of_waits();
  Simulation simulation(topology, router, {}, &source, small_ring(OnDeadlock::Stop));
  EXPECT_EQ(simulation.run(kNever), End::Deadlock);
  EXPECT_EQ(simulation.counts().deadlocks, 1U);
  EXPECT_EQ(simulation.last_cycle().size(), 4U);
  EXPECT_EQ(simulation.counts().deadlocked, 4U);
  EXPECT_GT(simulation.under_way(), 0U);
}

TEST(Deadlock, without_a_search_the_packets_stay_where_they_are) {
  const Topology topology = topology_of(torus({4}));
  const Clockwise router;
  ListSource source = ring_of_waits();
  Simulation simulation(topology, router, {}, &source, small_ring(OnDeadlock::Ignore));
  EXPECT_EQ(simulation.run(kNever), End::Idle);
  EXPECT_GT(simulation.under_way(), 0U);
}

TEST(Deadlock, removing_one_packet_at_a_time_delivers_all) {
  const Topology topology = topology_of(torus({4}));
  const Clockwise router;
  ListSource source = ring_of_waits();
  Simulation simulation(topology, router, {}, &source, small_ring(OnDeadlock::Recover));
  EXPECT_EQ(simulation.run(kNever), End::Idle);
  EXPECT_GE(simulation.counts().deadlocks, 1U);
  EXPECT_EQ(simulation.counts().removed, simulation.counts().deadlocks);
  EXPECT_EQ(simulation.counts().delivered, 32U);
  EXPECT_EQ(simulation.under_way(), 0U);
}

TEST(Deadlock, one_search_ends_all_that_exist) {
  // Each row of the torus is a ring of waits of its own.
  const Topology topology = topology_of(torus({4, 3}));
  const Clockwise router;
  std::vector<std::vector<Offer>> offers(12);
  for (HostId host = 0; host < 12; ++host) {
    for (int i = 0; i < 8; ++i) {
      offers[host].push_back({.at = 0, .target = host / 4 * 4 + (host + 2) % 4, .payload = 64});
    }
  }
  const auto run = [&](OnDeadlock action, Counts& counts) {
    ListSource source(offers);
    Simulation simulation(topology, router, {}, &source, small_ring(action));
    const End end = simulation.run(kNever);
    counts = simulation.counts();
    return end;
  };
  Counts counts;
  EXPECT_EQ(run(OnDeadlock::Stop, counts), End::Deadlock);
  EXPECT_EQ(counts.deadlocks, 3U);
  EXPECT_EQ(counts.deadlocked, 12U);
  EXPECT_EQ(run(OnDeadlock::Recover, counts), End::Idle);
  EXPECT_EQ(counts.delivered, 96U);
  EXPECT_EQ(counts.removed, counts.deadlocks);
}

TEST(Deadlock, a_busy_network_is_not_one) {
  // All hosts flood one: outputs are blocked for longer than the timer, again and again.
  const Topology topology = topology_of(mesh({4, 4}));
  const GridRouter router(topology, GridOrder::Dimension, 1, false);
  SimulationOptions options = one_channel(OnDeadlock::Stop);
  options.deadlock.timer_cycles = 20;
  PatternSource source(16, options.node.cells_of(64),
                       {.pattern = Pattern::HotSpot, .load = 0.8, .payload = 64, .hot_share = 1});
  Simulation simulation(topology, router, {}, &source, options);
  EXPECT_EQ(simulation.run(30'000), End::Limit);
  EXPECT_GT(simulation.counts().searches, 100U);
  EXPECT_EQ(simulation.counts().deadlocks, 0U);
}

TEST(Deadlock, packets_of_several_channels_in_one_queue_are_not_one) {
  // A queue holds packets that came on different channels: one that is not the first keeps the room of its own.
  const Topology topology = topology_of(mesh({8, 8}));
  const GridRouter router(topology, GridOrder::Dimension, 1, true);
  SimulationOptions options = one_channel(OnDeadlock::Stop);
  options.node.is_fifo = false;
  options.node.vcs = 2;
  options.node.slots = 2;
  options.node.almost_full = 100;
  options.deadlock.timer_cycles = 100;
  PatternSource source(64, options.node.cells_of(64), {.load = 1, .payload = 64, .seed = 2});
  Simulation simulation(topology, router, {}, &source, options);
  simulation.limit_packets(20'000);
  EXPECT_EQ(simulation.run(kNever), End::Idle);
  EXPECT_GT(simulation.counts().searches, 10U);
  EXPECT_EQ(simulation.counts().delivered, 20'000U);
}

TEST(Deadlock, recovery_delivers_everything_from_256_nodes_with_unsafe_routes) {
  const Topology topology = topology_of(mesh({16, 16}));
  const GridRouter router(topology, GridOrder::Random, 1, false);
  SimulationOptions options = one_channel(OnDeadlock::Recover);
  PatternSource source(256, options.node.cells_of(64), {.load = 0.3, .payload = 64, .seed = 1});
  Simulation simulation(topology, router, {}, &source, options);
  simulation.limit_packets(20'000);
  EXPECT_EQ(simulation.run(kNever), End::Idle);
  EXPECT_GT(simulation.counts().deadlocks, 0U);
  EXPECT_EQ(simulation.counts().delivered, 20'000U);
}

}  // namespace stopbit::network::deadlock_test
