#include <gtest/gtest.h>

#include <algorithm>

#include "host/lab/network/routing/dependencies.hpp"
#include "tests/unit/lab/network/fixture.hpp"

namespace stopbit::network::routing_test {

using testing::mesh;
using testing::topology_of;
using testing::torus;

/// Channels that may wait for each other. A route that leads nowhere fails the test.
std::vector<ChannelId> cycle_of(const Topology& topology, const Router& router, std::uint32_t vcs) {
  Dependencies dependencies(topology, vcs);
  const auto status = follow_routes(topology, router, vcs, dependencies);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.message());
  return dependencies.cycle();
}

std::vector<ChannelId> grid_cycle(const TopologyPlan& plan, GridOrder order, std::uint32_t vcs) {
  const Topology topology = topology_of(plan);
  return cycle_of(topology, GridRouter(topology, order, vcs, false), vcs);
}

TEST(Routes, dimension_order_has_no_cycle_on_a_mesh_and_needs_two_channels_on_a_torus) {
  EXPECT_TRUE(grid_cycle(mesh({8, 8}), GridOrder::Dimension, 1).empty());
  EXPECT_TRUE(grid_cycle(mesh({4, 4, 4}), GridOrder::Reverse, 1).empty());
  EXPECT_FALSE(grid_cycle(torus({8}), GridOrder::Dimension, 1).empty());
  EXPECT_FALSE(grid_cycle(torus({8, 8}), GridOrder::Dimension, 1).empty());
  EXPECT_FALSE(grid_cycle(torus({5, 5, 5}), GridOrder::Dimension, 1).empty());
  EXPECT_TRUE(grid_cycle(torus({8}), GridOrder::Dimension, 2).empty());
  EXPECT_TRUE(grid_cycle(torus({8, 8}), GridOrder::Dimension, 2).empty());
  EXPECT_TRUE(grid_cycle(torus({5, 7}), GridOrder::Reverse, 2).empty());
  EXPECT_TRUE(grid_cycle(torus({5, 5, 5}), GridOrder::Dimension, 2).empty());
}

TEST(Routes, free_choice_of_shortest_paths_has_cycles_and_the_turn_model_none) {
  EXPECT_FALSE(grid_cycle(mesh({4, 4}), GridOrder::Random, 1).empty());
  EXPECT_TRUE(grid_cycle(mesh({8, 8}), GridOrder::WestFirst, 1).empty());
}

TEST(Routes, a_torus_of_one_channel_is_safe_if_only_packets_at_an_edge_wrap) {
  for (const TopologyPlan& plan : {torus({8}), torus({8, 8}), torus({2, 3}), torus({5, 4, 3})}) {
    EXPECT_TRUE(grid_cycle(plan, GridOrder::EdgeWrap, 1).empty());
  }
  // Longer than the shortest paths, shorter than those of a mesh.
  const Topology ring = topology_of(torus({8}));
  const GridRouter router(ring, GridOrder::EdgeWrap, 1, false);
  const auto links = [&](SwitchId from, HostId target) {
    Route route{.target = target};
    for (; from != ring.place(target).at; ++route.hops) from = ring.peer(from, router.next(from, 0, route).port).number;
    return route.hops;
  };
  EXPECT_EQ(links(0, 7), 1);
  EXPECT_EQ(links(7, 1), 2);
  EXPECT_EQ(links(0, 4), 4);
  EXPECT_EQ(links(1, 7), 6);  // the shortest has 2
}

TEST(Routes, up_down_and_fat_trees_have_no_cycle) {
  const Topology ring = topology_of(torus({7}));
  EXPECT_FALSE(cycle_of(ring, *TableRouter::shortest(ring), 1).empty());
  EXPECT_TRUE(cycle_of(ring, *TableRouter::up_down(ring), 1).empty());
  const Topology grid = topology_of(torus({6, 5}));
  EXPECT_TRUE(cycle_of(grid, *TableRouter::up_down(grid), 1).empty());
  const Topology tree = topology_of({.shape = Shape::FatTree, .arity = 8});
  EXPECT_EQ(tree.hosts(), 128U);
  EXPECT_TRUE(cycle_of(tree, TreeRouter(tree, 0, true), 1).empty());
}

