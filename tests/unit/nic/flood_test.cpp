// Commands that fill every ring, window and mailbox there is: none waits for ever. And the command that sends a message
// out of registered memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "host/nic/node/node.hpp"
#include "host/nic/transport/model/network.hpp"
#include "host/remote/node_port.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::nic::flood_test {

using remote::PortMemory;

constexpr std::size_t kBytes = 64 * kPageBytes;

class Flood : public ::testing::Test {
 protected:
  explicit Flood(std::size_t nodes = 1, const ModelOptions& network = {}) : network_(with(nodes, network)) {
    for (std::size_t i = 0; i < nodes; ++i) {
      NodeOptions how;
      how.ports = 16;
      how.rma.step_bytes = 1U << 20U;  // so that windows fill up
      nodes_.push_back(std::make_unique<Node>(network_.port(static_cast<NodeId>(i)), how));
    }
  }
  static ModelOptions with(std::size_t nodes, ModelOptions options) {
    options.nodes = nodes;
    return options;
  }
  void step() {
    network_.set_time(now_ += 10'000);
    for (const auto& node : nodes_) (void)node->step(now_);
  }

  ModelNetwork network_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::uint64_t now_ = 0;
};

TEST_F(Flood, a_message_out_of_registered_memory_arrives_in_every_length_and_is_refused_out_of_other_memory) {
  const auto sender = std::move(remote::NodePort::open(*nodes_[0], 7)).value();
  const auto reader = std::move(remote::NodePort::open(*nodes_[0], 7)).value();
  const PortMemory memory = std::move(PortMemory::make(*sender, "test-send", kBytes, Access::Read)).value();
  for (std::size_t i = 0; i < kBytes; ++i) memory.span()[i] = static_cast<std::byte>(i * 7 + i / 251);
  const auto send = [&](Nla from, std::size_t length) {
    Command command;
    command.operation = Operation::Send;
    command.modifiers = kNotifyRequester;
    command.target_vpid = reader->vpid();
    command.tag = length;
    command.address = from;
    command.length = static_cast<std::uint32_t>(length);
    EXPECT_EQ(sender->transfers().insert({&command, 1}).accepted, 1U);
    Notification told;
    for (int i = 0; i < 100; ++i) {
      step();
      if (sender->notifications().take(told)) return told.error;
    }
    ADD_FAILURE() << "nothing is told of " << length << " bytes";
    return Error::None;
  };
  const std::size_t most = nodes_[0]->messages().max_bytes();
  std::array<std::byte, kMaxMessageBytes> into;
  for (std::size_t length = 1; length <= most; length += length < 200 ? 1 : 61) {
    const std::size_t at = (length * 37) % (kBytes - most);  // over borders of pages, too
    ASSERT_EQ(send(memory.address() + at, length), Error::None);
    const auto head = reader->receive(into);
    ASSERT_TRUE(head) << length;
    EXPECT_EQ(head->length, length);
    EXPECT_EQ(head->vpid, sender->vpid());
    EXPECT_FALSE(head->is_erroneous);
    ASSERT_EQ(std::memcmp(into.data(), memory.span().data() + at, length), 0) << length;
  }
  EXPECT_EQ(send(memory.address(), 0), Error::OriginLength);
  EXPECT_EQ(send(memory.address(), most + 1), Error::OriginLength);
  EXPECT_EQ(send(memory.address() + kBytes - 8, 16), Error::OriginWindow) << "behind its end";
  EXPECT_EQ(send(~Nla{0} - 4, 16), Error::OriginWindow);
  EXPECT_FALSE(reader->receive(into)) << "what is refused is not sent in part";
}

ModelOptions bad_network() {
  ModelOptions options;
  options.line.loss = {0.02, 2};
  options.line.duplicate = 0.02;
  options.line.reorder = 0.1;
  options.line.reorder_depth = 4;
  return options;
}

/// Two nodes, each with ports that ask the other for whatever has an answer.
class FloodPair : public Flood {
 protected:
  FloodPair() : Flood(2, bad_network()) {
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t k = 0; k < kPorts; ++k) {
        Member& member = members_.emplace_back();
        member.node = i;
        member.port = std::move(remote::NodePort::open(*nodes_[i], 7)).value();
        member.memory = std::move(PortMemory::make(*member.port, "test-flood", kBytes, Access::ReadWrite)).value();
        member.window = nodes_[i]
                            ->rma()
                            .open_window(member.port->vpid(), member.memory.address(), kBytes, Access::ReadWrite)
                            .value();
      }
    }
  }
  struct Member {
    std::size_t node = 0;
    std::unique_ptr<remote::NodePort> port;
    PortMemory memory;
    WindowName window;
    std::size_t asked = 0;
    std::size_t told = 0;
  };
  /// Something with an answer, to a port of the other node.
  static Command request(const Member& from, const Member& to) {
    Command command;
    command.target_node = static_cast<NodeId>(to.node);
    command.target_vpid = to.port->vpid();
    command.window = to.window.id;
    command.capability = to.window.capability;
    command.tag = from.asked;
    switch (from.asked % 3) {
      case 0:
        command.operation = Operation::Get;
        command.modifiers = kNotifyCompleter;
        command.address = from.memory.address();
        command.length = 8 * kPageBytes;
        command.offset = 8 * kPageBytes;
        break;
      case 1:
        command.operation = Operation::Put;
        command.modifiers = kAcknowledge;
        command.address = from.memory.address() + 16 * kPageBytes;
        command.length = 8 * kPageBytes;
        command.offset = 24 * kPageBytes;
        break;
      default:
        command.operation = Operation::FetchAdd;
        command.modifiers = kNotifyCompleter;
        command.offset = 32 * kPageBytes;
        command.address = 1;
        break;
    }
    return command;
  }
  static constexpr std::size_t kPorts = 4;
  std::vector<Member> members_;
};

