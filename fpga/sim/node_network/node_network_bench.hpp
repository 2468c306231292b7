#pragma once

#include <Vrtl_node_network.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "../network_port/network_port_bench.hpp"
#include "bench.hpp"
#include "link_wire.hpp"
#include "start_cell.hpp"

/// Nodes with two units and two links each, in a ring: link 0 leads to the next node, link 1 to the one before.
namespace stopbit::sim {

inline constexpr std::size_t kUnits = 2;
inline constexpr std::size_t kLinks = 2;
inline constexpr std::size_t kNodes = 4;

/// One node, and what its units have to send and have got.
class RingNode {
 public:
  RingNode(Random& random, std::uint64_t seed) : random_(random), bench_(seed) {
    set_stalls(0, 0);
    reset();
  }

  Vrtl_node_network& model() { return *bench_.operator->(); }
  [[nodiscard]] std::uint64_t cycles() const { return bench_.cycles(); }

  void reset() {
    auto& m = model();
    m.patience_i = patience_;
    m.last_node_i = 0xFFFF;
    m.last_unit_i = 7;
    m.cut_through_i = (1U << kUnits) - 1;
    m.config_i = 0;
    m.debug_write_i = 0;
    m.debug_unit_i = 0;
    m.debug_address_i = 0;
    m.send_valid_i = 0;
    m.come_ready_i = 0;
    m.link_signal_i = 0;
    use_channels(kFirstChannels);
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      accept(unit, kAllChannels);
      units_[unit].words.clear();
      units_[unit].came.clear();
      units_[unit].coming.reset();
      units_[unit].offers = false;
    }
    bench_.reset();
  }
  [[nodiscard]] bool is_ready() { return model().ready_o != 0; }
  void configure(std::uint8_t table, std::uint32_t address, std::uint32_t data) {
    auto& m = model();
    m.config_i = 1;
    m.config_ports_i = (1U << (kUnits + kLinks)) - 1;
    m.config_table_i = table;
    m.config_address_i = static_cast<std::uint16_t>(address);
    m.config_data_i = data;
    bench_.step();
    m.config_i = 0;
  }
  void set_patience(std::uint32_t cycles) { model().patience_i = patience_ = cycles; }
  void set_stalls(std::uint32_t send, std::uint32_t read) {
    for (auto& unit : units_) {
      unit.send.emplace(random_, send);
      unit.read.emplace(random_, read);
    }
  }
  /// The channels on which packets of both units may begin, and those that a unit reads.
  void use_channels(std::uint32_t channels) { model().channels_i = channels | channels << kChannels; }
  void accept(std::size_t unit, std::uint32_t channels) {
    const std::size_t shift = unit * kChannels;
    model().accepts_i = (model().accepts_i & ~(kAllChannels << shift)) | channels << shift;
  }
  void send(std::size_t unit, const Packet& packet) {
    for (const Word& word : words_of(packet)) units_[unit].words.push_back(word);
  }
  [[nodiscard]] std::deque<Packet>& came(std::size_t unit) { return units_[unit].came; }
  [[nodiscard]] std::uint64_t first_came(std::size_t unit) const { return units_[unit].first_came; }

  /// Whether words for this unit are held at its port (stopbit_network_tap.sv).
  void hold(std::size_t unit, bool holds) {
    model().debug_write_i = 1;
    model().debug_unit_i = static_cast<std::uint8_t>(unit);
    model().debug_address_i = 4;
    model().debug_data_i = holds;
    cycle();
    model().debug_write_i = 0;
  }
  [[nodiscard]] bool is_held(std::size_t unit) {
    model().debug_unit_i = static_cast<std::uint8_t>(unit);
    model().debug_address_i = 4;
    bench_.settle();
    return model().debug_data_o == 1;
  }

