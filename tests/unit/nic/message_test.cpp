#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "host/nic/link/services.hpp"
#include "host/nic/msg/message_unit.hpp"
#include "host/nic/notify/ring.hpp"
#include "host/nic/transport/model/network.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::nic::message_test {

using Outcome = MessageUnit::Outcome;
using Buffer = std::array<std::byte, kMaxMessageBytes>;

constexpr Pdid kDomain = 7;

std::vector<std::byte> text(const std::string& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

/// A port with its memory, as the process that owns it sees it.
struct TestPort {
  explicit TestPort(Vpid number) : vpid(number) { memory.set_state(PortState::Enabled); }

  void read_from(Priority priority) { readers[static_cast<std::size_t>(priority)].emplace(memory.page(), priority); }
  std::string receive(Priority priority = Priority::Low) {
    auto& reader = readers[static_cast<std::size_t>(priority)];
    if (!reader) read_from(priority);
    head = reader->poll(into);
    return head ? std::string(reinterpret_cast<const char*>(into.data()), head->length) : "";
  }
  std::optional<Notification> notification() {
    Notification taken;
    if (!notifications.take(taken)) return std::nullopt;
    return taken;
  }

  Vpid vpid;
  PageMemory memory;
  std::array<std::optional<MailboxReader>, kPriorities> readers;
  NotificationReader notifications{memory.page()};
  std::optional<MessageHead> head;
  Buffer into{};
};

struct TestNode {
  explicit TestNode(Transport& transport)
      : links(transport, LinkOptions{}), unit(links, ports, transport.node(), transport.nodes()) {
    services.attach(Service::Message, unit);
  }
  TestPort& open(Vpid vpid, Pdid domain = kDomain, const MessagePort& how = {}) {
    owned.push_back(std::make_unique<TestPort>(vpid));
    EXPECT_TRUE(ports.open(vpid, owned.back()->memory.page(), domain));
    EXPECT_TRUE(unit.open(vpid, owned.back()->memory.page(), how));
    return *owned.back();
  }

  Links links;
  Ports ports{64};
  MessageUnit unit;
  Services services;
  std::vector<std::unique_ptr<TestPort>> owned;
};

class Messages : public ::testing::Test {
 protected:
  explicit Messages(std::size_t nodes = 3) : network(options_of(nodes)) {
    for (std::size_t i = 0; i < nodes; ++i) {
      node.push_back(std::make_unique<TestNode>(network.port(static_cast<NodeId>(i))));
    }
  }
  static ModelOptions options_of(std::size_t nodes) {
    ModelOptions options;
    options.nodes = nodes;
    options.line.loss = {0.05, 2};
    options.line.duplicate = 0.05;
    options.line.reorder = 0.1;
    options.line.reorder_depth = 10;
    options.line.corrupt = 0.02;
    return options;
  }
  void run(int steps = 3000) {
    for (int i = 0; i < steps; ++i) {
      network.set_time(now += 1000);
      for (auto& each : node) {
        (void)each->links.step(each->services, now);
        (void)each->unit.step(now);
      }
    }
  }
  MessageUnit::Sending send(NodeId from, Vpid port, const MessageUnit::Message& message, const std::string& words) {
    return node[from]->unit.send(port, message, text(words), now);
  }
  static MessageUnit::Message to(NodeId target, Vpid vpid, std::uint64_t tag = 0) {
    MessageUnit::Message message;
    message.node = target;
    message.target = vpid;
    message.tag = tag;
    return message;
  }

  ModelNetwork network;
  std::vector<std::unique_ptr<TestNode>> node;
  std::uint64_t now = 0;
};

TEST_F(Messages, arrive_with_the_senders_identity_and_in_order_over_a_bad_network) {
  node[0]->open(3);
  TestPort& receiver = node[1]->open(5);
  receiver.read_from(Priority::Low);
  std::uint64_t sent = 0;
  std::uint64_t got = 0;
  while (got < 500) {
    if (sent < 500 && sent - got < 6 &&
        send(0, 3, to(1, 5, sent), std::string(1 + sent % 300, static_cast<char>('a' + sent % 26))).outcome ==
            Outcome::Sent) {
      ++sent;
    }
    run(1);
    for (std::string words = receiver.receive(); !words.empty(); words = receiver.receive()) {
      ASSERT_EQ(words, std::string(1 + got % 300, static_cast<char>('a' + got % 26)));
      ASSERT_EQ(receiver.head->node, 0);
      ASSERT_EQ(receiver.head->vpid, 3);
      ASSERT_EQ(receiver.head->tag, got % 256);
      ++got;
    }
    ASSERT_LT(now, 2'000'000'000U);
  }
  EXPECT_EQ(node[1]->unit.counters().delivered, 500U);
}

TEST_F(Messages, of_the_largest_size_arrive_and_larger_ones_are_refused) {
  node[0]->open(3);
  TestPort& receiver = node[1]->open(5);
  const std::string words(kMaxMessageBytes, 'x');
  EXPECT_EQ(send(0, 3, to(1, 5), words).outcome, Outcome::Sent);
  run();
  EXPECT_EQ(receiver.receive(), words);
  EXPECT_EQ(send(0, 3, to(1, 5), words + "y").error, Error::OriginLength);
  EXPECT_EQ(send(0, 3, to(1, 5), "").error, Error::OriginLength);
}

TEST_F(Messages, of_another_domain_to_nobody_or_to_a_stopped_port_change_nothing_and_are_told) {
  TestPort& sender = node[0]->open(3);
  TestPort& supervisor = node[1]->open(1);
  node[1]->unit.set_supervisor(1);
  TestPort& other = node[1]->open(5, kDomain + 1);
  TestPort& stopped = node[1]->open(6);
  node[1]->unit.enable(6, false);
  MessagePort picky;
  picky.only_from = MessagePort::Origin{2, 3};
  TestPort& listens = node[1]->open(7, kDomain, picky);
  const std::array<std::pair<Vpid, Error>, 5> attempts = {{{5, Error::Domain},
                                                           {6, Error::TargetVpid},
                                                           {9, Error::TargetVpid},
                                                           {60000, Error::TargetVpid},
                                                           {7, Error::Domain}}};
  for (const auto& [target, error] : attempts) {
    MessageUnit::Message message = to(1, target, target);
    message.acknowledges = true;
    ASSERT_EQ(send(0, 3, message, "forged").outcome, Outcome::Sent);
  }
  run();
  for (const auto& [target, error] : attempts) {
    const auto answer = sender.notification();
    ASSERT_TRUE(answer) << target;
    EXPECT_EQ(answer->teller, Teller::Acknowledge);
    EXPECT_EQ(answer->tag, target);
    EXPECT_EQ(answer->error, error) << target;
    const auto told = supervisor.notification();
    ASSERT_TRUE(told) << target;
    EXPECT_EQ(told->teller, Teller::Supervisor);
    EXPECT_EQ(told->window, target);
    EXPECT_EQ(told->error, error) << target;
    EXPECT_EQ(told->vpid, 3);
  }
  for (TestPort* port : {&other, &stopped, &listens}) EXPECT_EQ(port->receive(), "");
  EXPECT_EQ(node[1]->unit.counters().refused, 5U);
  // At home.
  EXPECT_EQ(send(0, 3, to(17, 5), "x").error, Error::Route);
  EXPECT_EQ(send(0, 44, to(1, 5), "x").error, Error::OriginVpid);
  node[0]->unit.enable(3, false);
  EXPECT_EQ(send(0, 3, to(1, 5), "x").error, Error::OriginVpid);
}

TEST_F(Messages, for_a_full_mailbox_are_dropped_and_hold_nobody_up) {
  TestPort& sender = node[0]->open(3);
  TestPort& deaf = node[1]->open(5);
  TestPort& awake = node[1]->open(6);
  TestPort& supervisor = node[1]->open(1);
  node[1]->unit.set_supervisor(1);
  constexpr std::uint64_t kMore = 30;
  for (std::uint64_t sent = 0; sent < PageLayout::kMailboxSlots + kMore;) {
    MessageUnit::Message message = to(1, 5, sent);
    message.acknowledges = sent >= PageLayout::kMailboxSlots;
    if (send(0, 3, message, "tick").outcome == Outcome::Sent) {
      ++sent;
    } else {
      run(10);
    }
  }
  EXPECT_EQ(send(0, 3, to(1, 6), "to another").outcome, Outcome::Sent);
  run();
  EXPECT_EQ(awake.receive(), "to another");
  EXPECT_EQ(node[1]->unit.counters().dropped, kMore);
  EXPECT_EQ(deaf.memory.page().word(PageWord::DroppedMessages).load(), kMore);
  for (std::uint64_t i = 0; i < kMore; ++i) {
    const auto told = supervisor.notification();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->error, Error::Full);
    const auto answer = sender.notification();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->error, Error::Full);
  }
  for (std::size_t i = 0; i < PageLayout::kMailboxSlots; ++i) EXPECT_EQ(deaf.receive(), "tick");
  EXPECT_EQ(deaf.receive(), "");
}

