#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/nic/link/services.hpp"
#include "host/nic/msg/message_unit.hpp"
#include "host/nic/transport/simulated/simulated_network.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::nic::simulated_test {

network::Plan torus(std::uint32_t side) {
  network::Plan plan;
  plan.topology = {.shape = network::Shape::Grid, .extent = {side, side}, .wraps = true};
  plan.simulation.node.vcs = 2;
  return plan;
}

std::unique_ptr<SimulatedNetwork> network_of(const network::Plan& plan) {
  auto made = SimulatedNetwork::make(plan);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.message());
  return std::move(made).value();
}

TEST(SimulatedNetwork, a_frame_takes_the_time_of_its_packets) {
  const auto network = network_of(torus(4));
  const std::vector<std::byte> frame(600, std::byte{7});  // 256, 256, 88 bytes: 34, 34 and 13 cells
  ASSERT_TRUE(network->port(0).send(5, frame));
  // Two links and three switches of 16 cycles, host links of 1, at 5 ns a cycle; the last packet leaves after 68.
  constexpr std::uint64_t kCycles = 2 * 1 + 3 * 16 + 2 * 4 + 68 + 13;
  std::array<std::byte, 4096> into{};
  network->set_time((kCycles - 1) * 5);
  EXPECT_EQ(network->port(5).receive(into), 0U);
  network->set_time(kCycles * 5);
  EXPECT_EQ(network->port(5).receive(into), 600U);
  EXPECT_TRUE(std::equal(frame.begin(), frame.end(), into.begin()));
  EXPECT_EQ(network->port(5).sender(), NodeId{0});
  EXPECT_EQ(network->port(5).receive(into), 0U);
}

TEST(SimulatedNetwork, idle_time_passes_before_the_next_frame) {
  const auto network = network_of(torus(4));
  const std::array<std::byte, 8> frame{};
  std::array<std::byte, 64> into{};
  network->set_time(1'000'000);
  ASSERT_TRUE(network->port(0).send(1, frame));
  network->set_time(1'000'100);
  EXPECT_EQ(network->port(1).receive(into), 0U);
  network->set_time(1'001'000);
  EXPECT_EQ(network->port(1).receive(into), 8U);
}

TEST(SimulatedNetwork, a_node_with_too_many_frames_under_way_has_no_room) {
  const auto network = network_of(torus(2));
  const std::array<std::byte, 8> frame{};
  std::size_t sent = 0;
  while (network->port(0).send(3, frame)) ++sent;
  EXPECT_EQ(sent, SimulatedNetwork::kFramesOfNode);
  network->set_time(1'000'000);
  EXPECT_TRUE(network->port(0).send(3, frame));
}

