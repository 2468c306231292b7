#pragma once

#include "node_bench.hpp"

namespace stopbit::sim::node {

using nic::Access;
using nic::Command;
using nic::Error;
using nic::Notification;
using nic::Operation;
using nic::Teller;
using nic::Vpid;

/// On each node: port 1 has memory to send from, and to get into; port 2 has a window on four pages.
class TwoNodes : public NodeTest {
 protected:
  static constexpr std::uint64_t kSource = 0x1000;
  static constexpr std::uint64_t kInto = 0x10'0000;
  static constexpr std::uint64_t kSink = 0x20'0000;
  static constexpr std::uint64_t kPages = 4;
  static constexpr std::uint64_t kCapability = 0x1122'3344'5566'7788;
  static constexpr std::uint16_t kWindow = 5;

  TwoNodes() {
    for (auto& node : nodes_) {
      for (const Vpid vpid : {Vpid{1}, Vpid{2}}) node->open(vpid, 7);
      for (std::uint64_t i = 0; i < kPages; ++i) {
        node->map(kSource / nic::kPageBytes + i, 1, number_of(kSource, i), Access::Read);
        node->map(kInto / nic::kPageBytes + i, 1, number_of(kInto, i), Access::Write);
        node->map(kSink / nic::kPageBytes + i, 2, number_of(kSink, i), Access::ReadWrite);
      }
      for (std::uint64_t word = 0; word < kPages * 512; ++word) at(*node, kSource, word) = random_.bits();
      node->windows.emplace_back(kWindow, rma::WindowEntry{.open = true,
                                                           .owner = 2,
                                                           .access = Access::ReadWrite,
                                                           .first = kSink,
                                                           .bytes = kPages * nic::kPageBytes,
                                                           .capability = kCapability,
                                                           .domain = std::nullopt});
    }
    run([&] { return node(0).is_set() && node(1).is_set(); });
  }
  /// Pages of memory are apart from each other, with numbers of more than 32 bits.
  static std::uint64_t number_of(std::uint64_t nla, std::uint64_t page) {
    return 0xE'0000'0000 + nla / nic::kPageBytes * 16 + page * 3;
  }
  static std::uint64_t address_of(std::uint64_t nla, std::uint64_t word) {
    return number_of(nla, word / 512) * nic::kPageBytes + word % 512 * 8;
  }
  /// The `word`th word of a piece of memory.
  static std::uint64_t& at(Node& node, std::uint64_t nla, std::uint64_t word) {
    return node.memory[address_of(nla, word)];
  }
  static Command command(Operation operation, nic::NodeId to = 1) {
    Command command;
    command.operation = operation;
    command.target_node = to;
    command.target_vpid = 2;
    command.window = kWindow;
    command.capability = kCapability;
    command.tag = 0xABCD'0000'1234;
    return command;
  }
  static Command put(std::uint64_t words, std::uint8_t modifiers = 0, std::uint64_t word = 0, nic::NodeId to = 1) {
    Command command = TwoNodes::command(Operation::Put, to);
    command.address = kSource;
    command.length = static_cast<std::uint32_t>(8 * words);
    command.modifiers = modifiers;
    command.offset = 8 * word;
    return command;
  }
  static Command word_for(Operation operation, std::uint64_t word, std::uint64_t value, std::uint8_t modifiers = 0,
                          nic::NodeId to = 1) {
    Command command = TwoNodes::command(operation, to);
    command.address = value;
    command.offset = 8 * word;
    command.modifiers = modifiers;
    return command;
  }
  std::vector<Notification> take_all(std::size_t on, Vpid vpid) {
    std::vector<Notification> all;
    while (const auto one = node(on).take(vpid)) all.push_back(*one);
    settle();
    return all;
  }
  /// The only one.
  Notification only(std::size_t on, Vpid vpid) {
    const std::vector<Notification> all = take_all(on, vpid);
    EXPECT_EQ(all.size(), 1U) << "of port " << vpid << " of node " << on;
    return all.empty() ? Notification{} : all[0];
  }
};

}  // namespace stopbit::sim::node