TEST_F(Messages, of_high_priority_pass_a_window_that_is_full_of_low_ones) {
  node[0]->open(3);
  TestPort& receiver = node[1]->open(5);
  while (send(0, 3, to(1, 5), "low").outcome == Outcome::Sent) {
  }
  EXPECT_EQ(send(0, 3, to(1, 5), "low").outcome, Outcome::Busy);
  MessageUnit::Message urgent = to(1, 5);
  urgent.priority = Priority::High;
  EXPECT_EQ(send(0, 3, urgent, "high").outcome, Outcome::Sent);
  run();
  EXPECT_EQ(receiver.receive(Priority::High), "high");
  EXPECT_EQ(receiver.receive(Priority::Low), "low");
}

/// A node that takes whatever comes and never answers.
class Silent final : public PacketSink {
 public:
  [[nodiscard]] std::uint8_t early(NodeId, VirtualChannel, std::span<const std::byte>) override { return 0; }
  [[nodiscard]] bool ordered(NodeId, VirtualChannel, std::span<const std::byte>, std::uint8_t) override { return true; }
  void lost(NodeId) override {}
};

TEST_F(Messages, to_a_node_that_never_answers_leave_room_for_those_to_others) {
  node[0]->open(3);
  TestPort& receiver = node[2]->open(5);
  Silent silent;
  MessageUnit::Message message = to(1, 5);
  message.acknowledges = true;
  std::size_t sent = 0;
  for (int quiet = 0; quiet < 2000; ++quiet) {
    while (send(0, 3, message, "?").outcome == Outcome::Sent) {
      ++sent;
      quiet = 0;
    }
    network.set_time(now += 1000);
    (void)node[0]->links.step(node[0]->services, now);
    (void)node[1]->links.step(silent, now);
  }
  EXPECT_EQ(sent, 256U);
  message.node = 2;
  EXPECT_EQ(send(0, 3, message, "hello").outcome, Outcome::Sent);
  for (int i = 0; i < 2000; ++i) {
    network.set_time(now += 1000);
    (void)node[0]->links.step(node[0]->services, now);
    (void)node[1]->links.step(silent, now);
    (void)node[2]->links.step(node[2]->services, now);
    (void)node[2]->unit.step(now);
  }
  EXPECT_EQ(receiver.receive(), "hello");
}