TEST(SimulatedNetwork, nodes_may_be_some_of_the_hosts_and_others_delay_their_frames) {
  network::Plan plan = torus(8);
  plan.traffic.pattern.load = 0.4;
  const auto latency = [&](bool has_traffic) {
    SimulatedOptions options;
    options.hosts = {5, 60, 33};
    options.has_traffic = has_traffic;
    auto made = SimulatedNetwork::make(plan, options);
    EXPECT_TRUE(made.ok());
    SimulatedNetwork& network = *made.value();
    EXPECT_EQ(network.port(0).nodes(), 3U);
    const std::array<std::byte, 256> frame{};
    std::array<std::byte, 256> into{};
    std::uint64_t now = 0;
    std::uint64_t sum = 0;
    for (int i = 0; i < 50; ++i) {
      network.set_time(now += 10'000);
      EXPECT_TRUE(network.port(2).send(1, frame));
      const std::uint64_t sent = now;
      while (network.port(1).receive(into) == 0 && now < sent + 1'000'000) network.set_time(now += 5);
      EXPECT_EQ(network.port(1).sender(), NodeId{2});
      sum += now - sent;
    }
    std::array<std::byte, 256> other{};
    EXPECT_EQ(network.port(0).receive(other), 0U);  // packets of the other hosts are no frames
    return sum;
  };
  EXPECT_GT(latency(true), latency(false));
}

TEST(SimulatedNetwork, refuses_hosts_that_do_not_exist_or_have_two_nodes) {
  SimulatedOptions options;
  options.hosts = {0, 4};
  EXPECT_EQ(SimulatedNetwork::make(torus(2), options).message(), "host 4 does not exist");
  options.hosts = {3, 1, 3};
  EXPECT_EQ(SimulatedNetwork::make(torus(2), options).message(), "two nodes are host 3");
}

TEST(SimulatedNetwork, damaged_frames_are_lost) {
  network::Plan plan = torus(2);
  plan.simulation.link.bit_error_rate = 0.001;
  plan.simulation.link.retransmits = false;
  const auto network = network_of(plan);
  const std::array<std::byte, 256> frame{};
  std::array<std::byte, 256> into{};
  int arrived = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(network->port(0).send(1, frame));
    network->set_time(static_cast<std::uint64_t>(i + 1) * 10'000);
    arrived += network->port(1).receive(into) != 0 ? 1 : 0;
  }
  EXPECT_GT(arrived, 2);  // (1 - 0.001)^2176 = 11 %
  EXPECT_LT(arrived, 60);
}

/// A node with one port, of the parts that messages need.
struct MessageNode {
  explicit MessageNode(Transport& transport)
      : links(transport, LinkOptions{}), unit(links, ports, transport.node(), transport.nodes()) {
    services.attach(Service::Message, unit);
    memory.set_state(PortState::Enabled);
    EXPECT_TRUE(ports.open(0, memory.page(), 7));
    EXPECT_TRUE(unit.open(0, memory.page(), {}));
    reader.emplace(memory.page(), Priority::Low);
  }

  Links links;
  Ports ports{1};
  MessageUnit unit;
  Services services;
  PageMemory memory;
  std::optional<MailboxReader> reader;
};

TEST(SimulatedNetwork, messages_of_256_nodes_arrive_each_once) {
  constexpr std::size_t kNodes = 256;
  const auto network = network_of(torus(16));
  std::vector<std::unique_ptr<MessageNode>> nodes;
  for (std::size_t i = 0; i < kNodes; ++i) {
    nodes.push_back(std::make_unique<MessageNode>(network->port(static_cast<NodeId>(i))));
  }
  std::uint64_t now = 0;
  std::vector<int> got(kNodes);
  std::array<std::byte, kMaxMessageBytes> into{};
  const auto target = [](std::size_t from) { return (from * 37 + 11) % kNodes; };  // a permutation
  for (std::size_t i = 0; i < kNodes; ++i) {
    MessageUnit::Message message;
    message.node = static_cast<NodeId>(target(i));
    const std::string words = "from " + std::to_string(i);
    const MessageUnit::Sending sending = nodes[i]->unit.send(0, message, std::as_bytes(std::span(words)), now);
    EXPECT_EQ(sending.outcome, MessageUnit::Outcome::Sent);
  }
  const auto all_have = [&] { return std::all_of(got.begin(), got.end(), [](int count) { return count != 0; }); };
  while (!all_have() && now < 100'000'000) {
    network->set_time(now += 1'000);
    for (std::size_t i = 0; i < kNodes; ++i) {
      (void)nodes[i]->links.step(nodes[i]->services, now);
      (void)nodes[i]->unit.step(now);
      const auto head = nodes[i]->reader->poll(into);
      if (!head) continue;
      ++got[i];
      const std::string words(reinterpret_cast<const char*>(into.data()), head->length);
      EXPECT_EQ(target(static_cast<std::size_t>(std::stoi(words.substr(5)))), i);
    }
  }
  EXPECT_EQ(got, std::vector<int>(kNodes, 1));
  EXPECT_GT(network->counts().link_packets, kNodes);
  rusage usage{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  std::printf("256 nodes: %ld MiB touched\n", usage.ru_maxrss / 1024);
  EXPECT_LT(usage.ru_maxrss, 8L << 20);  // KiB
}

}  // namespace stopbit::nic::simulated_test