  [[nodiscard]] Cell out(std::size_t link) {
    const auto& m = model();
    return {static_cast<std::uint8_t>(m.link_kind_o >> (2 * link) & 3),
            m.link_data_o[2 * link] | std::uint64_t{m.link_data_o[2 * link + 1]} << 32};
  }
  void in(std::size_t link, const Cell& cell, bool has_signal) {
    auto& m = model();
    m.link_kind_i = static_cast<std::uint8_t>((m.link_kind_i & ~(3U << (2 * link))) | cell.kind << (2 * link));
    m.link_data_i[2 * link] = static_cast<std::uint32_t>(cell.data);
    m.link_data_i[2 * link + 1] = static_cast<std::uint32_t>(cell.data >> 32);
    m.link_signal_i = static_cast<std::uint8_t>((m.link_signal_i & ~(1U << link)) | unsigned{has_signal} << link);
  }
  [[nodiscard]] bool is_up(std::size_t link) { return (state(link) >> 6 & 1) != 0; }

  void cycle() {
    auto& m = model();
    for (std::size_t i = 0; i < kUnits; ++i) offer(i);
    bench_.settle();
    for (std::size_t i = 0; i < kUnits; ++i) look(i);
    for (std::size_t link = 0; link < kLinks; ++link) {
      counts.resent += state(link) >> 4 & 1;
      counts.lost += state(link) >> 2 & 1;
      counts.damaged += state(link) >> 1 & 1;
      counts.excess += state(link) & 1;
    }
    for (std::size_t port = 0; port < kUnits + kLinks; ++port) {
      counts.discarded += m.discarded_o >> port & 1;
      counts.broken += m.broken_o >> port & 1;
      counts.malformed += m.malformed_o >> port & 1;
      counts.unroutable += m.unroutable_o >> port & 1;
      counts.circled += m.circled_o >> port & 1;
    }
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      counts.sent += m.sent_o >> unit & 1;
      counts.refused += m.refused_o >> unit & 1;
      counts.dropped += m.dropped_o >> unit & 1;
    }
    bench_.step();
  }

  struct Events {
    std::uint64_t sent = 0;
    std::uint64_t resent = 0;
    std::uint64_t lost = 0;
    std::uint64_t damaged = 0;
    std::uint64_t excess = 0;
    std::uint64_t discarded = 0;
    std::uint64_t broken = 0;
    std::uint64_t malformed = 0;
    std::uint64_t unroutable = 0;
    std::uint64_t circled = 0;
    std::uint64_t refused = 0;
    std::uint64_t dropped = 0;
    /// Of packets that did not get where they should.
    [[nodiscard]] std::uint64_t gone() const { return lost + discarded + malformed + unroutable + circled + dropped; }
  };
  Events counts;

 private:
  static constexpr std::uint32_t kFirstChannels = 0b001'001'001'001;
  struct Unit {
    std::optional<Gate> send;
    std::optional<Gate> read;
    bool offers = false;
    std::deque<Word> words;
    std::deque<Packet> came;
    std::optional<Packet> coming;
    std::uint64_t first_came = 0;
  };

  [[nodiscard]] std::uint32_t state(std::size_t link) { return model().links_o >> (7 * link) & 0x7F; }
  static void set(std::uint8_t& bits, std::size_t at, bool to) {
    bits = static_cast<std::uint8_t>((bits & ~(1U << at)) | unsigned{to} << at);
  }
  void offer(std::size_t i) {
    auto& m = model();
    Unit& unit = units_[i];
    if (!unit.offers && !unit.words.empty() && unit.send->open()) unit.offers = true;
    set(m.send_valid_i, i, unit.offers);
    if (unit.offers) {
      const Word& word = unit.words.front();
      m.send_data_i[2 * i] = static_cast<std::uint32_t>(word.data);
      m.send_data_i[2 * i + 1] = static_cast<std::uint32_t>(word.data >> 32);
      set(m.send_first_i, i, word.is_first);
      set(m.send_last_i, i, word.is_last);
      set(m.send_bad_i, i, word.is_bad);
    }
    set(m.come_ready_i, i, unit.read->open());
  }
  void look(std::size_t i) {
    const auto& m = model();
    Unit& unit = units_[i];
    if ((m.send_valid_i & m.send_ready_o) >> i & 1) {
      unit.words.pop_front();
      unit.offers = false;
    }
    if (((m.come_valid_o & m.come_ready_i) >> i & 1) == 0) return;
    const std::uint64_t data = m.come_data_o[2 * i] | std::uint64_t{m.come_data_o[2 * i + 1]} << 32;
    EXPECT_EQ((m.come_first_o >> i & 1) != 0, !unit.coming.has_value());
    if (m.come_first_o >> i & 1) {
      unit.coming = Packet{data, {}, false};
      unit.first_came = cycles();
    } else if (unit.coming) {
      unit.coming->payload.push_back(data);
    }
    if (!unit.coming || (m.come_last_o >> i & 1) == 0) return;
    unit.coming->is_bad = (m.come_bad_o >> i & 1) != 0;
    unit.came.push_back(*unit.coming);
    unit.coming.reset();
  }

  Random& random_;
  Bench<Vrtl_node_network> bench_;
  std::array<Unit, kUnits> units_;
  std::uint32_t patience_ = 0;
};