TEST_F(Messages, that_ask_are_acknowledged_once_each_and_announced) {
  TestPort& sender = node[0]->open(3);
  TestPort& receiver = node[1]->open(5);
  for (std::uint64_t tag = 100; tag < 110; ++tag) {
    MessageUnit::Message message = to(1, 5, tag);
    message.acknowledges = true;
    message.announces = tag % 2 == 0;
    EXPECT_EQ(send(0, 3, message, "hello").outcome, Outcome::Sent);
  }
  run();
  for (std::uint64_t tag = 100; tag < 110; ++tag) {
    const auto answer = sender.notification();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->tag, tag);
    EXPECT_EQ(answer->error, Error::None);
    if (tag % 2 != 0) continue;
    const auto told = receiver.notification();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->teller, Teller::Completer);
    EXPECT_EQ(told->tag, tag);
    EXPECT_EQ(told->vpid, 3);
  }
  EXPECT_FALSE(sender.notification());
  EXPECT_TRUE(node[0]->unit.is_idle());
}

TEST_F(Messages, to_a_node_that_dies_fail_and_to_a_closed_port_tell_nobody) {
  TestPort& sender = node[0]->open(3);
  TestPort& gone = node[0]->open(4);
  node[1]->open(5);
  network.cut(1);
  MessageUnit::Message message = to(1, 5, 77);
  message.acknowledges = true;
  EXPECT_EQ(send(0, 3, message, "anyone?").outcome, Outcome::Sent);
  EXPECT_EQ(send(0, 4, message, "anyone?").outcome, Outcome::Sent);
  node[0]->unit.close(4);
  run(10000);
  const auto answer = sender.notification();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->error, Error::RouteBroken);
  EXPECT_EQ(answer->tag, 77U);
  EXPECT_FALSE(gone.notification());
  EXPECT_EQ(send(0, 3, to(1, 5), "x").error, Error::RouteBroken);
  EXPECT_TRUE(node[0]->unit.is_idle());
}

