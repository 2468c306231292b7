#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "host/nic/msg/mailbox.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "host/nic/transport/model/network.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::nic::rest_test {

constexpr std::size_t kPorts = 100;
constexpr std::uint64_t kRestNs = 1'000'000;

/// A node with many ports; port 0 reads.
class Resting : public ::testing::Test {
 protected:
  struct Port {
    PageMemory memory;
    Vpid vpid = 0;
    std::optional<CommandQueue> queue;
  };

  Resting() {
    for (std::size_t i = 0; i < kPorts; ++i) open();
    reader_.emplace(ports_[0].memory.page(), Priority::Low);
  }

  Port& open() {
    Port& port = ports_.emplace_back();
    const std::optional<Vpid> vpid = node_.open_port(port.memory.page(), 7, {});
    EXPECT_TRUE(vpid.has_value());
    port.vpid = vpid.value_or(0);
    port.queue.emplace(port.memory.page());
    return port;
  }
  /// Until no port has issued a command for long enough.
  void rest() {
    for (std::size_t i = 0; i < 2 * kPorts; ++i) step(kRestNs);
  }
  void step(std::uint64_t by_ns = 10) { (void)node_.step(now_ += by_ns); }
  /// A message to port 0 with the sender's number in it.
  [[nodiscard]] bool send(std::size_t from) {
    Command command;
    command.operation = Operation::FastSend;
    command.target_vpid = ports_[0].vpid;
    command.window = sizeof(from);
    std::memcpy(reinterpret_cast<std::byte*>(&command) + kPayloadAt, &from, sizeof(from));
    return ports_[from].queue->insert({&command, 1}).accepted == 1;
  }
  /// The senders of the messages that have arrived.
  std::vector<std::size_t> received() {
    std::vector<std::size_t> senders;
    std::array<std::byte, kMaxMessageBytes> into;
    while (const auto head = reader_->poll(into)) {
      std::size_t from = 0;
      std::memcpy(&from, into.data(), sizeof(from));
      EXPECT_EQ(head->vpid, ports_[from].vpid);
      senders.push_back(from);
    }
    return senders;
  }

  static NodeOptions options() {
    NodeOptions options;
    options.ports = 2 * kPorts;
    options.rest_ns = kRestNs;
    return options;
  }
  static ModelOptions one_node() {
    ModelOptions options;
    options.nodes = 1;
    return options;
  }
  ModelNetwork network_{one_node()};
  Node node_{network_.port(0), options()};
  std::deque<Port> ports_;
  std::optional<MailboxReader> reader_;
  std::uint64_t now_ = 0;
};

TEST_F(Resting, ports_are_heard_within_a_round_and_at_once_from_then_on) {
  rest();
  for (std::size_t from = 1; from < kPorts; ++from) {
    ASSERT_TRUE(send(from));
    std::size_t steps = 0;
    for (; received().empty(); ++steps) {
      ASSERT_LE(steps, kPorts / 16 + 1) << "port " << from;
      step();
    }
    ASSERT_TRUE(send(from));
    step();
    EXPECT_EQ(received(), std::vector<std::size_t>{from});
  }
}

TEST_F(Resting, ports_lose_nothing_beside_one_that_asks_in_every_step) {
  rest();
  std::map<std::size_t, std::size_t> heard;
  for (std::size_t from = 2; from < kPorts; ++from) ASSERT_TRUE(send(from));
  for (std::size_t i = 0; i < 2 * (kPorts / 16 + 1); ++i) {
    (void)send(1);
    step();
    for (const std::size_t from : received()) ++heard[from];
  }
  EXPECT_EQ(heard.size(), kPorts - 1);
  for (std::size_t from = 2; from < kPorts; ++from) EXPECT_EQ(heard[from], 1U) << "port " << from;
}

TEST_F(Resting, ports_are_found_while_others_are_opened_closed_and_disabled) {
  for (std::size_t round = 0; 7 * (round + 1) < kPorts; ++round) {
    rest();
    // Every seventh is opened anew by and by, every fifth is disabled for a while.
    const std::size_t closed = 7 * (round + 1);
    node_.close_port(ports_[closed].vpid);
    const std::optional<Vpid> vpid = node_.open_port(ports_[closed].memory.page(), 7, {});
    ASSERT_TRUE(vpid.has_value());
    ports_[closed].vpid = *vpid;
    std::vector<std::size_t> senders;
    for (std::size_t from = round % 3 + 1; from < kPorts && senders.size() < PageLayout::kMailboxSlots; from += 3) {
      if (from % 7 == 0) continue;  // its ring has counted on, which the new port's node does not know
      ASSERT_TRUE(send(from));
      senders.push_back(from);
      node_.enable_port(ports_[from].vpid, from % 5 != 0);
    }
    std::vector<std::size_t> heard;
    for (std::size_t i = 0; i < kPorts / 16 + 2; ++i) {
      step();
      for (const std::size_t from : received()) heard.push_back(from);
    }
    for (const std::size_t from : senders) node_.enable_port(ports_[from].vpid, true);
    rest();
    for (const std::size_t from : received()) {
      EXPECT_EQ(from % 5, 0U);
      heard.push_back(from);
    }
    std::sort(heard.begin(), heard.end());
    EXPECT_EQ(heard, senders);
  }
}

}  // namespace stopbit::nic::rest_test
