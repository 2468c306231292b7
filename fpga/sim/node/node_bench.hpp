#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "link_wire.hpp"
#include "node_driver.hpp"

/// Two whole nodes in RTL, each with its host, joined by the wires of their links.
namespace stopbit::sim::node {

inline constexpr std::size_t kNodes = 2;

[[nodiscard]] inline std::uint64_t seed() {
  const char* const said = std::getenv("STOPBIT_SEED");
  return said == nullptr ? 1 : std::strtoull(said, nullptr, 10);
}

/// Two of them.
class NodeTest : public ::testing::Test {
 protected:
  NodeTest() {
    for (std::size_t i = 0; i < kNodes; ++i) {
      nodes_.push_back(std::make_unique<Node>(random_, seed() + 20 + i, static_cast<nic::NodeId>(i), kNodes));
      wires_.push_back(std::make_unique<Wire>(random_, kWire));
    }
    bring_up();
  }
  Node& node(std::size_t i) { return *nodes_.at(i); }
  Wire& wire(std::size_t from) { return *wires_.at(from); }

  void bring_up() {
    run([&] { return node(0).is_ready() && node(1).is_ready() && node(0).is_up() && node(1).is_up(); });
    for (auto& node : nodes_) node->set_base();
    run([&] { return node(0).is_set() && node(1).is_set(); });
  }
  /// One of them, after its reset.
  void bring_up(std::size_t i) {
    run([&] { return node(i).is_ready() && node(0).is_up() && node(1).is_up(); });
    node(i).set_base();
    run([&] { return node(i).is_set(); });
  }
  void cycle() {
    for (std::size_t i = 0; i < kNodes; ++i) wire(i).put(on_cell ? on_cell(i, node(i).out()) : node(i).out());
    for (std::size_t i = 0; i < kNodes; ++i) {
      Wire& from = wire(1 - i);
      node(i).in(from.take(), from.has_signal());
      node(i).cycle();
    }
  }
  template <class Until>
  void run(const Until& until, std::uint64_t cycles = 400'000) {
    for (std::uint64_t i = 0; !until(); ++i) {
      ASSERT_LT(i, cycles) << "stuck";
      cycle();
      if (HasFatalFailure()) return;
    }
  }
  void cycles(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) cycle();
  }
  /// Until nothing has moved for a while.
  void settle(std::uint64_t limit = 400'000) {
    std::uint64_t quiet = 0;
    std::uint64_t before = 0;
    const auto all = [&] {
      std::uint64_t sum = 0;
      for (auto& node : nodes_) {
        sum += node->moved + node->count(Count::Sent) + node->count(Count::Ended) + node->count(Count::Served) +
               node->count(Count::Refused) + node->count(Count::Damaged) + node->flushed + node->reports.size() +
               node->refusals.size();
      }
      return sum;
    };
    run(
        [&] {
          const std::uint64_t now = all();
          const bool is_quiet = now == before && node(0).is_quiet() && node(1).is_quiet();
          before = now;
          quiet = is_quiet ? quiet + 1 : 0;
          return quiet > 400;
        },
        limit);
  }
  void set_stalls(std::uint32_t percent) {
    for (auto& node : nodes_) node->stall_percent = percent;
  }
  [[nodiscard]] std::uint64_t count(Count which) const {
    std::uint64_t sum = 0;
    for (const auto& node : nodes_) sum += node->count(which);
    return sum;
  }

  static constexpr std::size_t kWire = 5;  ///< Cycles.

  /// What goes on the wire in place of a node's cell.
  std::function<Cell(std::size_t from, const Cell&)> on_cell;

  Random random_{seed()};
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Wire>> wires_;
};

}  // namespace stopbit::sim::node
