// Messages of parts that their sender does not finish, from one node to another over a network that does everything
// wrong: the receiver gets them as erroneous.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/nic/node/node.hpp"
#include "host/nic/transport/model/network.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::nic::parts_test {

constexpr Pdid kDomain = 7;

struct TestPort {
  PageMemory memory;
  Vpid vpid = 0;
  CommandQueue low{memory.page(), CommandRing::Low};
  NotificationReader notifications{memory.page()};
};

class Parts : public ::testing::Test {
 protected:
  Parts() : network(bad()) {
    for (NodeId i = 0; i < 2; ++i) {
      node.push_back(std::make_unique<Node>(network.port(i), options()));
      ports.push_back(std::make_unique<TestPort>());
      ports[i]->vpid = node[i]->open_port(ports[i]->memory.page(), kDomain, {}).value();
    }
    mailbox.emplace(ports[1]->memory.page(), Priority::Low);
  }
  static ModelOptions bad() {
    ModelOptions options;
    options.line.loss = {0.05, 2};
    options.line.duplicate = 0.05;
    options.line.reorder = 0.1;
    options.line.reorder_depth = 10;
    options.line.corrupt = 0.02;
    return options;
  }
  static NodeOptions options() {
    NodeOptions options;
    options.ports = 4;
    options.combine_patience_ns = 100'000;
    return options;
  }
  void run(std::uint64_t microseconds) {
    for (const std::uint64_t end = now + microseconds * 1'000; now < end;) {
      network.set_time(now += 1'000);
      for (const auto& each : node) (void)each->step(now);
    }
  }
  /// Bytes 40 * `number` up to the next 40 of a message of 200 bytes.
  void send_part(std::uint8_t message, std::uint16_t number, std::uint8_t modifiers = 0) {
    Command command;
    command.operation = Operation::SendPart;
    command.modifiers = modifiers;
    command.target_node = 1;
    command.target_vpid = ports[1]->vpid;
    command.window = 40;
    command.tag = to_tag({message, message, static_cast<std::uint16_t>(number * 40), 200, 1});
    std::memset(reinterpret_cast<std::byte*>(&command) + kPayloadAt, 'a' + number, 40);
    ASSERT_EQ(ports[0]->low.insert({&command, 1}).reply, Reply::NoError);
  }
  void send_whole(std::uint8_t message) {
    for (std::uint16_t number = 5; number-- > 0;) send_part(message, number);
  }
  /// Tags of the messages that came whole.
  std::vector<int> received() {
    std::vector<int> tags;
    while (const auto head = mailbox->poll(into)) tags.push_back(head->tag);
    return tags;
  }
  static std::optional<Notification> notification(TestPort& port) {
    Notification taken;
    if (!port.notifications.take(taken)) return std::nullopt;
    return taken;
  }

  ModelNetwork network;
  std::vector<std::unique_ptr<TestPort>> ports;
  std::vector<std::unique_ptr<Node>> node;
  std::optional<MailboxReader> mailbox;
  std::array<std::byte, kMaxMessageBytes> into{};
  std::uint64_t now = 0;
};

using Tags = std::vector<int>;

TEST_F(Parts, of_a_message_that_its_sender_aborts_reach_the_receiver_as_erroneous) {
  send_part(1, 0, kNotifyCompleter);
  send_part(1, 1);
  send_whole(2);
  send_part(1, 2, kAbort);
  send_whole(3);
  run(20'000);
  EXPECT_EQ(received(), (Tags{2, 3}));
  EXPECT_EQ(mailbox->erroneous(), 1U);
  ASSERT_TRUE(mailbox->cut());
  EXPECT_EQ(mailbox->cut()->tag, 1);
  EXPECT_EQ(mailbox->cut()->type, 1);
  EXPECT_EQ(mailbox->cut()->length, 80);
  EXPECT_EQ(mailbox->cut()->vpid, ports[0]->vpid);
  const auto told = notification(*ports[1]);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->teller, Teller::Completer);
  EXPECT_EQ(told->error, Error::Truncated);
  EXPECT_FALSE(notification(*ports[0])) << "it knows";
}

TEST_F(Parts, that_do_not_come_in_time_end_their_message_and_both_are_told) {
  send_part(1, 0);
  send_part(1, 3);
  send_part(9, 2);  // no port learns for whom this was
  run(20'000);      // no other command gives the occasion
  EXPECT_EQ(received(), Tags{});
  EXPECT_EQ(mailbox->erroneous(), 1U);
  ASSERT_TRUE(mailbox->cut());
  EXPECT_EQ(mailbox->cut()->length, 160);
  const auto told = notification(*ports[0]);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->teller, Teller::Requester);
  EXPECT_EQ(told->operation, Operation::SendPart);
  EXPECT_EQ(told->error, Error::Truncated);
  EXPECT_EQ(told->tag & 0xFFU, 1U);
  EXPECT_FALSE(notification(*ports[0]));
  send_whole(2);
  run(20'000);
  EXPECT_EQ(received(), Tags{2});
  EXPECT_EQ(mailbox->erroneous(), 1U);
  EXPECT_TRUE(node[0]->is_idle());
}

TEST_F(Parts, of_a_port_that_is_closed_in_the_middle_reach_the_receiver_as_erroneous) {
  send_whole(1);
  send_part(2, 0);
  send_part(2, 1);
  run(50);
  node[0]->close_port(ports[0]->vpid);
  run(20'000);
  EXPECT_EQ(received(), Tags{1});
  EXPECT_EQ(mailbox->erroneous(), 1U);
  ASSERT_TRUE(mailbox->cut());
  EXPECT_EQ(mailbox->cut()->tag, 2);
}

TEST_F(Parts, to_a_node_that_takes_nothing_wait_and_lose_none_of_what_stands_behind) {
  // More cut messages than a window has places, while the other node is stopped.
  std::size_t cut = 0;
  std::size_t whole = 0;
  for (int round = 0; round < 60; ++round) {
    send_part(static_cast<std::uint8_t>(2 * round), 0);
    ++cut;
    for (std::uint16_t number = 0; number < 5; ++number) {
      send_part(static_cast<std::uint8_t>(2 * round + 1), number);
    }
    ++whole;
    for (int i = 0; i < 200; ++i) (void)node[0]->step(now += 1'000);
    if (round % 10 == 9) {
      std::size_t got = 0;
      const std::uint64_t before = mailbox->erroneous();
      for (int i = 0; i < 200; ++i) {
        run(200);
        got += received().size();
      }
      EXPECT_EQ(got, 10U) << round;
      EXPECT_EQ(mailbox->erroneous() - before, 10U) << round;
    }
    while (notification(*ports[0])) {
    }
  }
  EXPECT_EQ(mailbox->erroneous(), cut);
  EXPECT_EQ(node[1]->messages().counters().delivered, cut + whole);
}

TEST_F(Parts, are_the_only_ones_that_can_be_aborted) {
  Command command;
  command.operation = Operation::FastSend;
  command.modifiers = kAbort;
  command.target_node = 1;
  command.target_vpid = ports[1]->vpid;
  command.window = 5;
  ASSERT_EQ(ports[0]->low.insert({&command, 1}).reply, Reply::NoError);
  send_part(7, 0, kAbort);  // there is no such message
  run(20'000);
  EXPECT_FALSE(mailbox->poll(into));
  EXPECT_EQ(mailbox->erroneous(), 0U);
  for (int i = 0; i < 2; ++i) {
    const auto told = notification(*ports[0]);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->error, Error::Command);
  }
}

}  // namespace stopbit::nic::parts_test