/// Four of them, and what is to come where.
class NodeNetwork : public ::testing::Test {
 protected:
  struct Way {
    std::size_t link;
    std::size_t vc;
  };

  NodeNetwork() {
    for (std::size_t i = 0; i < kNodes; ++i) nodes_.push_back(std::make_unique<RingNode>(random_, 10 + i));
    for (std::size_t i = 0; i < kNodes * kLinks; ++i) wires_.push_back(std::make_unique<Wire>(random_, kWire));
    for (std::size_t i = 0; i < kNodes; ++i) start(i);
    run([this] { return all_up(); });
    for (int i = 0; i < 100; ++i) cycle();
  }

  /// Tables: forward to the nodes not more than half the ring away, else back. Packets that have yet to pass between
  /// the last node and the first one use virtual channel 0, the others 1: so no channel waits for itself.
  static Way way(std::size_t at, std::size_t to) {
    const std::size_t ahead = (to + kNodes - at) % kNodes;
    const bool forward = ahead <= kNodes / 2;
    const bool will_pass = forward ? to < at : to > at;
    const bool passes_now = forward ? at == kNodes - 1 : at == 0;
    return {forward ? 0U : 1U, will_pass && !passes_now ? 0U : 1U};
  }
  void set_way(std::size_t at, std::size_t to, Way way) {
    constexpr std::array<unsigned, kClasses> kAt{6, 17, 22, 27};
    std::uint32_t entry = 0;
    for (const unsigned shift : kAt) entry |= static_cast<std::uint32_t>(way.link << 2 | way.vc) << shift;
    nodes_[at]->configure(2, static_cast<std::uint32_t>(to), entry);
  }
  void start(std::size_t at) {
    RingNode& node = *nodes_[at];
    node.configure(0, 0, static_cast<std::uint32_t>(at));
    for (std::size_t to = 0; to < kNodes; ++to) set_way(at, to, way(at, to));
    for (int i = 0; !node.is_ready(); ++i) {
      ASSERT_LT(i, 1000);
      node.cycle();
    }
  }
  [[nodiscard]] bool all_up() {
    for (auto& node : nodes_) {
      for (std::size_t link = 0; link < kLinks; ++link) {
        if (!node->is_up(link)) return false;
      }
    }
    return true;
  }
  /// Of the wire from this node's link.
  Wire& wire(std::size_t node, std::size_t link) { return *wires_[node * kLinks + link]; }
  static std::size_t peer(std::size_t node, std::size_t link) { return (node + (link == 0 ? 1 : kNodes - 1)) % kNodes; }

