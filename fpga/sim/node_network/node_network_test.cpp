#include "node_network_bench.hpp"

namespace stopbit::sim {
namespace {

TEST_F(NodeNetwork, packets_of_all_units_reach_all_units_around_the_ring) {
  for (const std::uint32_t stalls : {0U, 20U}) {
    for (auto& node : nodes_) node->set_stalls(stalls, stalls);
    for (int i = 0; i < 3'000; ++i) send_any();
    run([this] { return due_ == 0; });
    if (HasFailure()) return;
  }
  EXPECT_EQ(gone(), 0U);
  EXPECT_EQ(sum(&RingNode::Events::resent), 0U);
  EXPECT_EQ(sum(&RingNode::Events::sent), 6'000U);
  expect_no_broken_rule();
}

TEST_F(NodeNetwork, a_packet_needs_so_many_cycles_a_hop) {
  for (const std::size_t cells : {0U, 1U, 8U, 32U}) {
    std::array<std::uint64_t, 3> took{};
    for (std::size_t hops = 0; hops < took.size(); ++hops) {
      const std::uint64_t begin = nodes_[hops]->cycles();
      send(0, 0, hops, 1, 2, cells);
      run([this] { return due_ == 0; });
      took[hops] = nodes_[hops]->first_came(1) - begin;
      for (int i = 0; i < 200; ++i) cycle();
    }
    const std::uint64_t words = cells + 1;
    EXPECT_EQ(took[0], words + 2 + 16 + 6) << cells;
    // A hop: switch, receiver, link, wire. The link waits for the end of a packet, so its length counts once.
    EXPECT_EQ(took[1] - took[0], words + 35) << cells;
    EXPECT_EQ(took[2] - took[1], took[1] - took[0]) << cells;
  }
}

TEST_F(NodeNetwork, bits_that_turn_on_the_wires_change_nothing) {
  for (auto& wire : wires_) wire->set_errors(200);  // of a million: one cell of 75
  for (int i = 0; i < 2'000; ++i) send_any();
  run([this] { return due_ == 0; });
  EXPECT_GT(sum(&RingNode::Events::damaged), 100U);
  EXPECT_GT(sum(&RingNode::Events::resent), 100U);
  EXPECT_EQ(gone(), 0U);
  expect_no_broken_rule();
  for (auto& wire : wires_) wire->set_errors(0);
  check_registers();
}

/// Of node 2 a unit reads only some classes: these pass the other one on the same links. Lengths are those at which
/// credits end in the middle of a packet, or with its last word.
TEST_F(NodeNetwork, a_channel_that_is_not_read_holds_up_no_other_over_links) {
  constexpr std::array<std::size_t, 4> kLengths{8, 9, 17, 25};
  for (int round = 0; round < 12; ++round) {
    nodes_[2]->accept(0, kAllChannels & ~0b111U);  // not class 0
    for (int i = 0; i < 100; ++i) send(0, 0, 2, 0, 0, kLengths[random_.below(kLengths.size())]);
    for (int i = 0; i < 40; ++i) {
      send(0, 1, 2, 0, 1, random_.below(33));
      send(0, 1, 2, 0, 2, random_.below(33));
      send(1, 0, 2, 0, 3, random_.below(33));
      send(1, 1, 3, 1, 3, random_.below(33));
    }
    run([this] { return due_ == 100; });
    ASSERT_EQ(expected_[2][0][0][0].size(), 100U);
    // Those that wait for it are as far as they can be.
    for (int i = 0; i < 2'000; ++i) cycle();
    for (int i = 0; i < 5; ++i) send(0, 1, 2, 0, 1, random_.below(33));
    run([this] { return due_ == 100; });
    nodes_[2]->accept(0, kAllChannels);
    run([this] { return due_ == 0; });
    if (HasFailure()) return;
  }
  EXPECT_EQ(gone(), 0U);
  expect_no_broken_rule();
}

TEST_F(NodeNetwork, registers_hold_the_packets_of_the_unit_that_they_name) {
  for (std::size_t held = 0; held < kUnits; ++held) {
    nodes_[2]->hold(held, true);
    for (std::size_t unit = 0; unit < kUnits; ++unit) EXPECT_EQ(is_held(2, unit), unit == held);
    for (int i = 0; i < 20; ++i) {
      for (std::size_t unit = 0; unit < kUnits; ++unit) send(0, 0, 2, unit, 1, 3);
    }
    run([this] { return due_ == 20; });
    for (int i = 0; i < 500; ++i) cycle();
    EXPECT_EQ(due_, 20U);
    nodes_[2]->hold(held, false);
    run([this] { return due_ == 0; });
  }
  EXPECT_FALSE(is_held(2, 7)) << "no such unit";
  EXPECT_EQ(read_long(2, map::crossbar::kBase + map::crossbar::kTapWord), 0U);
}

/// Full load half around the ring, in which a single virtual channel would wait for itself.
TEST_F(NodeNetwork, a_full_ring_does_not_stop) {
  for (int i = 0; i < 1'000; ++i) {
    for (std::size_t from = 0; from < kNodes; ++from) {
      send(from, random_.below(2), (from + 2) % kNodes, random_.below(2), 1, kMaxPayload);
    }
  }
  run([this] { return due_ == 0; });
  EXPECT_EQ(gone(), 0U);
  expect_no_broken_rule();
  check_registers();
}

TEST_F(NodeNetwork, a_link_that_comes_and_goes_loses_nothing) {
  for (int i = 0; i < 1'500; ++i) send_any();
  for (int i = 0; i < 40 && due_ > 0; ++i) {
    Wire& flaps = *wires_[random_.below(wires_.size())];
    flaps.set_signal(false);
    for (std::uint64_t k = 50 + random_.below(400); k > 0; --k) cycle();
    flaps.set_signal(true);
    for (std::uint64_t k = random_.below(600); k > 0; --k) cycle();
    if (HasFailure()) return;
  }
  run([this] { return due_ == 0; });
  EXPECT_GT(sum(&RingNode::Events::resent), 0U);
  EXPECT_EQ(gone(), 0U);
  expect_no_broken_rule();
  check_registers();
}

/// What waits for a link without a signal is dropped after a while, and counted; all others are not held up.
TEST_F(NodeNetwork, a_dead_link_costs_what_is_sent_over_it_and_nothing_else) {
  for (auto& node : nodes_) node->set_patience(2'000);
  finish_accesses();
  wire(0, 0).set_signal(false);
  wire(1, 1).set_signal(false);
  may_lose_ = true;
  for (int i = 0; i < 400; ++i) send(0, 0, 1, 0, 0, 20);
  for (int i = 0; i < 400; ++i) {
    send(0, 0, 3, 1, 0, 20);  // the same unit and class, the other way
    send(0, 1, 3, 0, 1, 20);
    send(1, 0, 2, 0, 2, 20);
  }
  const auto is_left = [this] {
    return expected_[3][1][0][0].empty() && expected_[3][0][1][1].empty() && expected_[2][0][2][2].empty();
  };
  run(is_left);
  run([this] { return nodes_[0]->counts.discarded > 100; });
  EXPECT_EQ(missing_, 0U) << "only on the dead link";

  // When it has come back, what was kept arrives, and all that is sent from then on.
  wire(0, 0).set_signal(true);
  wire(1, 1).set_signal(true);
  run([this] { return all_up(); });
  for (int i = 0; i < 5'000; ++i) cycle();
  const std::uint64_t gone_before = gone();
  for (int i = 0; i < 100; ++i) send(0, 0, 1, 0, 0, 20);
  run([this] { return due_ == 0; });
  EXPECT_EQ(missing_, gone_before);
  EXPECT_EQ(gone(), gone_before);
  expect_no_broken_rule();
  check_registers();
}

/// Tables send everything the other way around: nothing waits for the dead link any more, and nothing is lost.
TEST_F(NodeNetwork, other_tables_lead_around_a_dead_link) {
  wire(0, 0).set_signal(false);
  wire(1, 1).set_signal(false);
  run([this] { return !nodes_[0]->is_up(0) && !nodes_[1]->is_up(1); });
  // A line from node 1 over 2 and 3 to 0: no circle, one virtual channel is enough.
  for (std::size_t at = 0; at < kNodes; ++at) {
    for (std::size_t to = 0; to < kNodes; ++to) {
      const bool forward = (at + kNodes - 1) % kNodes < (to + kNodes - 1) % kNodes;
      set_way(at, to, {forward ? 0U : 1U, 0});
    }
  }
  finish_accesses();
  for (int i = 0; i < 2'000; ++i) send_any();
  run([this] { return due_ == 0; });
  EXPECT_EQ(gone(), 0U);
  expect_no_broken_rule();
}

/// Node 1 is reset under load. Its neighbours lose what it had and what was on its way to it; later all is as before.
TEST_F(NodeNetwork, a_node_that_is_reset_comes_back_into_the_ring) {
  may_lose_ = true;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 400; ++i) send_any();
    for (std::uint64_t i = random_.below(2'000); i > 0; --i) cycle();
    // By its pin, or by the host: for a while, or as short as two writes are.
    if (round % 2 == 0) {
      nodes_[1]->set_reset(true);
      for (std::uint64_t i = 1 + random_.below(20); i > 0; --i) cycle();
      nodes_[1]->set_reset(false);
      cycle();
    } else {
      nodes_[1]->write(map::bus::kBase + map::bus::kControl, map::bus::kControlReset);
      for (std::uint64_t i = round == 1 ? 0 : random_.below(100); i > 0; --i) cycle();
      nodes_[1]->write(map::bus::kBase + map::bus::kControl, 0);
      finish_accesses();
    }
    // Nothing comes before it has its number and tables again: it would route it by its old ones, as node 0.
    start(1);
    run([this] { return all_up(); });
    if (HasFailure()) return;
  }
  // Nothing is on its way any more: as nothing has come for long.
  std::size_t last = due_ + 1;
  for (int i = 0; last != due_; ++i) {
    ASSERT_LT(i, 100);
    last = due_;
    for (int k = 0; k < 3'000; ++k) cycle();
  }
  EXPECT_GT(due_ + missing_, 0U) << "no reset hit anything";
  for (auto& node : expected_) {
    for (auto& unit : node) {
      for (auto& sender : unit) {
        for (auto& queue : sender) queue.clear();
      }
    }
  }
  due_ = 0;
  may_lose_ = false;
  for (int i = 0; i < 1'000; ++i) send_any();
  run([this] { return due_ == 0; });
  check_registers();
}

}  // namespace
}  // namespace stopbit::sim
