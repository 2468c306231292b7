#include "crossbar_bench.hpp"
#include "tests/lib/form.hpp"
#include "tests/unit/lab/network/fixture.hpp"

namespace stopbit::sim {
namespace {

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
      offers[in].push_back({.at = 0, .target = static_cast<HostId>(out), .payload = static_cast<std::uint32_t>(8 * cells)});
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
}

TEST_F(Crossbar, loses_doubles_and_overtakes_nothing_under_random_load) {
  struct Load {
    std::uint32_t stall_in;
    std::uint32_t stall_freeing;
    std::size_t most_cells;
    std::uint64_t share;  // of the packets, percent
  };
  const std::uint64_t packets = by_form<std::uint64_t>(20'000, 1'000'000, 10'000'000);
  for (const Load load : {Load{0, 0, 2, 60}, Load{0, 0, 32, 15}, Load{30, 0, 8, 10}, Load{0, 80, 8, 10}, Load{70, 60, 32, 5}}) {
    set_stalls(load.stall_in, load.stall_freeing);
    this->load(packets * load.share / 100, load.most_cells);
    finish();
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(sent_ >= packets, true);
  for (const Events& events : events_) EXPECT_TRUE(events == Events());
}

TEST_F(Crossbar, goes_on_after_a_reset_in_the_middle) {
  for (int turn = 0; turn < 20; ++turn) {
    load(200 + random_.below(200), kMaxPayload);
    reset();
    ASSERT_FALSE(HasFailure());
  }
  load(500, kMaxPayload);
  finish();
}

}  // namespace
}  // namespace stopbit::sim
