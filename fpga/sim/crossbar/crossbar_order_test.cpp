#include <iterator>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "crossbar_bench.hpp"
#include "tests/lib/form.hpp"
#include "tests/unit/lab/network/fixture.hpp"

/// The order of packets of several inputs, outputs, classes and channels at once, beside the simulated network.
namespace stopbit::sim {
namespace {

using network::HostId;
using network::SwitchId;

/// The crossbar as switch 0, its inputs as hosts 0 to 9. Outputs to units are hosts 0 to 3. Each link leads to a chain
/// of three switches; a packet to one of these leaves on channel 0, 1 or 2.
class Neighbours {
 public:
  Neighbours() : router_(network::TableRouter::shortest(topology_)) {
    for (SwitchId at = 0; at < topology_.switches(); ++at) {
      for (SwitchId to = 1; to < topology_.switches(); ++to) {
        if (to != at) router_->set(at, to, router_->entry(at, to).port, static_cast<std::uint8_t>((to - 1) % kVcs));
      }
    }
  }
  [[nodiscard]] const network::Topology& topology() const { return topology_; }
  [[nodiscard]] const network::Router& router() const { return *router_; }
  [[nodiscard]] HostId input(std::size_t in) const { return topology_.peer(0, static_cast<std::uint32_t>(in)).number; }
  [[nodiscard]] HostId host(std::size_t out, std::size_t vc) const {
    if (out >= kUnits) return topology_.host_of(static_cast<SwitchId>(1 + kVcs * (out - kUnits) + vc));
    return input(out);
  }
  [[nodiscard]] std::size_t output(HostId host) const {
    const network::Place place = topology_.place(host);
    return place.at == 0 ? place.port : kUnits + (place.at - 1) / kVcs;
  }

 private:
  static network::TopologyPlan plan() {
    network::TopologyPlan plan{.shape = network::Shape::Graph, .hosts = kPorts, .nodes = 1 + kLinks * kVcs};
    for (std::uint32_t i = 0; i < kLinks; ++i) {
      plan.links.emplace_back(0, 1 + kVcs * i);
      plan.links.emplace_back(1 + kVcs * i, 2 + kVcs * i);
      plan.links.emplace_back(2 + kVcs * i, 3 + kVcs * i);
    }
    return plan;
  }
  network::Topology topology_ = network::testing::topology_of(plan());
  std::unique_ptr<network::TableRouter> router_;
};

struct Sent {
  std::uint64_t at = 0;
  std::size_t out = 0;
  std::size_t traffic_class = 0;
  std::size_t vc = 0;
  std::size_t cells = 0;
};
struct Came {
  std::size_t in = 0;
  std::size_t number = 0;  ///< Of the packets of this input.
  bool operator==(const Came&) const = default;
};
void PrintTo(const Came& came, std::ostream* out) {
  *out << came.in << ":" << came.number;
}
using Flow = std::tuple<std::size_t, std::size_t, std::size_t>;  ///< Output, class, channel.
using Orders = std::map<Flow, std::vector<Came>>;

class CrossbarOrder : public CrossbarTest {
 protected:
  /// Packets of all inputs to all outputs, of all classes and channels, with up to `gap` cycles between their times.
  std::vector<std::vector<Sent>> traffic(std::size_t packets, std::uint64_t gap, std::size_t most_cells) {
    std::vector<std::vector<Sent>> all(kPorts);
    for (auto& mine : all) {
      std::uint64_t at = 100;
      for (std::size_t i = 0; i < packets; ++i) {
        at += 1 + random_.below(gap);
        Sent sent{.at = at,
                  .out = random_.below(kPorts),
                  .traffic_class = random_.below(kClasses),
                  .cells = 1 + random_.below(most_cells)};
        if (sent.out >= kUnits) sent.vc = random_.below(kVcs);
        mine.push_back(sent);
      }
    }
    return all;
  }
  Orders simulated(const std::vector<std::vector<Sent>>& all) {
    network::SimulationOptions options;
    options.node.packet_cycles = 4;
    options.node.route_cycles = 9;
    options.node.classes = kClasses;
    options.node.vcs = kVcs;
    std::vector<std::vector<network::Offer>> offers(neighbours_.topology().hosts());
    std::vector<std::map<std::uint64_t, std::size_t>> numbers(kPorts);
    for (std::size_t in = 0; in < kPorts; ++in) {
      for (const Sent& sent : all[in]) {
        numbers[in].emplace(sent.at, numbers[in].size());
        offers[neighbours_.input(in)].push_back({.at = sent.at,
                                                 .target = neighbours_.host(sent.out, sent.vc),
                                                 .payload = static_cast<std::uint32_t>(8 * sent.cells),
                                                 .traffic_class = static_cast<std::uint8_t>(sent.traffic_class)});
      }
    }
    network::testing::ListSource source(std::move(offers));
    network::Simulation simulation(neighbours_.topology(), neighbours_.router(), {}, &source, options);
    Orders orders;
    simulation.on_delivery([&](const network::Packet& each, HostId host) {
      const std::size_t in = neighbours_.topology().place(each.source).port;
      orders[{neighbours_.output(host), each.traffic_class, each.vc}].push_back({in, numbers[in].at(each.created)});
    });
    EXPECT_EQ(simulation.run(network::kNever), network::End::Idle);
    return orders;
  }
  Orders measured(const std::vector<std::vector<Sent>>& all) {
    keep_received(true);
    const std::uint64_t zero = cycles();
    std::array<std::size_t, kPorts> next{};
    const auto all_came = [&] {
      bool done = true;
      for (std::size_t in = 0; in < kPorts; ++in) {
        while (next[in] < all[in].size() && zero + all[in][next[in]].at <= cycles()) {
          const Sent& sent = all[in][next[in]];
          // The packets of a flow come on one channel: others may overtake each other.
          const std::size_t vc_in = sent.out < kUnits ? 0 : (sent.vc + in) % kVcs;
          Packet made = packet(to(sent.out, sent.traffic_class, vc_in, sent.vc), in, sent.cells);
          made[1].data = next[in]++;
          send(in, std::move(made));
        }
        done = done && next[in] == all[in].size();
      }
      return done && due_ == 0 && is_quiet();
    };
    run(all_came, 300'000 + 200 * kPorts * all[0].size());
    Orders orders;
    for (const Received& each : received_) {
      const Start start = Start::of(each.packet.front().data);
      orders[{each.out, start.traffic_class, start.vc}].push_back({start.vpid & 15, each.packet[1].data});
    }
    return orders;
  }
  static std::vector<Came> of_input(const std::vector<Came>& order, std::size_t in) {
    std::vector<Came> mine;
    std::copy_if(order.begin(), order.end(), std::back_inserter(mine), [&](const Came& came) { return came.in == in; });
    return mine;
  }
  /// Pairs of packets that have the other order, of those whose times differ by `near` cycles or more.
  static std::size_t turned(const std::vector<std::vector<Sent>>& all, const std::vector<Came>& ours,
                            const std::vector<Came>& theirs, std::uint64_t near) {
    const auto time = [&](const Came& came) { return all[came.in][came.number].at; };
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> places;
    for (const Came& came : theirs) places.emplace(std::pair(came.in, came.number), places.size());
    std::size_t turned = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      for (std::size_t j = i + 1; j < ours.size(); ++j) {
        const std::uint64_t apart = std::max(time(ours[i]), time(ours[j])) - std::min(time(ours[i]), time(ours[j]));
        turned += apart >= near && places.at({ours[j].in, ours[j].number}) < places.at({ours[i].in, ours[i].number});
      }
    }
    return turned;
  }