  void cycle() {
    for (std::size_t i = 0; i < kNodes; ++i) {
      for (std::size_t link = 0; link < kLinks; ++link) wire(i, link).put(nodes_[i]->out(link));
    }
    for (std::size_t i = 0; i < kNodes; ++i) {
      for (std::size_t link = 0; link < kLinks; ++link) {
        Wire& from = wire(peer(i, link), 1 - link);
        nodes_[i]->in(link, from.take(), from.has_signal());
      }
      nodes_[i]->cycle();
    }
    for (std::size_t node = 0; node < kNodes; ++node) {
      for (std::size_t unit = 0; unit < kUnits; ++unit) collect(node, unit);
    }
  }
  template <class Until>
  void run(const Until& until, std::uint64_t cycles = 300'000) {
    for (std::uint64_t i = 0; !until(); ++i) {
      ASSERT_LT(i, cycles) << "stuck: " << due_ << " are due";
      cycle();
      if (HasFailure()) return;
    }
  }

  /// The VPID says where it comes from: of a sender, class and receiver order is kept.
  void send(std::size_t from, std::size_t unit, std::size_t to, std::size_t to_unit, std::size_t traffic_class,
            std::size_t cells) {
    Start start{.vpid = from << 1 | unit, .node = to, .unit = to_unit, .traffic_class = traffic_class};
    const Packet packet = packets_.packet(start, cells);
    nodes_[from]->send(unit, packet);
    expected_[to][to_unit][start.vpid][traffic_class].push_back(packet);
    ++due_;
  }
  void send_any(std::size_t most = kMaxPayload) {
    send(random_.below(kNodes), random_.below(kUnits), random_.below(kNodes), random_.below(kUnits),
         random_.below(kClasses), random_.below(most + 1));
  }
  void collect(std::size_t node, std::size_t unit) {
    auto& came = nodes_[node]->came(unit);
    for (; !came.empty(); came.pop_front()) {
      const Start start = Start::of(came.front().start);
      EXPECT_EQ(came.front().start, start.data()) << "its CRC";
      EXPECT_EQ(start.node, node);
      EXPECT_EQ(start.unit, unit);
      ASSERT_LT(start.vpid, kNodes * kUnits);
      auto& queue = expected_[node][unit][start.vpid][start.traffic_class];
      // Packets that were lost and counted are missing; the others are right and in order.
      while (may_lose_ && !queue.empty() && queue.front().payload != came.front().payload) {
        queue.pop_front();
        --due_;
        ++missing_;
      }
      ASSERT_FALSE(queue.empty()) << "twice, or from nowhere";
      EXPECT_EQ(came.front().payload, queue.front().payload);
      EXPECT_FALSE(came.front().is_bad);
      queue.pop_front();
      --due_;
    }
  }
  /// Of all nodes.
  template <class Count>
  [[nodiscard]] std::uint64_t sum(Count count) const {
    std::uint64_t sum = 0;
    for (const auto& node : nodes_) sum += node->counts.*count;
    return sum;
  }
  [[nodiscard]] std::uint64_t gone() const {
    std::uint64_t sum = 0;
    for (const auto& node : nodes_) sum += node->counts.gone();
    return sum;
  }
  void expect_no_broken_rule() const {
    EXPECT_EQ(sum(&RingNode::Events::broken) + sum(&RingNode::Events::excess) + sum(&RingNode::Events::refused), 0U);
  }

  static constexpr std::size_t kWire = 5;  ///< Cycles.

  Random random_{29};
  Packets packets_{random_};
  std::vector<std::unique_ptr<RingNode>> nodes_;
  std::vector<std::unique_ptr<Wire>> wires_;
  using Queues = std::array<std::array<std::deque<Packet>, kClasses>, kNodes * kUnits>;
  std::array<std::array<Queues, kUnits>, kNodes> expected_;
  std::size_t due_ = 0;
  bool may_lose_ = false;
  std::uint64_t missing_ = 0;
};

}  // namespace stopbit::sim
