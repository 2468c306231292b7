#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "node_network_bench.hpp"

// What the host sets by registers and reads from them, beside traffic. Counters after traffic: node_network_test.cpp.
namespace stopbit::sim {
namespace {

constexpr std::uint32_t kCrossbar = map::crossbar::kBase;
constexpr std::uint32_t kLimits = kCrossbar + map::crossbar::kLimits;

std::uint32_t unit_register(std::uint32_t unit, std::uint32_t offset) {
  return map::crossbar_unit::base(unit) + offset;
}
std::uint32_t port_register(std::uint32_t port, std::uint32_t offset) {
  return map::crossbar_port::base(port) + offset;
}
std::uint32_t link_register(std::uint32_t link, std::uint32_t offset) {
  return map::link::base(link) + offset;
}

class ManagedNetwork : public NodeNetwork {
 protected:
  using Links = std::array<std::uint64_t, kLinks>;
  /// Packets that left node 0 by each link while `packets` went to `to`.
  Links links_taken(std::size_t to, int packets) {
    Links before{};
    for (std::size_t i = 0; i < kLinks; ++i) before[i] = nodes_[0]->link_events[i].sent;
    for (int i = 0; i < packets; ++i) send(0, 0, to, 1, 2, 1 + random_.below(8));
    run([this] { return due_ == 0; });
    Links taken{};
    for (std::size_t i = 0; i < kLinks; ++i) taken[i] = nodes_[0]->link_events[i].sent - before[i];
    return taken;
  }
  /// To a node that is opposite in the ring the way back is as long as the way ahead.
  static Way way_back(std::size_t at, std::size_t to) { return {1, to > at && at != 0 ? 0U : 1U}; }
  void set_opposite_way(std::size_t at, bool ahead) {
    const std::size_t to = (at + kNodes / 2) % kNodes;
    set_way(at, to, ahead ? way(at, to) : way_back(at, to));
  }
  /// For tests that look at what comes themselves.
  void wait_for_packets(std::size_t node, std::size_t unit, std::size_t count) {
    run([&] { return nodes_[node]->came(unit).size() >= count; });
    for (int i = 0; i < 300; ++i) cycle();
    EXPECT_EQ(nodes_[node]->came(unit).size(), count);
  }
  /// While the network's clock is stopped.
  BusAnswer access_stopped(std::size_t at, const BusRequest& request) {
    std::optional<BusAnswer> answer;
    nodes_[at]->host().offer(request, [&](const BusRequest&, const BusAnswer& got) { answer = got; });
    for (int i = 0; i < 20 && !answer; ++i) nodes_[at]->bus_cycles(2 * kPatience);
    EXPECT_TRUE(answer.has_value());
    return answer.value_or(BusAnswer{});
  }
  /// Reads and writes of any kind; hosts of a reset bus forget theirs.
  void hammer(std::size_t at, const BusRequest& request) {
    nodes_[at]->host().offer(request, [this](const BusRequest&, const BusAnswer& answer) {
      ++answers_;
      errors_ += answer.error ? 1 : 0;
    });
  }
  void reset_by_host(std::size_t at) {
    nodes_[at]->write(map::bus::kControl, map::bus::kControlReset);
    nodes_[at]->write(map::bus::kControl, 0);
    finish_accesses();
  }
  void reset_by_pin(std::size_t at) {
    nodes_[at]->set_reset(true);
    for (int i = 0; i < 5; ++i) cycle();
    nodes_[at]->set_reset(false);
    cycle();
  }
  void reset_bus(std::size_t at) {
    nodes_[at]->host().forget();
    nodes_[at]->set_bus_reset(true);
    for (int i = 0; i < 12; ++i) cycle();  // four of the slowest bus
    nodes_[at]->set_bus_reset(false);
  }