  Neighbours neighbours_;
};

/// At a load that fills the queues: the same packets on each channel of each output, and those of an input in the same
/// order.
TEST_F(CrossbarOrder, flows_of_all_inputs_have_the_packets_and_the_order_of_the_simulator) {
  const auto packets = by_form<std::size_t>(200, 600, 20'000);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    restart(seed);
    set_stalls(seed == 2 ? 30 : 0, seed == 3 ? 60 : 0);
    const auto all = traffic(packets, 12, seed == 1 ? 4 : kMaxPayload);
    const Orders theirs = simulated(all);
    const Orders ours = measured(all);
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(theirs.size(), kClasses * (kUnits + kLinks * kVcs));
    ASSERT_EQ(ours.size(), theirs.size());
    for (const auto& [flow, order] : theirs) {
      const auto& [out, traffic_class, vc] = flow;
      ASSERT_TRUE(ours.contains(flow)) << "output " << out << ", class " << traffic_class << ", channel " << vc;
      EXPECT_EQ(ours.at(flow).size(), order.size());
      for (std::size_t in = 0; in < kPorts; ++in) {
        EXPECT_EQ(of_input(ours.at(flow), in), of_input(order, in))
            << "input " << in << ", output " << out << ", class " << traffic_class << ", channel " << vc;
      }
    }
  }
}

/// At a load that leaves the outputs time, inputs have the simulator's order as well, but for packets that wait
/// together.
TEST_F(CrossbarOrder, inputs_have_the_order_of_the_simulator_unless_they_wait_together) {
  constexpr std::uint64_t kNear = 40;
  for (std::uint64_t seed = 11; seed <= 14; ++seed) {
    restart(seed);
    const auto all = traffic(by_form<std::size_t>(150, 400, 4'000), 220, 8);
    const Orders theirs = simulated(all);
    const Orders ours = measured(all);
    ASSERT_FALSE(HasFailure());
    std::size_t pairs = 0;
    for (const auto& [flow, order] : theirs) {
      const auto& [out, traffic_class, vc] = flow;
      ASSERT_TRUE(ours.contains(flow));
      EXPECT_TRUE(std::is_permutation(order.begin(), order.end(), ours.at(flow).begin(), ours.at(flow).end()));
      EXPECT_EQ(turned(all, ours.at(flow), order, kNear), 0U)
          << "output " << out << ", class " << traffic_class << ", channel " << vc;
      pairs += turned(all, ours.at(flow), order, 0);
    }
    EXPECT_LT(pairs, all.size() * all[0].size() / 200) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stopbit::sim
