#include "crossbar_bench.hpp"
#include "tests/lib/form.hpp"
#include "tests/unit/lab/network/fixture.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kGap = 200;  // cycles, at most, between two packets of an input

class Crossbar : public CrossbarTest {
 protected:
  void load(std::uint64_t packets, std::size_t most_cells, std::uint32_t multicast_percent = 0) {
    const std::uint64_t end = sent_ + packets;
    while (sent_ < end) {
      for (std::size_t in = 0; in < kPorts; ++in) {
        if (waiting_[in].size() >= 8) continue;
        Start start = any_start();
        if (random_.chance(multicast_percent)) {
          start.is_multicast = true;
          start.vc = random_.below(2);
        }
        send(in, packet(start, in, random_.below(most_cells + 1)));
      }
      cycle();
      if (HasFailure()) return;
    }
  }
  void make_groups() {
    for (std::uint32_t i = 0; i < 256; ++i) {
      // Any links, any channels, a unit or not; one in eight is not valid.
      const auto bits = static_cast<std::uint32_t>(random_.bits());
      configure(Groups, i, (bits & 0x7F'FFFF) | (i % 8 != 0 ? 1U << 25 : 0));
    }
  }
};

TEST_F(Crossbar, an_idle_one_is_passed_in_16_cycles_as_in_the_simulator) {
  using namespace network;
  keep_received(true);
  const auto topology = network::testing::topology_of({.shape = Shape::Single, .hosts = kPorts});
  const auto router = TableRouter::shortest(topology);
  for (const std::size_t cells : {1U, 2U, 7U, 8U, 9U, 31U, 32U}) {
    for (std::size_t in = 0; in < kPorts; ++in) {
      const std::size_t out = (in + cells) % kPorts;
      SimulationOptions options;
      std::vector<std::vector<Offer>> offers(kPorts);
      offers[in].push_back(
          {.at = 0, .target = static_cast<HostId>(out), .payload = static_cast<std::uint32_t>(8 * cells)});
      network::testing::ListSource source(std::move(offers));
      Simulation simulation(topology, *router, {}, &source, options);
      ASSERT_EQ(simulation.run(kNever), End::Idle);
      send(in, packet(to(out), in, cells));
      finish();
      ASSERT_FALSE(HasFailure());
      const Received& got = received_.back();
      EXPECT_EQ(got.began - first_cell_in_[in], kRouteThrough) << cells << " cells, " << in << " to " << out;
      EXPECT_EQ(got.ended - got.began, cells + 1);
      // The simulator's hosts have links of a cycle; its packet has arrived when its last cell has.
      EXPECT_EQ(simulation.counts().latency.sum, got.ended + 1 - first_cell_in_[in] + 2 * options.link.host_cycles);
    }
  }
}

TEST_F(Crossbar, takes_every_packet_to_its_output_on_its_channel) {
  for (std::size_t in = 0; in < kPorts; ++in) {
    for (std::size_t out = 0; out < kPorts; ++out) {
      for (std::size_t traffic_class = 0; traffic_class < kClasses; ++traffic_class) {
        for (std::size_t vc = 0; vc < kVcs; ++vc) {
          send(in, packet(to(out, traffic_class, (vc + in) % kVcs, vc), in, (in + out + vc) % (kMaxPayload + 1)));
        }
      }
    }
  }
  finish();
  for (std::size_t out = 0; out < kPorts; ++out) EXPECT_EQ(arrived_[out], kPorts * kClasses * kVcs) << out;
  check_room();
}

TEST_F(Crossbar, loses_doubles_and_overtakes_nothing_under_random_load) {
  struct Load {
    std::uint32_t stall_in;
    std::uint32_t stall_freeing;
    std::size_t most_cells;
    std::uint64_t share;  // of the packets, percent
  };
  const std::uint64_t packets = by_form<std::uint64_t>(20'000, 1'000'000, 10'000'000);
  for (const Load load :
       {Load{0, 0, 2, 60}, Load{0, 0, 32, 15}, Load{30, 0, 8, 10}, Load{0, 80, 8, 10}, Load{70, 60, 32, 5}}) {
    set_stalls(load.stall_in, load.stall_freeing);
    this->load(packets * load.share / 100, load.most_cells);
    finish();
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GE(sent_, packets);
  for (const Events& events : events_) EXPECT_EQ(events, Events());
  check_room();
}

TEST_F(Crossbar, copies_of_a_group_leave_wherever_it_says_and_free_their_slots_after_the_last) {
  make_groups();
  for (const std::uint32_t stall : {0U, 60U}) {
    set_stalls(0, stall);
    load(by_form<std::uint64_t>(1'000, 15'000, 500'000), stall == 0 ? 4 : kMaxPayload, 50);
    finish();
    ASSERT_FALSE(HasFailure());
  }
  std::uint64_t unroutable = 0;
  for (const Events& events : events_) {
    unroutable += events.unroutable;
    Events others = events;
    others.unroutable = 0;
    EXPECT_EQ(others, Events());
  }
  EXPECT_EQ(unroutable, lost_);
  EXPECT_GT(lost_, 0U);
  for (std::size_t i = 0; i < kPorts; ++i) EXPECT_EQ(surplus_[i], 0U);
  check_room();
}

TEST_F(Crossbar, a_group_to_all_is_stored_once) {
  configure(Groups, 9, 1U << 25 | 1U << 18 | 0x3F);
  // Outputs that take nothing: the slots stay, one for all copies.
  const Start start{.node = 9, .unit = 2, .is_multicast = true};
  for (int i = 0; i < 40; ++i) send(1, packet(start, 1, 1));
  finish();
  for (const std::size_t out : {2U, 4U, 5U, 6U, 7U, 8U, 9U}) EXPECT_EQ(arrived_[out], 40U) << out;
  EXPECT_EQ(arrived_[0] + arrived_[1] + arrived_[3], 0U);
  EXPECT_EQ(events_[1], Events());
}

/// Class 0 and 1 may take the ports of the mask, on the last channel; the deterministic way is port 4 on channel 0.
TEST_F(Crossbar, adaptive_packets_avoid_an_output_that_is_stuck) {
  const Start start{.node = 0x1400 | 77, .traffic_class = 0};
  configure(Local, 77, 0U << 6 | 0b100110U);
  checks_ = false;
  keep_received(true);
  for (std::size_t i = 0; i < 300; ++i) send(0, packet(start, 0, 4));
  run([this] { return received_.size() == 300; });
  std::array<std::size_t, kPorts> by{};
  for (const Received& each : received_) {
    ++by[each.out];
    EXPECT_EQ(each.channel, 2U);
  }
  EXPECT_EQ(by[5] + by[6] + by[9], 300U);
  EXPECT_NEAR(static_cast<double>(by[5]), 100, 1);
  EXPECT_NEAR(static_cast<double>(by[9]), 100, 1);

  // Two of them take nothing: the third has all, once the credits of the others are used.
  received_.clear();
  hold(5, true);
  hold(6, true);
  for (std::size_t i = 0; i < 600; ++i) send(0, packet(start, 0, 4));
  run([this] { return received_.size() >= 580; });
  std::array<std::size_t, kPorts> later{};
  for (const Received& each : received_) ++later[each.out];
  EXPECT_GT(later[9], 400U);
  // All take nothing: the deterministic way is left.
  hold(9, true);
  for (std::size_t i = 0; i < 600; ++i) send(0, packet(start, 0, 4));
  run([this] { return arrived_[4] >= 200; });
  for (const std::size_t out : {5U, 6U, 9U}) hold(out, false);
  due_ = 0;
  run([this] { return is_quiet(); });
  EXPECT_EQ(received_.size(), 1200U);
  // Of other classes none.
  received_.clear();
  for (std::size_t i = 0; i < 50; ++i) send(0, packet({.node = start.node, .traffic_class = 2}, 0, 1));
  run([this] { return received_.size() == 50; });
  for (const Received& each : received_) EXPECT_EQ(each.out, kUnits);
}

/// A link with credits whose queue is long because other inputs use it.
TEST_F(Crossbar, adaptive_packets_avoid_a_long_queue) {
  configure(Local, 77, 1U << 2 << 6 | 0b000011U);
  checks_ = false;
  keep_received(true);
  const auto others = [this] {
    for (std::size_t in = 1; in < 5; ++in) {
      while (waiting_[in].size() < 2) send(in, packet(to(kUnits, 2), in, 8));
    }
  };
  for (int i = 0; i < 200; ++i) {
    others();
    cycle();
  }
  received_.clear();
  for (int i = 0; i < 60; ++i) send(0, packet({.node = 0x1400 | 77}, 0, 1));
  const auto came = [this](std::size_t out) {
    return std::count_if(received_.begin(), received_.end(), [&](const Received& each) {
      return each.out == out && (Start::of(each.packet.front().data).vpid & 15) == 0;
    });
  };
  run([&] {
    others();
    return came(kUnits) + came(kUnits + 1) == 60;
  });
  EXPECT_GT(came(kUnits + 1), 44);
}

/// Two channels of an input for one output that other inputs want as well: one packet of each in turn.
TEST_F(Crossbar, channels_of_an_input_take_turns) {
  keep_received(true);
  const auto others = [this] {
    for (std::size_t in = 1; in < 5; ++in) {
      while (waiting_[in].size() < 2) send(in, packet(to(5), in, 8));
    }
  };
  for (int i = 0; i < 200; ++i) {
    others();
    cycle();
  }
  received_.clear();
  for (const std::size_t traffic_class : {1U, 3U}) {
    for (int i = 0; i < 10; ++i) send(0, packet(to(5, traffic_class), 0, 1));
  }
  std::vector<std::size_t> order;
  std::size_t seen = 0;
  run([&] {
    others();
    for (; seen < received_.size(); ++seen) {
      const Start start = Start::of(received_[seen].packet.front().data);
      if ((start.vpid & 15) == 0) order.push_back(start.traffic_class);
    }
    return order.size() == 20;
  });
  std::size_t same = 0;
  for (std::size_t i = 1; i < order.size(); ++i) same += order[i] == order[i - 1];
  EXPECT_LE(same, 5U);
  finish();
}

/// A link is only chosen if it has credits itself, however short its queue is, and whatever other outputs have.
TEST_F(Crossbar, adaptive_packets_avoid_an_output_without_credits) {
  constexpr std::size_t kLast = kVcs - 1;
  for (const std::size_t link : {1U, 5U}) {
    restart(link + 1);
    const std::size_t other = (link + 1) % kLinks;
    // Input 1 uses the credits of class 0 on the last channel.
    hold(kUnits + link, true);
    for (int i = 0; i < 40; ++i) send(1, packet(to(kUnits + link, 0, 0, kLast), 1, kMaxPayload));
    settle(100);
    const std::uint64_t node = 0x1400 | 77;
    configure(Local, 77, static_cast<std::uint32_t>(other << 2 << 6 | 1U << link | 1U << other));
    checks_ = false;
    keep_received(true);
    for (std::size_t i = 0; i < 20; ++i) {
      send(0, packet({.node = node}, 0, 1));
      settle(40);
    }
    std::uint64_t adaptive = 0;
    for (const Received& each : received_) adaptive += each.out == kUnits + other && each.channel == kLast;
    EXPECT_EQ(adaptive, 20U) << "link " << link;

    // All units have none left, the link has.
    restart(link + 1);
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      hold(unit, true);
      for (int i = 0; i < 20; ++i) send(unit + 1, packet(to(unit, 0, kLast), unit + 1, kMaxPayload));
    }
    settle(100);
    configure(Local, 77, static_cast<std::uint32_t>(other << 2 << 6 | 1U << link));
    checks_ = false;
    keep_received(true);
    for (std::size_t i = 0; i < 20; ++i) {
      send(0, packet({.node = node}, 0, 1));
      settle(40);
    }
    adaptive = 0;
    for (const Received& each : received_) adaptive += each.out == kUnits + link && each.channel == kLast;
    EXPECT_EQ(adaptive, 20U) << "link " << link;
  }
}

/// One flow, packets for random outputs at a load that leaves outputs time: they leave in the simulator's order.
TEST_F(Crossbar, outputs_send_in_the_order_of_the_simulator) {
  using namespace network;
  const auto topology = network::testing::topology_of({.shape = Shape::Single, .hosts = kPorts});
  const auto router = TableRouter::shortest(topology);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    restart(seed);
    keep_received(true);
    std::vector<std::vector<Offer>> offers(kPorts);
    std::array<std::vector<std::pair<std::uint64_t, Packet>>, kPorts> mine;
    for (std::size_t in = 0; in < kPorts; ++in) {
      std::uint64_t at = 100 + random_.below(200);
      for (std::size_t i = 0; i < 100; ++i) {
        const std::size_t out = random_.below(kPorts);
        const std::size_t cells = 1 + random_.below(8);
        offers[in].push_back(
            {.at = at, .target = static_cast<HostId>(out), .payload = static_cast<std::uint32_t>(8 * cells)});
        mine[in].emplace_back(at, packet(to(out), in, cells));
        at += 20 + random_.below(kGap);
      }
    }
    SimulationOptions options;
    options.node.packet_cycles = 4;
    options.node.route_cycles = 9;
    network::testing::ListSource source(std::move(offers));
    Simulation simulation(topology, *router, {}, &source, options);
    std::array<std::vector<std::size_t>, kPorts> theirs;
    simulation.on_delivery([&](const network::Packet& each, HostId host) { theirs[host].push_back(each.source); });
    ASSERT_EQ(simulation.run(kNever), End::Idle);

    const std::uint64_t zero = cycles();
    std::array<std::size_t, kPorts> next{};
    run([&] {
      bool all = true;
      for (std::size_t in = 0; in < kPorts; ++in) {
        if (next[in] < mine[in].size() && zero + mine[in][next[in]].first <= cycles())
          send(in, mine[in][next[in]++].second);
        all = all && next[in] == mine[in].size();
      }
      return all && due_ == 0 && is_quiet();
    });
    std::array<std::vector<std::size_t>, kPorts> ours;
    for (const Received& each : received_) ours[each.out].push_back(Start::of(each.packet.front().data).vpid & 15);
    for (std::size_t out = 0; out < kPorts; ++out)
      EXPECT_EQ(ours[out], theirs[out]) << "output " << out << ", seed " << seed;
    if (HasFailure()) return;
  }
}

/// Input 0 sends to one output without a gap, input 1 to another one, half a packet later: the second output is never
/// free when input 0 is. What input 0 has for it leaves all the same.
TEST_F(Crossbar, an_input_is_served_though_it_is_never_free_together_with_the_output) {
  const auto feed = [this] {
    for (std::size_t in = 0; in < 2; ++in) {
      while (waiting_[in].size() < 2) send(in, packet(to(5 + in), in, kMaxPayload));
    }
  };
  const auto runs = [&](const auto& until) {
    run([&] {
      feed();
      return until();
    });
  };
  // Packets in the stores, so that both go on without a gap.
  hold(5, true);
  hold(6, true);
  runs([this] { return !bank_.can_send(0, 0, kMostSlots) && !bank_.can_send(1, 0, kMostSlots); });
  hold(5, false);
  const auto before = arrived_;
  runs([&] { return arrived_[5] == before[5] + 1; });
  const std::uint64_t half = cycles() + kMaxPayload / 2;
  runs([&] { return cycles() == half; });
  hold(6, false);
  runs([&] { return arrived_[6] >= before[6] + 100; });
  ASSERT_FALSE(HasFailure());

  const std::uint64_t begin = arrived_[6];
  keep_received(true);
  send(0, packet(to(6), 0, 1));
  runs([&] {
    return arrived_[6] > begin + 1'000 ||
           (!received_.empty() && received_.back().out == 6 && received_.back().packet.size() == 3);
  });
  EXPECT_LT(arrived_[6] - begin, 300U) << "packets of the other input went before";
  finish();
}

TEST_F(Crossbar, goes_on_after_a_reset_in_the_middle) {
  for (int turn = 0; turn < 20; ++turn) {
    load(200 + random_.below(200), kMaxPayload);
    reset();
    ASSERT_FALSE(HasFailure());
  }
  load(500, kMaxPayload);
  finish();
  check_room();
}

}  // namespace
}  // namespace stopbit::sim
