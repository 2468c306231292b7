// What ports may cost their neighbours, counted in the deterministic steps of a node: bytes and wake-ups between two
// services of an honest port, whatever the others ask for.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/nic/node/node.hpp"
#include "host/nic/notify/events.hpp"
#include "host/nic/transport/model/network.hpp"
#include "host/remote/node_port.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::nic::greedy_test {

using remote::NodePort;
using remote::PortMemory;

constexpr std::size_t kLong = 1U << 20U;
constexpr std::size_t kFrame = 4096;
/// Of one greedy port: what its three rings move at once, and the bytes of a step for puts and for gets; each byte is
/// read once and written once.
constexpr std::uint64_t kMostBytes = 2 * (3 * (4096 + kFrame) + 16'384 + 2 * kFrame);

/// A port with memory that it may put to and get from.
struct Owner {
  Owner(Node& node, Pdid domain) : port(std::move(NodePort::open(node, domain)).value()) {
    memory = std::move(PortMemory::make(*port, "test-greedy", 2 * kLong, Access::ReadWrite)).value();
    window = node.rma().open_window(port->vpid(), memory.address(), 2 * kLong, Access::ReadWrite).value();
  }
  /// Of the first half of its memory from or to the second half of another's.
  bool transfer(Operation operation, const Owner& other, std::size_t bytes, std::uint64_t tag = 0) {
    Command command;
    command.operation = operation;
    command.modifiers = operation == Operation::Get ? kNotifyCompleter : 0;
    command.target_node = other.port->node().id();
    command.target_vpid = other.port->vpid();
    command.window = other.window.id;
    command.capability = other.window.capability;
    command.address = memory.address();
    command.offset = kLong;
    command.length = static_cast<std::uint32_t>(bytes);
    command.tag = tag;
    return port->transfers().insert({&command, 1}).accepted == 1;
  }
  std::unique_ptr<NodePort> port;
  PortMemory memory;
  WindowName window;
};

class Greedy : public ::testing::Test {
 protected:
  explicit Greedy(std::size_t nodes = 1) : network_(with(nodes)) {
    for (std::size_t i = 0; i < nodes; ++i) {
      NodeOptions how;
      how.ports = 16;
      nodes_.push_back(std::make_unique<Node>(network_.port(static_cast<NodeId>(i)), how));
    }
  }
  static ModelOptions with(std::size_t nodes) {
    ModelOptions options;
    options.nodes = nodes;
    options.frame_bytes = kFrame;
    return options;
  }
  void step() {
    network_.set_time(now_ += 1'000);
    for (const auto& node : nodes_) (void)node->step(now_);
  }
  [[nodiscard]] Node& node(std::size_t id = 0) { return *nodes_[id]; }

  ModelNetwork network_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::uint64_t now_ = 0;
};

TEST_F(Greedy, ports_that_move_a_mebibyte_to_themselves_move_few_bytes_between_two_services_of_another) {
  for (const bool gets : {false, true}) {
    Owner greedy(node(), 7);
    const auto sender = std::move(NodePort::open(node(), 9)).value();
    const auto reader = std::move(NodePort::open(node(), 9)).value();
    std::array<std::byte, kMaxMessageBytes> into;
    const std::uint64_t before = node().rma().counters().moved_bytes;
    for (std::uint64_t i = 0; i < 2'000; ++i) {
      while (greedy.transfer(gets ? Operation::Get : Operation::Put, greedy, kLong)) {
      }
      ASSERT_TRUE(sender->send(0, reader->vpid(), std::as_bytes(std::span(&i, 1)), now_));
      const std::uint64_t moved = node().rma().counters().moved_bytes;
      step();
      ASSERT_LE(node().rma().counters().moved_bytes - moved, kMostBytes) << "step " << i;
      std::uint64_t got = 0;
      const auto head = reader->receive(into);
      ASSERT_TRUE(head) << "a message arrives in the step in which its port is served: " << i;
      std::memcpy(&got, into.data(), sizeof(got));
      ASSERT_EQ(got, i);
      for (Notification notification; greedy.port->notifications().take(notification);) {
      }
    }
    EXPECT_GT(node().rma().counters().moved_bytes - before, 4 * kLong) << "the greedy one gets on";
  }
}

TEST_F(Greedy, ports_with_many_short_puts_move_few_bytes_between_two_services_of_another) {
  Owner greedy(node(), 7);
  for (int i = 0; i < 500; ++i) {
    while (greedy.transfer(Operation::Put, greedy, 4'000)) {
    }
    const std::uint64_t moved = node().rma().counters().moved_bytes;
    step();
    ASSERT_LE(node().rma().counters().moved_bytes - moved, kMostBytes) << "step " << i;
  }
}

TEST_F(Greedy, ports_share_the_bytes_of_a_step) {
  std::vector<std::unique_ptr<Owner>> all;
  for (int i = 0; i < 4; ++i) all.push_back(std::make_unique<Owner>(node(), 7));
  for (auto& one : all) std::memset(one->memory.span().data(), 0x41, kLong);
  for (auto& one : all) ASSERT_TRUE(one->transfer(Operation::Put, *one, kLong));
  for (int i = 0; i < 40; ++i) step();
  for (auto& one : all) {
    EXPECT_EQ(one->memory.span()[kLong + 8 * kFrame], std::byte{0x41}) << "each has begun";
    EXPECT_EQ(one->memory.span()[2 * kLong - 1], std::byte{0}) << "none is done";
  }
}

/// Signals to a port itself, of events on which a thread sleeps.
class Sleepy {
 public:
  explicit Sleepy(Node& node, Pdid domain) {
    vpid = node.open_port(memory.page(), domain, {}).value();
    queue.emplace(memory.page());
    for (std::size_t event = 1; event < EventLayout::kEvents; ++event) {
      EventMemory(memory.page()).add(EventLayout::sleepers(event), 1);
    }
  }
  void signal(std::uint64_t event) {
    Command command;
    command.operation = Operation::Signal;
    command.target_vpid = vpid;
    command.more = event;
    (void)queue->insert({&command, 1});
  }
  PageMemory memory;
  Vpid vpid = 0;
  std::optional<CommandQueue> queue;
};

TEST_F(Greedy, ports_that_wake_sleepers_cost_few_calls_between_two_services_of_another) {
  Sleepy greedy(node(), 7);
  Sleepy honest(node(), 9);
  std::uint64_t event = 0;
  std::size_t waited = 0;
  for (int i = 0; i < 1'000; ++i) {
    for (int k = 0; k < 64; ++k) greedy.signal(1 + event++ % (EventLayout::kEvents - 1));
    if (!node().ports().is_waking(honest.vpid)) honest.signal(1);
    const std::uint64_t wakes = node().ports().wakes();
    step();
    ASSERT_LE(node().ports().wakes() - wakes, Ports::kWakesPerStep);
    waited = node().ports().is_waking(honest.vpid) ? waited + 1 : 0;
    ASSERT_LE(waited, 1U) << "ports are woken in turn";
  }
  for (int i = 0; i < 64; ++i) step();
  EXPECT_FALSE(node().ports().is_waking(greedy.vpid)) << "nobody sleeps on for ever";
}

class GreedyPair : public Greedy {
 protected:
  GreedyPair() : Greedy(2) {}
};

TEST_F(GreedyPair, a_short_get_does_not_wait_for_the_long_ones_of_its_peer) {
  Owner source(node(0), 7);
  Owner greedy(node(1), 7);
  Owner honest(node(1), 7);
  for (int i = 0; i < 1'000 && node(0).rma().counters().served == 0 && node(1).links().is_lost(0); ++i) step();
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(greedy.transfer(Operation::Get, source, kLong, 100 + i));
  for (int i = 0; i < 20; ++i) step();
  ASSERT_TRUE(honest.transfer(Operation::Get, source, 64, 1));
  Notification notification;
  bool is_done = false;
  for (int i = 0; i < 200 && !is_done; ++i) {
    step();
    is_done = honest.port->notifications().take(notification);
    ASSERT_FALSE(greedy.port->notifications().take(notification)) << "the first long one is over before";
  }
  ASSERT_TRUE(is_done);
  EXPECT_EQ(notification.error, Error::None);
  // The greedy one's own come in their order.
  std::uint64_t next = 100;
  for (int i = 0; i < 20'000 && next < 108; ++i) {
    step();
    if (greedy.port->notifications().take(notification)) {
      EXPECT_EQ(notification.tag, next++);
    }
  }
  EXPECT_EQ(next, 108U);
}

TEST_F(GreedyPair, what_changes_a_word_waits_for_the_gets_of_its_own_port_alone) {
  Owner source(node(0), 7);
  Owner greedy(node(1), 7);
  Owner honest(node(1), 7);
  for (int i = 0; i < 1'000 && node(1).links().is_lost(0); ++i) step();
  const auto change = [&](Owner& who, Operation operation, std::uint64_t at, std::uint64_t word) {
    Command command;
    command.operation = operation;
    command.modifiers = kAcknowledge;
    command.target_node = 0;
    command.target_vpid = source.port->vpid();
    command.window = source.window.id;
    command.capability = source.window.capability;
    command.offset = at;
    command.address = word;
    command.length = sizeof(word);
    return who.port->transfers().insert({&command, 1}).accepted == 1;
  };
  const std::span<std::byte> there = source.memory.span();
  const std::span<std::byte> here = greedy.memory.span();
  std::uint64_t word = 0;
  for (const Operation operation : {Operation::ImmediatePut, Operation::PutWords, Operation::Swap}) {
    ++word;
    for (std::size_t i = 0; i < kLong; ++i) there[kLong + i] = static_cast<std::byte>(i * 31 + word);
    const std::vector<std::byte> before(there.begin() + kLong, there.end());
    ASSERT_TRUE(greedy.transfer(Operation::Get, source, kLong));
    ASSERT_TRUE(change(greedy, operation, 2 * kLong - sizeof(word), word));
    for (int i = 0; i < 20; ++i) step();
    ASSERT_TRUE(change(honest, operation, 0, word));
    std::vector<Operation> told;
    Notification notification;
    bool is_honest_done = false;
    for (int i = 0; i < 20'000 && told.size() < 2; ++i) {
      step();
      if (honest.port->notifications().take(notification)) {
        is_honest_done = true;
        EXPECT_TRUE(told.empty()) << "others do not wait for it";
      }
      while (greedy.port->notifications().take(notification)) {
        EXPECT_EQ(notification.error, Error::None);
        told.push_back(notification.operation);
      }
    }
    EXPECT_TRUE(is_honest_done);
    EXPECT_EQ(told, (std::vector<Operation>{Operation::Get, operation}));
    EXPECT_TRUE(std::equal(before.begin(), before.end(), here.begin())) << "what was there before";
    EXPECT_EQ(std::memcmp(there.data() + 2 * kLong - sizeof(word), &word, sizeof(word)), 0);
  }
}

}  // namespace stopbit::nic::greedy_test