  std::uint64_t answers_ = 0;
  std::uint64_t errors_ = 0;
};

TEST_F(ManagedNetwork, tells_its_shape_and_says_when_it_runs) {
  for (std::size_t at = 0; at < kNodes; ++at) {
    EXPECT_EQ(read(at, map::bus::kRevision), map::bus::kRevisionValue);
    EXPECT_EQ(read(at, map::bus::kShape), kUnits | kLinks << map::bus::kShapeLinksShift);
    EXPECT_EQ(read(at, kCrossbar + map::crossbar::kState), map::crossbar::kStateReady);
    // The shortest reset: all of the node sees it, and no access is refused once the node says that it runs.
    const std::uint64_t resets = nodes_[at]->resets();
    nodes_[at]->write(map::bus::kControl, map::bus::kControlReset);
    nodes_[at]->write(map::bus::kControl, 0);
    finish_accesses();
    wait_for(at, map::bus::kState, map::bus::kStateRuns);
    EXPECT_EQ(nodes_[at]->resets(), resets + 1);
    EXPECT_EQ(read(at, kLimits), 0U);
    // As long as the host wants.
    nodes_[at]->write(map::bus::kControl, map::bus::kControlReset);
    finish_accesses();
    for (int i = 0; i < 200; ++i) cycle();
    EXPECT_TRUE(nodes_[at]->is_in_reset());
    EXPECT_EQ(read(at, map::bus::kState), 0U);
    EXPECT_TRUE(access(at, {.address = kLimits}).error);
    EXPECT_TRUE(access(at, {.write = true, .address = link_register(1, map::link::kControl), .data = 1}).error);
    EXPECT_EQ(read(at, map::bus::kRefused), 2U);
    nodes_[at]->write(map::bus::kControl, 0);
    finish_accesses();
    start(at);
    EXPECT_EQ(read(at, map::bus::kRefused), 2U);
    EXPECT_EQ(read(at, link_register(1, map::link::kControl)), map::link::kControlOn);
  }
  run([this] { return all_up(); });
  for (int i = 0; i < 300; ++i) send_any();
  run([this] { return due_ == 0; });
  EXPECT_EQ(gone(), 0U);
  check_registers();
}

TEST_F(ManagedNetwork, routes_are_those_of_its_tables) {
  const Links ahead{30, 0};
  const Links back{0, 30};
  EXPECT_EQ(links_taken(2, 30), ahead);
  set_opposite_way(0, false);
  finish_accesses();
  EXPECT_EQ(links_taken(2, 30), back);
  EXPECT_EQ(links_taken(1, 30), ahead) << "another entry";
  set_opposite_way(0, true);
  finish_accesses();
  EXPECT_EQ(links_taken(2, 30), ahead);
  const std::uint32_t entry = read(0, kCrossbar + map::crossbar::kLocals + 4 * 2);
  EXPECT_EQ(entry, entry_of(way(0, 2)));
  EXPECT_EQ(gone(), 0U);
}

TEST_F(ManagedNetwork, entries_go_to_the_inputs_that_it_names) {
  // Of node 0 only unit 1 has no way to node 1.
  nodes_[0]->write_inputs(0b0010);
  set_way(0, 1, {7, 0});
  finish_accesses();
  for (int i = 0; i < 20; ++i) {
    nodes_[0]->send(1, packets_.packet(Start{.vpid = 1, .node = 1, .unit = 0, .traffic_class = 1}, 3));
    send(0, 0, 1, 0, 1, 3);
  }
  run([this] { return due_ == 0 && nodes_[0]->port_events[1][0] == 20; });
  EXPECT_EQ(read(0, port_register(1, map::crossbar_port::kUnroutable)), 20U);
  EXPECT_EQ(read(0, port_register(0, map::crossbar_port::kUnroutable)), 0U);
  // Any write makes the counter 0.
  nodes_[0]->write(port_register(1, map::crossbar_port::kUnroutable), 5);
  finish_accesses();
  EXPECT_EQ(read(0, port_register(1, map::crossbar_port::kUnroutable)), 0U);
  set_way(0, 1, way(0, 1));
  finish_accesses();
  send(0, 1, 1, 0, 1, 3);
  run([this] { return due_ == 0; });
}

/// A node in another part of the network, and a group: tables of their own.
TEST_F(ManagedNetwork, other_parts_and_groups_have_tables) {
  constexpr std::uint32_t kFar = 0x402;
  constexpr std::uint32_t kGroup = 0x9C;
  constexpr std::uint32_t kValid = 1U << 25;
  constexpr std::uint32_t kToUnit = 1U << 18;
  constexpr std::uint32_t kAhead = 1;  // link 0
  constexpr std::uint32_t kGlobals = kCrossbar + map::crossbar::kGlobals;
  constexpr std::uint32_t kGroups = kCrossbar + map::crossbar::kGroups + 4 * kGroup;
  collects_ = false;
  nodes_[2]->write_own(kFar);
  nodes_[0]->write(kGlobals + 4, entry_of(way(0, 2)));
  nodes_[1]->write(kGlobals + 4, entry_of(way(1, 2)));
  nodes_[0]->write(kGroups, kValid | kAhead);
  nodes_[1]->write(kGroups, kValid | kToUnit | kAhead);
  nodes_[2]->write(kGroups, kValid | kToUnit);
  finish_accesses();
  EXPECT_EQ(read(0, kGroups), kValid | kAhead);
  EXPECT_EQ(read(1, kGlobals + 4), entry_of(way(1, 2)));
  const Packet far = packets_.packet(Start{.vpid = 1, .node = kFar, .unit = 0, .traffic_class = 3}, 9);
  const Packet to_all =
      packets_.packet(Start{.vpid = 1, .node = kGroup, .unit = 1, .traffic_class = 1, .is_multicast = true}, 4);
  for (int i = 0; i < 5; ++i) {
    nodes_[0]->send(1, far);
    nodes_[0]->send(0, to_all);
  }
  wait_for_packets(2, 0, 5);
  wait_for_packets(1, 1, 5);
  wait_for_packets(2, 1, 5);
  for (const Packet& packet : nodes_[2]->came(0)) EXPECT_EQ(packet.payload, far.payload);
  for (const std::size_t node : {1U, 2U}) {
    for (const Packet& packet : nodes_[node]->came(1)) EXPECT_EQ(packet.payload, to_all.payload);
  }
  EXPECT_EQ(gone(), 0U);
}

TEST_F(ManagedNetwork, units_send_what_limits_and_channels_allow) {
  collects_ = false;
  const auto send_to = [this](std::size_t unit, std::uint64_t node, std::uint64_t to_unit,
                              std::uint64_t traffic_class) {
    nodes_[0]->send(unit, packets_.packet(Start{.node = node, .unit = to_unit, .traffic_class = traffic_class}, 2));
  };
  const auto refused = [this](std::uint32_t unit) {
    return read(0, unit_register(unit, map::crossbar_unit::kRefused));
  };
  nodes_[0]->write_limits(2, 0);
  finish_accesses();
  send_to(0, 3, 0, 0);
  send_to(0, 1, 1, 0);
  send_to(0, 2, 0, 0);
  wait_for_packets(2, 0, 1);
  EXPECT_EQ(refused(0), 2U);
  EXPECT_EQ(refused(1), 0U);
  nodes_[0]->write_limits(3, 1);
  nodes_[0]->use_channels(1, 0b010'000'000'001);  // class 0 on channel 0, class 3 on 1
  finish_accesses();
  send_to(0, 3, 1, 2);
  send_to(1, 3, 1, 1);
  send_to(1, 3, 1, 0);
  send_to(1, 3, 1, 3);
  wait_for_packets(3, 1, 3);
  EXPECT_EQ(refused(0), 2U);
  EXPECT_EQ(refused(1), 1U);
  EXPECT_EQ(read_long(0, unit_register(1, map::crossbar_unit::kSent)), 2U);
}

TEST_F(ManagedNetwork, damaged_packets_reach_units_that_are_set_to_cut_through) {
  collects_ = false;
  Packet packet = packets_.packet(Start{.node = 1, .unit = 1, .traffic_class = 1}, 6);
  packet.is_bad = true;
  nodes_[1]->cut_through(1, false);
  finish_accesses();
  for (int i = 0; i < 3; ++i) nodes_[0]->send(0, packet);
  run([this] { return nodes_[1]->unit_events[1][2] == 3; });
  EXPECT_EQ(read(1, unit_register(1, map::crossbar_unit::kDropped)), 3U);
  nodes_[1]->cut_through(1, true);
  finish_accesses();
  nodes_[0]->send(0, packet);
  wait_for_packets(1, 1, 1);
  EXPECT_TRUE(nodes_[1]->came(1).front().is_bad);
  EXPECT_EQ(read(1, unit_register(1, map::crossbar_unit::kDropped)), 3U);
  // Words that are no packet.
  nodes_[0]->send(0, Word{.data = 1, .is_first = false, .is_last = true, .is_bad = false});
  run([this] { return nodes_[0]->unit_events[0][3] == 1; });
  EXPECT_EQ(read(0, unit_register(0, map::crossbar_unit::kUnfit)), 1U);
}

TEST_F(ManagedNetwork, a_link_that_is_off_is_down_at_both_ends_and_loses_nothing) {
  for (const std::uint32_t link : {0U, 1U}) {
    const std::size_t there = peer(0, link);
    for (int i = 0; i < 300; ++i) send(0, 0, there, 0, 1, 20);
    for (int i = 0; i < 500; ++i) cycle();
    nodes_[0]->switch_link(link, false);
    run([&] { return !nodes_[0]->is_up(link) && !nodes_[there]->is_up(1 - link); });
    EXPECT_EQ(read(0, link_register(link, map::link::kState)) & map::link::kStateUp, 0U);
    EXPECT_EQ(read(there, link_register(1 - link, map::link::kState)) & map::link::kStateUp, 0U);
    EXPECT_EQ(read(0, link_register(1 - link, map::link::kState)) & map::link::kStateUp, 1U);
    for (int i = 0; i < 500; ++i) cycle();  // those that have crossed it arrive
    const std::size_t waiting = due_;
    for (int i = 0; i < 2'000; ++i) cycle();
    EXPECT_GT(waiting, 100U);
    EXPECT_EQ(due_, waiting);
    for (int i = 0; i < 50; ++i) send(0, 1, peer(0, 1 - link), 1, 2, 20);
    run([&] { return due_ == waiting; });
    nodes_[0]->switch_link(link, true);
    run([this] { return due_ == 0; });
    EXPECT_EQ(read(0, link_register(link, map::link::kEvents)) & 3U, 3U);
    // What the host clears is set again when it happens again.
    nodes_[0]->write(link_register(link, map::link::kEvents), map::link::kEventsWentUp);
    finish_accesses();
    EXPECT_EQ(read(0, link_register(link, map::link::kEvents)) & 3U, map::link::kEventsWentDown);
    nodes_[0]->link_events[link].ups_seen = 0;
    EXPECT_EQ(read(0, link_register(link, map::link::kUps)), 2U);
    EXPECT_EQ(read(0, link_register(link, map::link::kDowns)), 1U);
    nodes_[0]->link_events[link].ups = 0;
    nodes_[0]->link_events[link].downs_seen = nodes_[0]->link_events[link].downs;
    nodes_[0]->link_events[link].downs = 0;
    if (HasFailure()) return;
  }
  EXPECT_EQ(gone(), 0U);
  expect_no_broken_rule();
  check_registers();
}

/// A node that has no number takes itself for node 0. Packets for it and node 0 wait at its neighbours.
TEST_F(ManagedNetwork, nothing_comes_in_before_its_number_is_written) {
  constexpr std::size_t kAt = 1;
  const auto is_up = [&](std::size_t link) { return nodes_[kAt]->is_up(link); };
  const auto stays_down = [&](std::size_t link, const char* when) {
    for (int i = 0; i < 400; ++i) {
      cycle();
      ASSERT_FALSE(is_up(link)) << when << ", link " << link;
    }
  };
  set_opposite_way(2, false);  // from node 2 to node 0 through it
  finish_accesses();
  for (const bool by_host : {false, true}) {
    const std::uint64_t dropped = sum(&RingNode::Events::lost);
    by_host ? reset_by_host(kAt) : reset_by_pin(kAt);
    wait_for(kAt, map::bus::kState, map::bus::kStateRuns);
    for (std::size_t link = 0; link < kLinks; ++link) stays_down(link, "after the reset");
    for (int i = 0; i < 20; ++i) {
      send(2, 0, 0, 0, 1, 4);
      send(0, 1, kAt, 1, 2, 4);
      send(2, 1, kAt, 0, 3, 4);
    }
    // Links first, then the number to no input, to those of units, and to one link after the other.
    for (std::size_t link = 0; link < kLinks; ++link) nodes_[kAt]->switch_link(link, true);
    finish_accesses();
    for (std::size_t link = 0; link < kLinks; ++link) stays_down(link, "without a number");
    EXPECT_EQ(read(kAt, link_register(0, map::link::kControl)), map::link::kControlOn);
    for (const std::uint32_t inputs : {0b0000U, 0b0011U}) {
      nodes_[kAt]->write_inputs(inputs);
      nodes_[kAt]->write_own(kAt);
      finish_accesses();
      for (std::size_t link = 0; link < kLinks; ++link) stays_down(link, "with the number elsewhere");
    }
    nodes_[kAt]->write_inputs(0b0100);
    // Another table is no number.
    nodes_[kAt]->write_local(900, 0);
    finish_accesses();
    stays_down(0, "with an entry of a table");
    EXPECT_EQ(read(kAt, link_register(0, map::link::kState)), 0U);
    nodes_[kAt]->write_own(kAt);
    run([&] { return is_up(0); });
    stays_down(1, "with the number at the other link");
    EXPECT_NE(read(kAt, link_register(0, map::link::kState)) & map::link::kStateNumbered, 0U);
    EXPECT_EQ(read(kAt, link_register(1, map::link::kState)), 0U);
    EXPECT_EQ(due_, 60U - 20U) << "those of node 2 for it, over link 0, to a unit";
    nodes_[kAt]->write_inputs(0b1000);
    nodes_[kAt]->write_own(kAt);
    run([this] { return all_up() && due_ == 0; });
    if (HasFailure()) return;
    EXPECT_EQ(sum(&RingNode::Events::lost), dropped) << "nothing was under way when it was reset";
    start(kAt);
  }
  EXPECT_EQ(gone(), 0U);
  expect_no_broken_rule();
}

TEST_F(ManagedNetwork, units_send_nothing_before_the_number_is_written) {
  constexpr std::size_t kAt = 2;
  collects_ = false;
  const auto refused = [this](std::uint32_t unit) {
    return read(kAt, unit_register(unit, map::crossbar_unit::kRefused));
  };
  const auto send_to_0 = [this](std::size_t unit) {
    nodes_[kAt]->send(unit, packets_.packet(Start{.node = 0, .unit = 0, .traffic_class = 1}, 2));
  };
  reset_by_host(kAt);
  wait_for(kAt, map::bus::kState, map::bus::kStateRuns);
  nodes_[kAt]->write_limits(3, 1);
  for (std::size_t unit = 0; unit < kUnits; ++unit) nodes_[kAt]->use_channels(unit, kAllChannels);
  finish_accesses();
  wait_until_ready(kAt);
  for (int i = 0; i < 10; ++i) {
    send_to_0(0);
    send_to_0(1);
  }
  run([&] { return nodes_[kAt]->unit_events[0][1] == 10 && nodes_[kAt]->unit_events[1][1] == 10; });
  EXPECT_EQ(refused(0), 10U);
  // The number at one unit's input opens that unit alone.
  nodes_[kAt]->write_inputs(0b0010);
  nodes_[kAt]->write_own(kAt);
  finish_accesses();
  EXPECT_EQ(read(kAt, unit_register(0, map::crossbar_unit::kChannels)), kAllChannels) << "as it was written";
  send_to_0(0);
  run([&] { return nodes_[kAt]->unit_events[0][1] == 11; });
  for (int i = 0; i < 300; ++i) cycle();
  for (std::size_t unit = 0; unit < kUnits; ++unit) EXPECT_TRUE(nodes_[kAt]->came(unit).empty()) << "as node 0";
  EXPECT_EQ(read_long(kAt, unit_register(0, map::crossbar_unit::kSent)), 0U);
  EXPECT_EQ(refused(1), 10U);
  start(kAt);
  send_to_0(1);
  wait_for_packets(0, 0, 1);
  EXPECT_EQ(refused(0), 11U);
  EXPECT_EQ(refused(1), 10U);
  EXPECT_EQ(read_long(kAt, unit_register(1, map::crossbar_unit::kSent)), 1U);
}

/// Writes in any order, with resets among them: a link is up if and only if it is on and its input has the number.
TEST_F(ManagedNetwork, links_are_up_with_a_number_and_a_switch_in_any_order) {
  constexpr std::size_t kAt = 3;
  std::uint32_t inputs = (1U << kPorts) - 1;
  std::uint32_t numbered = inputs;
  std::uint32_t on = 0b11;
  int ups = 0;
  int downs = 0;
  for (int step = 0; step < 150 && !HasFailure(); ++step) {
    const std::uint64_t kind = random_.below(10);
    if (kind == 0) {
      random_.chance(50) ? reset_by_host(kAt) : reset_by_pin(kAt);
      wait_for(kAt, map::bus::kState, map::bus::kStateRuns);
      inputs = numbered = on = 0;
    } else if (kind < 4) {
      inputs = static_cast<std::uint32_t>(random_.below(1U << kPorts));
      nodes_[kAt]->write_inputs(inputs);
    } else if (kind < 6) {
      nodes_[kAt]->write_own(kAt);
      numbered |= inputs;
    } else {
      const std::uint32_t link = random_.below(kLinks) & 1;
      const bool is_on = random_.chance(60);
      nodes_[kAt]->switch_link(link, is_on);
      on = (on & ~(1U << link)) | unsigned{is_on} << link;
    }
    finish_accesses();
    const std::uint32_t should = on & numbered >> kUnits;
    run([&] { return nodes_[kAt]->is_up(0) == (should & 1) && nodes_[kAt]->is_up(1) == (should >> 1 & 1); }, 1'000);
    for (int i = 0; i < 100; ++i) {
      cycle();
      ASSERT_EQ(unsigned{nodes_[kAt]->is_up(0)} | unsigned{nodes_[kAt]->is_up(1)} << 1, should) << "step " << step;
    }
    for (std::uint32_t link = 0; link < kLinks; ++link) {
      const std::uint32_t state = read(kAt, link_register(link, map::link::kState));
      EXPECT_EQ(state & map::link::kStateUp, should >> link & 1);
      EXPECT_EQ(state & map::link::kStateNumbered,
                (numbered >> (kUnits + link) & 1) != 0 ? map::link::kStateNumbered : 0);
      EXPECT_EQ(read(kAt, link_register(link, map::link::kControl)), on >> link & 1);
    }
    ups += std::popcount(should);
    downs += static_cast<int>(kLinks) - std::popcount(should);
  }
  EXPECT_GT(ups, 30);
  EXPECT_GT(downs, 30);
  start(kAt);
  run([this] { return all_up(); });
  for (int i = 0; i < 200; ++i) send_any();
  run([this] { return due_ == 0; });
  EXPECT_EQ(gone(), 0U);
}

/// To nodes half around the ring both ways are right, with every choice of the others. Packets of the later way may
/// overtake.
TEST_F(ManagedNetwork, tables_written_under_load_lose_and_misroute_nothing) {
  may_overtake_ = true;
  for (auto& node : nodes_) node->set_stalls(10, 10);
  for (int i = 0; i < 3'000; ++i) {
    const std::size_t from = random_.below(kNodes);
    const std::size_t to = random_.chance(60) ? (from + kNodes / 2) % kNodes : random_.below(kNodes);
    send(from, random_.below(kUnits), to, random_.below(kUnits), random_.below(kClasses),
         1 + random_.below(kMaxPayload));
  }
  std::uint64_t writes = 0;
  run([&] {
    for (std::size_t at = 0; at < kNodes; ++at) {
      if (!nodes_[at]->host().is_idle()) continue;
      // Another way, the same one again, or an entry of a node that does not exist.
      set_opposite_way(at, random_.chance(50));
      set_way(at, (at + 1) % kNodes, way(at, (at + 1) % kNodes));
      set_way(at, kNodes + random_.below(1'000), {random_.below(8), random_.below(4)});
      writes += 3;
    }
    return due_ == 0;
  });
  EXPECT_GT(writes, 1'000U);
  EXPECT_EQ(missing_, 0U);
  EXPECT_EQ(gone(), 0U);
  EXPECT_EQ(sum(&RingNode::Events::sent), 3'000U);
  expect_no_broken_rule();
  check_registers();
}

/// Hosts ask for all there is and is not, are reset in the middle, or never take an answer: the network goes on.
TEST_F(ManagedNetwork, hosts_that_misbehave_cost_no_packet) {
  for (int i = 0; i < 2'000; ++i) send_any();
  nodes_[3]->host().stop_reading(true);
  hammer(3, {.address = kLimits});
  hammer(3, {.write = true, .address = kLimits, .data = 1 << map::crossbar::kLimitsLastUnitShift | 5});
  std::uint64_t resets = 0;
  run([&] {
    for (std::size_t at = 0; at < 3; ++at) {
      if (!nodes_[at]->host().is_idle()) continue;
      BusRequest request{.write = random_.chance(40), .address = static_cast<std::uint32_t>(random_.below(0x10000))};
      if (request.write) request.address |= random_.chance(50) ? 3 : 0xC000;  // no register
      request.strobe = static_cast<std::uint8_t>(random_.below(16));
      if (!request.write && random_.chance(60)) {
        const auto& row = map::kRegisters[random_.below(map::kRegisters.size())];
        request.address = row.address + static_cast<std::uint32_t>(4 * random_.below(row.words));
      }
      hammer(at, request);
    }
    if (random_.below(300) == 0) {
      reset_bus(random_.below(3));
      ++resets;
    }
    return due_ == 0;
  });
  EXPECT_GT(answers_, 500U);
  EXPECT_GT(errors_, 100U);
  EXPECT_GT(resets, 10U);
  EXPECT_EQ(gone(), 0U);
  EXPECT_EQ(sum(&RingNode::Events::sent), 2'000U);
  EXPECT_EQ(sum(&RingNode::Events::resent), 0U);
  // It has one answer, and no more was taken.
  EXPECT_FALSE(nodes_[3]->host().is_waiting());
  EXPECT_FALSE(nodes_[3]->host().is_idle());
  nodes_[3]->host().stop_reading(false);
  finish_accesses();
  EXPECT_EQ(read(3, kLimits), 1U << map::crossbar::kLimitsLastUnitShift | 5U);
  for (std::size_t at = 0; at < 3; ++at)
    EXPECT_EQ(read(at, kLimits), 7U << map::crossbar::kLimitsLastUnitShift | 0xFFFFU);
  expect_no_broken_rule();
}

TEST_F(ManagedNetwork, what_does_not_exist_is_refused_or_does_nothing) {
  constexpr std::size_t kAt = 1;
  std::uint32_t refused = 0;
  const auto refuses = [&](BusRequest request) {
    const BusAnswer answer = access(kAt, request);
    EXPECT_TRUE(answer.error) << std::hex << request.address;
    EXPECT_LT(answer.cycles, kPatience) << std::hex << request.address;
    ++refused;
    EXPECT_EQ(read(kAt, map::bus::kRefused), refused);
    EXPECT_EQ(read(kAt, map::bus::kLastError), request.address | (request.write ? map::bus::kLastErrorWrite : 0));
  };
  for (std::uint32_t link = kLinks; link < map::link::kCount; ++link) {
    for (const std::uint32_t offset : {map::link::kControl, map::link::kState, map::link::kStarved, 0xFCU}) {
      refuses({.address = link_register(link, offset)});
      refuses({.write = true, .address = link_register(link, offset), .data = 1});
    }
  }
  for (const std::uint32_t address : {0x001CU, 0x00FCU, 0x0100U, 0x3FFCU, 0x402CU, 0x4200U, 0x481CU, 0x6014U, 0x6140U,
                                      0x7FFCU, 0x8040U, 0x80FCU, 0x8600U, 0xFFFCU, 0x4005U, 0x8001U}) {
    refuses({.address = address});
    refuses({.write = true, .address = address, .data = 0xFFFF'FFFF});
  }
  refuses({.write = true, .address = kLimits, .data = 0, .strobe = 7});
  refuses({.write = true, .address = map::bus::kShape, .data = 0});
  refuses({.write = true, .address = kCrossbar + map::crossbar::kState, .data = 0});
  refuses({.write = true, .address = link_register(0, map::link::kSent), .data = 0});
  // Units and ports of a larger node: what is written is kept, and has no effect.
  for (std::uint32_t unit = kUnits; unit < map::crossbar_unit::kCount; ++unit) {
    nodes_[kAt]->write(unit_register(unit, map::crossbar_unit::kChannels), 0xFFF);
    nodes_[kAt]->write(unit_register(unit, map::crossbar_unit::kCutThrough), 0);
  }
  nodes_[kAt]->write(kCrossbar + map::crossbar::kInputs, 0x3FF);
  for (int i = 0; i < 200; ++i) send_any();
  run([this] { return due_ == 0; });
  for (std::uint32_t unit = kUnits; unit < map::crossbar_unit::kCount; ++unit) {
    EXPECT_EQ(read_long(kAt, unit_register(unit, map::crossbar_unit::kSent)), 0U);
  }
  for (std::uint32_t port = kPorts; port < map::crossbar_port::kCount; ++port) {
    for (std::uint32_t offset = 0; offset <= map::crossbar_port::kBroken; offset += 4) {
      EXPECT_EQ(read(kAt, port_register(port, offset)), 0U);
    }
  }
  EXPECT_EQ(gone(), 0U);
  EXPECT_EQ(read(kAt, map::bus::kGaveUp), 0U);
  nodes_[kAt]->write(map::bus::kRefused, 0);
  finish_accesses();
  EXPECT_EQ(read(kAt, map::bus::kRefused), 0U);
  check_registers();
}

TEST_F(ManagedNetwork, accesses_are_given_up_while_the_networks_clock_is_stopped) {
  for (int i = 0; i < 600; ++i) send_any();
  for (int i = 0; i < 500; ++i) cycle();
  const std::array<std::uint32_t, 3> addresses{kLimits, link_register(0, map::link::kControl),
                                               unit_register(1, map::crossbar_unit::kChannels)};
  std::uint32_t gave_up = 0;
  for (std::size_t at = 0; at < kNodes; ++at) {
    gave_up = 0;
    for (const std::uint32_t address : addresses) {
      for (const bool write : {true, false}) {
        const BusAnswer answer = access_stopped(at, {.write = write, .address = address, .data = 0});
        EXPECT_TRUE(answer.error);
        EXPECT_GE(answer.cycles, kPatience);
        ++gave_up;
        EXPECT_EQ(access_stopped(at, {.address = map::bus::kGaveUp}).data, gave_up);
        EXPECT_EQ(access_stopped(at, {.address = map::bus::kLastError}).data,
                  address | map::bus::kLastErrorGaveUp | (write ? map::bus::kLastErrorWrite : 0));
      }
    }
    EXPECT_EQ(access_stopped(at, {.address = map::bus::kState}).data, map::bus::kStateRuns);
  }
  // The clock runs again: none of these writes is done, and nothing was lost.
  for (int i = 0; i < 100; ++i) cycle();
  for (std::size_t at = 0; at < kNodes; ++at) {
    EXPECT_EQ(read(at, kLimits), 7U << map::crossbar::kLimitsLastUnitShift | 0xFFFFU);
    EXPECT_EQ(read(at, link_register(0, map::link::kControl)), map::link::kControlOn);
    EXPECT_EQ(read(at, unit_register(1, map::crossbar_unit::kChannels)), 0b001'001'001'001U);
  }
  run([this] { return due_ == 0; });
  EXPECT_EQ(gone(), 0U);
  expect_no_broken_rule();

  // A reset that was set and ended while the clock was stopped comes when it runs.
  const std::uint64_t resets = nodes_[2]->resets();
  EXPECT_FALSE(
      access_stopped(2, {.write = true, .address = map::bus::kControl, .data = map::bus::kControlReset}).error);
  EXPECT_FALSE(access_stopped(2, {.write = true, .address = map::bus::kControl, .data = 0}).error);
  EXPECT_EQ(access_stopped(2, {.address = map::bus::kState}).data, 0U);
  EXPECT_EQ(nodes_[2]->resets(), resets);
  start(2);
  EXPECT_EQ(nodes_[2]->resets(), resets + 1);
  run([this] { return all_up(); });
  for (int i = 0; i < 200; ++i) send_any();
  run([this] { return due_ == 0; });
  check_registers();
}

/// Network and bus are reset, each by itself, while the host writes and reads anything, words of its units' streams
/// among it.
TEST_F(ManagedNetwork, resets_in_the_middle_of_accesses_leave_nothing_behind) {
  constexpr std::size_t kAt = 2;
  RingNode& node = *nodes_[kAt];
  std::uint64_t resets = 0;
  collects_ = false;
  node.expects_packets = false;
  for (int round = 0; round < 60; ++round) {
    for (std::uint64_t i = 50 + random_.below(300); i > 0; --i) {
      if (node.host().is_idle()) {
        const auto& row = map::kRegisters[random_.below(map::kRegisters.size())];
        hammer(kAt, {.write = random_.chance(70),
                     .address = row.address + static_cast<std::uint32_t>(4 * random_.below(row.words)),
                     .data = static_cast<std::uint32_t>(random_.bits())});
      }
      if (random_.below(60) == 0) {
        node.set_reset(true);
        for (std::uint64_t k = 1 + random_.below(12); k > 0; --k) cycle();
        node.set_reset(false);
        ++resets;
      }
      if (random_.below(150) == 0) reset_bus(kAt);
      cycle();
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(answers_, 200U);
  EXPECT_GT(errors_, 20U);
  EXPECT_GT(resets, 100U);
  // What the host put in as a packet may have reached others.
  for (int i = 0; i < 3'000; ++i) cycle();
  finish_accesses();
  node.write(map::bus::kControl, map::bus::kControlReset);
  node.write(map::bus::kControl, 0);
  finish_accesses();
  wait_for(kAt, map::bus::kState, map::bus::kStateRuns);
  for (const auto& row : map::kRegisters) {
    if (row.kind == device::RegisterKind::Write && row.address < map::link::base(kLinks)) {
      EXPECT_EQ(read(kAt, row.address), 0U) << row.block << ' ' << row.name;
    }
  }
  start(kAt);
  run([this] { return all_up(); });
  for (int i = 0; i < 2'000; ++i) cycle();
  for (auto& each : nodes_) {
    for (std::size_t unit = 0; unit < kUnits; ++unit) each->came(unit).clear();
  }
  collects_ = true;
  node.expects_packets = true;
  for (int i = 0; i < 500; ++i) send_any();
  run([this] { return due_ == 0; });
}

}  // namespace
}  // namespace stopbit::sim
