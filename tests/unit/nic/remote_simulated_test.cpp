// Rings copied to all nodes of a simulated torus of switches.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>

#include "host/nic/transport/simulated/simulated_network.hpp"
#include "tests/lib/form.hpp"
#include "tests/unit/nic/remote_fixture.hpp"

namespace stopbit::remote::remote_simulated_test {

constexpr std::uint32_t kRecords = 100;
constexpr std::uint64_t kStepNs = 5'000;
constexpr std::uint64_t kPatienceNs = 2'000'000'000;  // of the simulated clock

/// A node of the network, and what it subscribes to.
struct Member {
  explicit Member(nic::Transport& transport) : node(transport, options()) {}
  static nic::NodeOptions options() {
    nic::NodeOptions options;
    options.ports = 300;
    options.link.silence_ns = 100'000'000;
    return options;
  }

  nic::Node node;
  RingName name;
  std::unique_ptr<Subscriber> subscriber;
  std::optional<ring::Reader> reader;
  std::vector<Record> records;
};

/// A square of this side; each link damages a packet now and then, and repeats it.
void run(std::uint32_t side) {
  network::Plan plan;
  plan.topology = {.shape = network::Shape::Grid, .extent = {side, side}, .wraps = true};
  plan.simulation.node.vcs = 2;
  plan.simulation.link.bit_error_rate = 1e-6;
  auto made = nic::SimulatedNetwork::make(plan);
  ASSERT_TRUE(made.ok()) << made.message();
  nic::SimulatedNetwork& network = *made.value();
  const std::size_t nodes = std::size_t{side} * side;

  std::vector<std::unique_ptr<Member>> members;
  for (std::size_t i = 0; i < nodes; ++i) {
    members.push_back(std::make_unique<Member>(network.port(static_cast<nic::NodeId>(i))));
  }
  RingName source;
  PublisherOptions how;
  how.rings = {{"cme", source.get(), ""}};
  how.subscribers = nodes;
  auto opened = Publisher::open(members[0]->node, how);
  ASSERT_TRUE(opened.ok()) << opened.message();
  Publisher& publisher = *opened.value();
  Feed feed(source.get(), market(), 512);
  ring::Reader local = ring::Reader::open(source.get()).value();
  for (std::size_t i = 1; i < nodes; ++i) {
    SubscriberOptions options;
    options.ring = "cme";
    options.name = members[i]->name.get();
    auto subscriber = Subscriber::open(members[i]->node, options);
    ASSERT_TRUE(subscriber.ok()) << subscriber.message();
    members[i]->subscriber = std::move(subscriber).value();
  }

  std::uint64_t now = 0;
  const auto until = [&](const std::function<bool(const Member&)>& has) {
    for (const std::uint64_t end = now + kPatienceNs; now < end;) {
      network.set_time(now += kStepNs);
      bool all = true;
      for (const auto& member : members) {
        (void)member->node.step(now);
        if (member->subscriber == nullptr) continue;
        (void)member->subscriber->step(now);
        all = has(*member) && all;
      }
      (void)publisher.step(now);
      if (all) return true;
    }
    return false;
  };
  ASSERT_TRUE(until([](const Member& member) { return member.subscriber->state() == SubscriberState::Live; }));
  for (std::size_t i = 1; i < nodes; ++i)
    members[i]->reader.emplace(ring::Reader::open(members[i]->name.get()).value());
  for (std::uint32_t i = 0; i < kRecords; ++i) feed.tick(i, "of " + std::to_string(i));
  ASSERT_TRUE(until([](const Member& member) { return member.subscriber->counters().records >= kRecords; }));

  const std::vector<Record> published = read_all(local);
  ASSERT_EQ(published.size(), kRecords);
  std::size_t equal = 0;
  for (std::size_t i = 1; i < nodes; ++i) equal += read_all(*members[i]->reader) == published ? 1 : 0;
  EXPECT_EQ(equal, nodes - 1);
  EXPECT_GT(network.counts().retransmissions, 0U);
  rusage usage{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  std::printf("a ring on %zu nodes: %.1f ms simulated, %llu packets over links, %ld MiB touched\n", nodes,
              static_cast<double>(now) / 1e6, static_cast<unsigned long long>(network.counts().link_packets),
              usage.ru_maxrss / 1024);
  EXPECT_LT(usage.ru_maxrss, 8L << 20);  // KiB
  for (const auto& member : members) member->subscriber.reset();
}

TEST(RemoteSimulated, a_ring_arrives_whole_on_all_nodes_of_a_torus) {
  run(by_form(4, 16));
}

}  // namespace stopbit::remote::remote_simulated_test