TEST_F(Messages, that_are_erroneous_are_delivered_as_such_and_left_out_by_the_reader) {
  node[0]->open(3);
  TestPort& receiver = node[1]->open(5);
  MessageUnit::Message torn = to(1, 5);
  torn.is_erroneous = true;
  EXPECT_EQ(send(0, 3, torn, "torn").outcome, Outcome::Sent);
  EXPECT_EQ(send(0, 3, to(1, 5), "whole").outcome, Outcome::Sent);
  run();
  EXPECT_EQ(receiver.receive(), "whole");
  EXPECT_EQ(receiver.readers[0]->erroneous(), 1U);
}

TEST_F(Messages, to_a_group_travel_once_to_each_node_and_reach_every_port_of_its_domain) {
  node[0]->open(3);
  TestPort& home = node[0]->open(4);
  std::vector<TestPort*> members = {&node[1]->open(5), &node[1]->open(6), &node[2]->open(5), &home};
  TestPort& foreign = node[1]->open(7, kDomain + 1);
  TestPort& outside = node[2]->open(8);
  node[0]->unit.set_group(900, {kDomain, {3, 4}, {1, 2, 0, 99}});
  node[1]->unit.set_group(900, {kDomain, {5, 6, 7}, {}});
  node[2]->unit.set_group(900, {kDomain, {5}, {}});
  MessageUnit::Message message = to(0, 900, 9);
  message.is_group = true;
  EXPECT_EQ(send(0, 3, message, "to all").outcome, Outcome::Sent);
  run();
  for (TestPort* member : members) {
    EXPECT_EQ(member->receive(), "to all");
    EXPECT_EQ(member->head->vpid, 3);
    EXPECT_EQ(member->receive(), "");
  }
  EXPECT_EQ(foreign.receive(), "");
  EXPECT_EQ(outside.receive(), "");
  EXPECT_EQ(node[0]->owned[0]->receive(), "");  // not back to its sender
  EXPECT_EQ(node[1]->unit.counters().refused, 1U);
  EXPECT_EQ(node[0]->links.counters().sent, 2U);

  message.target = 901;
  EXPECT_EQ(send(0, 3, message, "x").error, Error::TargetVpid);
  node[0]->open(9, kDomain + 1);
  message.target = 900;
  EXPECT_EQ(send(0, 9, message, "x").error, Error::Domain);
  message.acknowledges = true;
  EXPECT_EQ(send(0, 3, message, "x").error, Error::Command);
  // A closed port is no member any more.
  node[2]->unit.close(5);
  node[2]->ports.close(5);
  message.acknowledges = false;
  EXPECT_EQ(send(0, 3, message, "again").outcome, Outcome::Sent);
  run();
  EXPECT_EQ(members[2]->receive(), "");
  EXPECT_EQ(members[0]->receive(), "again");
}

TEST_F(Messages, at_home_take_no_way_over_the_network) {
  TestPort& sender = node[0]->open(3);
  TestPort& receiver = node[0]->open(4);
  MessageUnit::Message message = to(0, 4, 1);
  message.acknowledges = true;
  EXPECT_EQ(send(0, 3, message, "here").outcome, Outcome::Sent);
  EXPECT_EQ(receiver.receive(), "here");
  EXPECT_EQ(sender.notification()->error, Error::None);
  EXPECT_EQ(node[0]->links.counters().sent, 0U);
}

TEST_F(Messages, whose_packets_are_nonsense_are_counted_and_forgotten) {
  TestPort& receiver = node[1]->open(5);
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> packet(random() % 80);
    for (std::byte& byte : packet) byte = static_cast<std::byte>(random() % 4 == 0 ? random() : random() % 8);
    if (!packet.empty()) packet[0] = static_cast<std::byte>(Service::Message);
    (void)node[1]->services.ordered(0, random() % 2 == 0 ? VirtualChannel::Low : VirtualChannel::High, packet, 0);
    (void)node[1]->unit.step(now);
    while (!receiver.receive().empty()) {
    }
  }
  EXPECT_GT(node[1]->unit.counters().foreign, 10000U);
}

}  // namespace stopbit::nic::message_test
