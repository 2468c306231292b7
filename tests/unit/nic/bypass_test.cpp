// Commands of a port that overtake a long transfer, and commands that wait for it.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "host/nic/msg/mailbox.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/notify/ring.hpp"
#include "host/nic/rma/memory.hpp"
#include "host/nic/transport/model/network.hpp"
#include "tests/nic/host.hpp"

namespace stopbit::nic::bypass_test {

constexpr std::size_t kPages = 256;
constexpr std::uint32_t kBytes = kPages * kPageBytes;

/// A port of a node, with memory and a window on all of it.
struct End {
  explicit End(Node& of) : node(of), memory(kPages) {
    vpid = node.open_port(pages.page(), 0, {}).value_or(0);
    std::vector<PageNumber> numbers;
    for (std::size_t i = 0; i < kPages; ++i) {
      numbers.push_back(to_page_number(memory.bytes().data() + i * kPageBytes));
    }
    memory.nla = node.atu().register_pages(vpid, numbers, Access::ReadWrite).value_or(0);
    window = node.rma().open_window(vpid, memory.nla, kBytes, Access::ReadWrite).value_or(WindowName{});
  }
  [[nodiscard]] Reply issue(CommandRing ring, const Command& command) {
    return CommandQueue(pages.page(), ring).insert({&command, 1}).reply;
  }

  Node& node;
  PageMemory pages;
  Registered memory;
  Vpid vpid = 0;
  WindowName window;
};

struct Pair {
  Pair() : network(ModelOptions{}), near_node(network.port(0), {}), far_node(network.port(1), {}) {
    std::fill(near.memory.bytes().begin(), near.memory.bytes().end(), std::byte{7});
  }
  void step() {
    network.set_time(now += 1000);
    (void)near_node.step(now);
    (void)far_node.step(now);
  }
  [[nodiscard]] Command put() const {
    Command command;
    command.operation = Operation::Put;
    command.modifiers = kAcknowledge;
    command.target_node = 1;
    command.target_vpid = far.vpid;
    command.window = far.window.id;
    command.capability = far.window.capability;
    command.address = near.memory.nla;
    command.length = kBytes;
    return command;
  }
  [[nodiscard]] Command message() const {
    Command command;
    command.operation = Operation::FastSend;
    command.target_node = 1;
    command.target_vpid = far.vpid;
    command.window = 5;
    std::memcpy(reinterpret_cast<std::byte*>(&command) + kPayloadAt, "hello", 5);
    return command;
  }

  ModelNetwork network;
  Node near_node;
  Node far_node;
  End near{near_node};
  End far{far_node};
  std::uint64_t now = 0;
};

TEST(Bypass, messages_overtake_a_transfer_that_stands_in_its_own_ring) {
  for (const CommandRing ring : {CommandRing::Low, CommandRing::High}) {
    Pair pair;
    ASSERT_EQ(pair.near.issue(CommandRing::Transfer, pair.put()), Reply::NoError);
    for (int i = 0; i < 3; ++i) pair.step();
    ASSERT_TRUE(pair.near_node.rma().is_busy(pair.near.vpid)) << "it is under way";
    ASSERT_EQ(pair.near.issue(ring, pair.message()), Reply::NoError);
    MailboxReader low(pair.far.pages.page(), Priority::Low);
    MailboxReader high(pair.far.pages.page(), Priority::High);
    std::array<std::byte, kMaxMessageBytes> into;
    bool is_there = false;
    for (int i = 0; i < 10'000 && !is_there; ++i) {
      pair.step();
      is_there = low.poll(into) || high.poll(into);
    }
    ASSERT_TRUE(is_there);
    NotificationReader notifications(pair.near.pages.page());
    Notification told;
    EXPECT_FALSE(notifications.take(told)) << "the put is not done";
    EXPECT_EQ(pair.far.memory.bytes().back(), std::byte{0});
    for (int i = 0; i < 100'000 && !notifications.take(told); ++i) pair.step();
    EXPECT_EQ(told.operation, Operation::Put);
    EXPECT_EQ(told.error, Error::None);
    EXPECT_EQ(pair.far.memory.bytes().back(), std::byte{7});
  }
}

TEST(Bypass, a_message_behind_a_transfer_in_a_ring_of_messages_is_sent_after_it) {
  for (const CommandRing ring : {CommandRing::Low, CommandRing::High}) {
    Pair pair;
    ASSERT_EQ(pair.near.issue(ring, pair.put()), Reply::NoError);
    ASSERT_EQ(pair.near.issue(ring, pair.message()), Reply::NoError);
    int busy_steps = 0;
    for (int i = 0; i < 100'000 && pair.near_node.messages().counters().sent == 0; ++i) {
      pair.step();
      if (!pair.near_node.rma().is_busy(pair.near.vpid)) continue;
      ++busy_steps;
      ASSERT_EQ(pair.near_node.messages().counters().sent, 0U) << "the transfer is still being sent";
    }
    EXPECT_GT(busy_steps, 3) << "the transfer takes long";
    EXPECT_EQ(pair.near_node.messages().counters().sent, 1U);
  }
}

}  // namespace stopbit::nic::bypass_test