/// Links on the way from each host to each other one.
void expect_shortest(const Topology& topology, const Router& router, bool is_exact) {
  for (HostId target = 0; target < topology.hosts(); ++target) {
    const Place end = topology.place(target);
    const std::vector<std::uint32_t> distance = topology.distances_to(end.at);
    for (HostId source = 0; source < topology.hosts(); ++source) {
      impair::Random random(source * 1'000 + target);
      Route route{.target = target};
      SwitchId at = topology.place(source).at;
      std::uint8_t in = topology.place(source).port;
      router.start(at, route, random);
      for (; at != end.at; ++route.hops) {
        ASSERT_LE(route.hops, 4 * topology.switches());
        const Peer& peer = topology.peer(at, router.next(at, in, route).port);
        ASSERT_EQ(peer.kind, Peer::Kind::Switch);
        at = peer.number;
        in = peer.port;
      }
      const std::uint32_t links = distance[topology.place(source).at];
      EXPECT_GE(route.hops, links);
      EXPECT_TRUE(!is_exact || route.hops == links);
    }
  }
}

TEST(Routes, are_the_shortest_ones) {
  for (const TopologyPlan& plan : {mesh({4, 3}), torus({5, 4}), torus({3, 4, 2}), torus({9})}) {
    const Topology topology = topology_of(plan);
    for (const GridOrder order : {GridOrder::Dimension, GridOrder::Reverse, GridOrder::Random}) {
      expect_shortest(topology, GridRouter(topology, order, 2, false), true);
    }
    if (plan.wraps) expect_shortest(topology, GridRouter(topology, GridOrder::EdgeWrap, 1, false), false);
    expect_shortest(topology, *TableRouter::shortest(topology), true);
    expect_shortest(topology, *TableRouter::up_down(topology), false);
  }
  const Topology flat = topology_of(mesh({4, 4}));
  expect_shortest(flat, GridRouter(flat, GridOrder::WestFirst, 1, false), true);
  const Topology tree = topology_of({.shape = Shape::FatTree, .arity = 4});
  expect_shortest(tree, TreeRouter(tree, 0, false), true);
}

/// Each delivery: when, from whom, to whom.
std::vector<std::array<std::uint64_t, 3>> trace(const Topology& topology, const Router& router) {
  SimulationOptions options;
  options.node.vcs = 2;
  PatternSource source(topology.hosts(), options.node.cells_of(64), {.load = 0.5, .payload = 64, .seed = 9});
  Simulation simulation(topology, router, {}, &source, options);
  std::vector<std::array<std::uint64_t, 3>> all;
  simulation.on_delivery([&](const Packet& packet, HostId host) {
    all.push_back({simulation.now(), packet.source, host});
  });
  simulation.limit_packets(3'000);
  EXPECT_EQ(simulation.run(kNever), End::Idle);
  EXPECT_EQ(all.size(), 3'000U);
  return all;
}

TEST(Routes, tables_intervals_and_runs_of_hops_give_the_paths_of_what_they_were_made_of) {
  for (const TopologyPlan& plan : {mesh({4, 4}), torus({8, 4}), torus({4, 3, 2})}) {
    const Topology topology = topology_of(plan);
    const GridRouter grid(topology, GridOrder::Dimension, 2, false);
    const auto want = trace(topology, grid);
    const auto table = TableRouter::of(topology, grid);
    const IntervalRouter intervals(topology, *table);
    ASSERT_TRUE(DeltaRouter::fits(topology));
    EXPECT_EQ(trace(topology, *table), want);
    EXPECT_EQ(trace(topology, intervals), want);
    EXPECT_EQ(trace(topology, DeltaRouter(topology, grid)), want);
    EXPECT_LT(intervals.most_intervals(), topology.switches());
    EXPECT_NE(trace(topology, GridRouter(topology, GridOrder::Reverse, 2, false)), want);
  }
}

TEST(Routes, two_level_tables_give_the_same_paths_if_a_group_is_reached_first) {
  for (const TopologyPlan& plan : {mesh({8, 6}), torus({8, 6})}) {
    const Topology topology = topology_of(plan);
    const GridRouter rows_first(topology, GridOrder::Reverse, 2, false);
    const auto table = TableRouter::of(topology, rows_first);
    const TwoLevelRouter two(topology, *table, 3);  // a group is a row of eight
    EXPECT_EQ(two.entries(), 6U + 8U);
    EXPECT_EQ(trace(topology, two), trace(topology, rows_first));
  }
}

TEST(Routes, delta_elements_count_to_sixty_three) {
  EXPECT_TRUE(DeltaRouter::fits(topology_of(mesh({64}))));
  EXPECT_FALSE(DeltaRouter::fits(topology_of(mesh({65}))));
  EXPECT_TRUE(DeltaRouter::fits(topology_of(torus({127}))));
}

TEST(Routes, wrong_ones_are_found_and_named) {
  const Topology topology = topology_of(mesh({3, 3}));
  const GridRouter grid(topology, GridOrder::Dimension, 1, false);
  const auto message = [&](SwitchId at, SwitchId target, std::uint8_t port, std::uint8_t vc) {
    const auto table = TableRouter::of(topology, grid);
    table->set(at, target, port, vc);
    Dependencies dependencies(topology, 1);
    const auto status = follow_routes(topology, *table, 1, dependencies);
    return status.ok() ? std::string() : status.message();
  };
  EXPECT_EQ(message(1, 8, 1, 0), "");
  EXPECT_EQ(message(1, 8, 2, 0), "the route from switch 0 to host 8 goes in circles");
  EXPECT_EQ(message(0, 8, 2, 0),
            "the route from switch 0 to host 8 leads to port 2, which no other switch is connected to");
  EXPECT_EQ(message(0, 8, 0, 0),
            "the route from switch 0 to host 8 leads to port 0, which no other switch is connected to");
  EXPECT_EQ(message(0, 8, 1, 1), "the route from switch 0 to host 8 uses virtual channel 1, which does not exist");
  EXPECT_EQ(message(0, 8, 9, 0), "the route from switch 0 to host 8 does not exist");
}

TEST(Topology, refuses_what_cannot_be_before_it_allocates) {
  const auto refuses = [](const TopologyPlan& plan) { return !Topology::make(plan).ok(); };
  EXPECT_TRUE(refuses(torus({4'000, 4'000, 4'000})));
  EXPECT_TRUE(refuses(torus({4'000'000'000})));
  EXPECT_TRUE(refuses(mesh({1})));
  EXPECT_TRUE(refuses(mesh({})));
  EXPECT_TRUE(refuses(mesh({2, 2, 2, 2})));
  EXPECT_TRUE(refuses({.shape = Shape::FatTree, .arity = 5}));
  EXPECT_TRUE(refuses({.shape = Shape::Graph, .nodes = 4'000'000'000}));
  EXPECT_TRUE(refuses({.shape = Shape::Graph, .nodes = 2, .links = {{0, 2}}}));
  EXPECT_TRUE(refuses({.shape = Shape::Graph, .nodes = 2, .links = {{1, 1}}}));
  EXPECT_TRUE(refuses({.shape = Shape::Graph, .hosts = 64, .nodes = 2, .links = {{0, 1}}}));
  EXPECT_FALSE(refuses({.shape = Shape::Graph, .hosts = 63, .nodes = 2, .links = {{0, 1}}}));
}

TEST(Topology, each_link_ends_where_it_begins) {
  for (const TopologyPlan& plan : {torus({2, 3}), mesh({2, 3, 4}), TopologyPlan{.shape = Shape::FatTree, .arity = 6}}) {
    const Topology topology = topology_of(plan);
    for (SwitchId at = 0; at < topology.switches(); ++at) {
      for (std::uint32_t port = 0; port < topology.ports(); ++port) {
        const Peer& peer = topology.peer(at, port);
        if (peer.kind != Peer::Kind::Switch) continue;
        EXPECT_EQ(topology.peer(peer.number, peer.port).number, at);
        EXPECT_EQ(topology.peer(peer.number, peer.port).port, port);
      }
    }
  }
}

}  // namespace stopbit::network::routing_test