TEST_F(FloodPair, requests_of_both_nodes_are_all_answered_though_both_ways_are_full) {
  constexpr std::size_t kRequests = 150;
  const auto is_over = [&] {
    return std::all_of(members_.begin(), members_.end(), [](const Member& one) { return one.told == kRequests; });
  };
  std::size_t full = 0;
  for (int i = 0; i < 400'000 && !is_over(); ++i) {
    for (std::size_t k = 0; k < members_.size(); ++k) {
      Member& one = members_[k];
      const Member& other = members_[(k + kPorts) % members_.size()];
      while (one.asked < kRequests && one.asked - one.told < 32) {
        const Command command = request(one, other);
        if (one.port->transfers().insert({&command, 1}).accepted != 1) break;
        ++one.asked;
      }
      for (Notification told; one.port->notifications().take(told); ++one.told) {
        ASSERT_EQ(told.error, Error::None) << to_name(told.error);
      }
    }
    if (nodes_[0]->links().room(1, VirtualChannel::Low) == 0 && nodes_[1]->links().room(0, VirtualChannel::Low) == 0)
      ++full;
    step();
  }
  EXPECT_TRUE(is_over());
  EXPECT_GT(full, 0U) << "both nodes had a full window of requests to the other";
  for (const Member& one : members_) EXPECT_EQ(one.told, kRequests) << "of a port of node " << one.node;
}

TEST_F(FloodPair, full_rings_and_full_mailboxes_of_both_nodes_hold_up_no_command_for_ever) {
  // Messages without a reader, in two rings of each port, and transfers in the third.
  constexpr std::size_t kEach = 500;
  std::vector<std::array<std::size_t, kCommandRings>> asked(members_.size());
  const std::array<CommandRing, kCommandRings> rings = {CommandRing::High, CommandRing::Low, CommandRing::Transfer};
  const auto taken = [&] {
    std::uint64_t sum = 0;
    for (const auto& node : nodes_) sum += node->counters().commands;
    return sum;
  };
  std::size_t refused = 0;
  const std::uint64_t all = members_.size() * kCommandRings * kEach;
  for (int i = 0; i < 400'000 && taken() < all; ++i) {
    for (std::size_t k = 0; k < members_.size(); ++k) {
      const Member& one = members_[k];
      const Member& other = members_[(k + kPorts) % members_.size()];
      for (std::size_t ring = 0; ring < kCommandRings; ++ring) {
        const CommandQueue queue = one.port->queue(rings[ring]);
        for (; asked[k][ring] < kEach; ++asked[k][ring]) {
          Command command;
          command.target_node = static_cast<NodeId>(other.node);
          command.target_vpid = other.port->vpid();
          if (rings[ring] == CommandRing::Transfer) {
            command.operation = Operation::Put;
            command.window = other.window.id;
            command.capability = other.window.capability;
            command.address = one.memory.address();
            command.length = kPageBytes;
          } else {
            command.operation = Operation::FastSend;
            command.window = 8;
          }
          if (queue.insert({&command, 1}).accepted != 1) {
            ++refused;
            break;
          }
        }
      }
    }
    step();
  }
  EXPECT_EQ(taken(), all);
  EXPECT_GT(refused, 0U) << "rings were full";
  for (const auto& node : nodes_) EXPECT_GT(node->messages().counters().dropped, 0U) << "mailboxes were full";
  for (int i = 0; i < 10'000 && !(nodes_[0]->is_idle() && nodes_[1]->is_idle()); ++i) step();
  EXPECT_TRUE(nodes_[0]->is_idle() && nodes_[1]->is_idle()) << "and all of it has gone away";
}

}  // namespace stopbit::nic::flood_test
