#pragma once

#include <Vrtl_managed_network.h>
#include <gtest/gtest.h>
#include <verilated.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "../network_port/network_port_bench.hpp"
#include "../registers/clocks.hpp"
#include "../registers/register_host.hpp"
#include "bench.hpp"
#include "host/device/generated/network_registers.hpp"
#include "link_wire.hpp"
#include "start_cell.hpp"

/// Nodes with two units and two links each, in a ring: link 0 leads to the next node, link 1 to the one before. Hosts
/// set them by their registers; the network has one clock in all nodes, the bus of each host its own.
namespace stopbit::sim {

namespace map = device::network_registers;

inline constexpr std::size_t kUnits = 2;
inline constexpr std::size_t kLinks = 2;
inline constexpr std::size_t kNodes = 4;

inline constexpr std::size_t kPorts = kUnits + kLinks;
inline constexpr int kPatience = 64;
inline constexpr std::uint64_t kNetworkPeriod = 5'000;  ///< Picoseconds.

/// One node, and what its units have to send and have got.
class RingNode {
 public:
  RingNode(Random& random, std::uint64_t seed, std::uint64_t bus_period)
      : random_(random), host_(random, 20, kPatience) {
    context_.randReset(2);
    context_.randSeed(static_cast<int>(seed) + 1);
    model_ = std::make_unique<Vrtl_managed_network>(&context_);
    clocks_.add(bus_period, random.below(bus_period));
    clocks_.add(kNetworkPeriod, kNetworkPeriod);
    set_stalls(0, 0);
    auto& m = model();
    m.clk_i = m.network_clk_i = 0;
    m.send_valid_i = 0;
    m.come_ready_i = 0;
    m.link_signal_i = 0;
    m.bready_i = m.rready_i = 0;
    for (std::size_t unit = 0; unit < kUnits; ++unit) accept(unit, kAllChannels);
    set_bus_reset(true);
    m.network_rst_ni = 0;
    for (int i = 0; i < 40; ++i) cycle();
    set_bus_reset(false);
    m.network_rst_ni = 1;
  }
  ~RingNode() {
    // Of several models in a thread another one may have been the last: a model leaves the context of the thread.
    Verilated::threadContextp(&context_);
    model_->final();
  }
  RingNode(const RingNode&) = delete;
  RingNode& operator=(const RingNode&) = delete;

  Vrtl_managed_network& model() { return *model_; }
  RegisterHost<Vrtl_managed_network>& host() { return host_; }
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }

  /// By its pin; units forget what they had. The host's reset is a write to bus.control.
  void set_reset(bool on) {
    model().network_rst_ni = !on;
    bus_edges_ = kIdleEdges;
  }
  void set_bus_reset(bool on) {
    is_bus_reset_ = on;
    model().rst_ni = !on;
    if (on) host_.reset();
    bus_edges_ = kIdleEdges;
  }
  [[nodiscard]] bool is_in_reset() { return model().network_rst_no == 0; }
  [[nodiscard]] std::uint64_t resets() const { return resets_; }

  /// Writes one after the other; each has to succeed.
  void write(std::uint32_t address, std::uint32_t data) {
    host_.offer({.write = true, .address = address, .data = data},
                [](const BusRequest& request, const BusAnswer& answer) {
                  EXPECT_FALSE(answer.error) << "a write to " << std::hex << request.address;
                });
  }
  void write_inputs(std::uint32_t inputs) { write(map::crossbar::kBase + map::crossbar::kInputs, inputs); }
  void write_own(std::uint32_t node) { write(map::crossbar::kBase + map::crossbar::kOwnNode, node); }
  void write_local(std::uint32_t index, std::uint32_t entry) {
    write(map::crossbar::kBase + map::crossbar::kLocals + 4 * index, entry);
  }
  void write_limits(std::uint32_t last_node, std::uint32_t last_unit) {
    write(map::crossbar::kBase + map::crossbar::kLimits,
          last_node << map::crossbar::kLimitsLastNodeShift | last_unit << map::crossbar::kLimitsLastUnitShift);
  }
  void set_patience(std::uint32_t cycles) {
    patience_ = cycles;
    write(map::crossbar::kBase + map::crossbar::kPatience, cycles);
  }
  void use_channels(std::size_t unit, std::uint32_t channels) {
    write(map::crossbar_unit::base(static_cast<std::uint32_t>(unit)) + map::crossbar_unit::kChannels, channels);
  }
  void cut_through(std::size_t unit, bool on) {
    write(map::crossbar_unit::base(static_cast<std::uint32_t>(unit)) + map::crossbar_unit::kCutThrough, on ? 1 : 0);
  }
  /// All but tables and links, as after a reset.
  void write_settings(std::uint32_t own) {
    write_inputs((1U << kPorts) - 1);
    write_own(own);
    write_limits(0xFFFF, 7);
    set_patience(patience_);
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      cut_through(unit, true);
      use_channels(unit, kFirstChannels);
    }
  }
  void switch_link(std::size_t link, bool on) {
    write(map::link::base(static_cast<std::uint32_t>(link)) + map::link::kControl, on ? map::link::kControlOn : 0);
  }
  void set_stalls(std::uint32_t send, std::uint32_t read) {
    for (auto& unit : units_) {
      unit.send.emplace(random_, send);
      unit.read.emplace(random_, read);
    }
  }
  /// The channels that a unit reads.
  void accept(std::size_t unit, std::uint32_t channels) {
    const std::size_t shift = unit * kChannels;
    model().accepts_i = (model().accepts_i & ~(kAllChannels << shift)) | channels << shift;
  }
  void send(std::size_t unit, const Packet& packet) {
    for (const Word& word : words_of(packet)) units_[unit].words.push_back(word);
  }
  void send(std::size_t unit, const Word& word) { units_[unit].words.push_back(word); }
  [[nodiscard]] std::deque<Packet>& came(std::size_t unit) { return units_[unit].came; }
  [[nodiscard]] std::uint64_t first_came(std::size_t unit) const { return units_[unit].first_came; }

  /// Whether words for this unit are held at its port (stopbit_network_tap.sv).
  void hold(std::size_t unit, bool holds) {
    select_tap(unit, 4);
    write(map::crossbar::kBase + map::crossbar::kTapData, holds ? 1 : 0);
    write(map::crossbar::kBase + map::crossbar::kTapData + 4, 0);
    write(map::crossbar::kBase + map::crossbar::kTapStore, 0);
  }
  void select_tap(std::size_t unit, std::uint32_t address) {
    write(map::crossbar::kBase + map::crossbar::kTapSelect, static_cast<std::uint32_t>(unit)
                                                                    << map::crossbar::kTapSelectUnitShift |
                                                                address << map::crossbar::kTapSelectAddressShift);
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

  /// One of the network, and those of the bus in it.
  void cycle() {
    while (!edge()) {
    }
  }
  /// Of the bus alone: the network's clock stops meanwhile.
  void bus_cycles(int count) {
    clocks_.stop(kNetworkClock, true);
    bus_edges_ = count + kIdleEdges;
    for (int i = 0; i < count; ++i) edge();
    clocks_.stop(kNetworkClock, false);
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
  bool expects_packets = true;  ///< What comes to units is whole: the host has not put words in.
  /// Of one port of the switch, unit or link since the last reset of the network, in the order of their registers.
  std::array<std::array<std::uint64_t, 5>, kPorts> port_events{};
  std::array<std::array<std::uint64_t, 4>, kUnits> unit_events{};
  struct LinkEvents {
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    std::uint64_t resent = 0;
    std::uint64_t damaged = 0;
    std::uint64_t dropped = 0;
    std::uint64_t excess = 0;
    std::uint64_t ups = 0;
    std::uint64_t downs = 0;
    std::uint64_t starved = 0;
    std::uint64_t ups_seen = 0;  // read, and so cleared
    std::uint64_t downs_seen = 0;
    bool is_up = false;
  };
  std::array<LinkEvents, kLinks> link_events{};

 private:
  static constexpr std::size_t kBusClock = 0;
  static constexpr std::size_t kNetworkClock = 1;
  static constexpr int kIdleEdges = 20;  ///< For which the bus's clock goes on when the host has nothing to do.
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
  [[nodiscard]] std::uint32_t credits(std::size_t link) {
    return model().links_may_send_o >> (kChannels * link) & kAllChannels;
  }
  static void set(std::uint8_t& bits, std::size_t at, bool to) {
    bits = static_cast<std::uint8_t>((bits & ~(1U << at)) | unsigned{to} << at);
  }
  /// Whether it was one of the network.
  bool edge() {
    const std::uint32_t edges = clocks_.next();
    const bool is_network = (edges >> kNetworkClock & 1) != 0;
    bool is_bus = (edges >> kBusClock & 1) != 0;
    // Nothing happens on an idle bus: that costs time only.
    if (is_bus && !host_.is_idle()) bus_edges_ = kIdleEdges;
    if (is_bus && bus_edges_ == 0) is_bus = false;
    if (!is_bus && !is_network) return false;
    auto& m = model();
    if (is_bus) {
      --bus_edges_;
      is_bus_reset_ ? host_.drive_nothing(m) : host_.drive(m);
    }
    if (is_network) {
      for (std::size_t i = 0; i < kUnits; ++i) offer(i);
    }
    m.eval();
    if (is_bus && !is_bus_reset_) host_.see(m);
    if (is_network) see_network();
    m.clk_i = is_bus;
    m.network_clk_i = is_network;
    m.eval();
    m.clk_i = 0;
    m.network_clk_i = 0;
    m.eval();
    if (is_network) ++cycles_;
    return is_network;
  }
  void see_network() {
    if (is_in_reset()) {
      forget();
      return;
    }
    for (std::size_t i = 0; i < kUnits; ++i) look(i);
    count();
  }
  /// In a reset.
  void forget() {
    if (reset_cycles_++ == 0) ++resets_;
    for (Unit& unit : units_) {
      unit.words.clear();
      unit.coming.reset();
      unit.offers = false;
    }
    port_events = {};
    unit_events = {};
    link_events = {};
  }
  void count() {
    if (reset_cycles_ > 0) {
      EXPECT_GE(reset_cycles_, 4);
    }
    reset_cycles_ = 0;
    const auto& m = model();
    for (std::size_t i = 0; i < kLinks; ++i) {
      const std::uint32_t is = state(i);
      LinkEvents& link = link_events[i];
      const bool up = (is >> 6 & 1) != 0;
      link.sent += is >> 5 & 1;
      link.resent += is >> 4 & 1;
      link.answered += is >> 3 & 1;
      link.dropped += is >> 2 & 1;
      link.damaged += is >> 1 & 1;
      link.excess += is & 1;
      link.ups += up && !link.is_up ? 1 : 0;
      link.downs += !up && link.is_up ? 1 : 0;
      link.is_up = up;
      if (up) link.starved += kChannels - static_cast<std::size_t>(std::popcount(credits(i)));
      counts.resent += is >> 4 & 1;
      counts.lost += is >> 2 & 1;
      counts.damaged += is >> 1 & 1;
      counts.excess += is & 1;
    }
    for (std::size_t i = 0; i < kPorts; ++i) {
      const std::array<std::uint64_t, 5> is{m.unroutable_o >> i & 1U, m.circled_o >> i & 1U, m.discarded_o >> i & 1U,
                                            m.malformed_o >> i & 1U, m.broken_o >> i & 1U};
      for (std::size_t k = 0; k < is.size(); ++k) port_events[i][k] += is[k];
      counts.unroutable += is[0];
      counts.circled += is[1];
      counts.discarded += is[2];
      counts.malformed += is[3];
      counts.broken += is[4];
    }
    for (std::size_t i = 0; i < kUnits; ++i) {
      const std::array<std::uint64_t, 4> is{m.sent_o >> i & 1U, m.refused_o >> i & 1U, m.dropped_o >> i & 1U,
                                            m.unfit_o >> i & 1U};
      for (std::size_t k = 0; k < is.size(); ++k) unit_events[i][k] += is[k];
      counts.sent += is[0];
      counts.refused += is[1];
      counts.dropped += is[2];
    }
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
    if (expects_packets) {
      EXPECT_EQ((m.come_first_o >> i & 1) != 0, !unit.coming.has_value());
    }
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
  RegisterHost<Vrtl_managed_network> host_;
  Clocks clocks_;
  VerilatedContext context_;
  std::unique_ptr<Vrtl_managed_network> model_;
  std::uint64_t cycles_ = 0;
  int bus_edges_ = 0;
  bool is_bus_reset_ = false;
  std::uint64_t resets_ = 0;
  int reset_cycles_ = 0;
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
    // Buses that are as fast as the network, faster and slower, and such as never fall together with it for long.
    constexpr std::array<std::uint64_t, kNodes> kBusPeriods{5'000, 1'600, 12'300, 4'999};
    for (std::size_t i = 0; i < kNodes; ++i)
      nodes_.push_back(std::make_unique<RingNode>(random_, 10 + i, kBusPeriods[i]));
    for (std::size_t i = 0; i < kNodes * kLinks; ++i) wires_.push_back(std::make_unique<Wire>(random_, kWire));
    for (std::size_t i = 0; i < kNodes; ++i) configure(i);
    for (std::size_t i = 0; i < kNodes; ++i) wait_until_ready(i);
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
  static std::uint32_t entry_of(Way way) {
    constexpr std::array<unsigned, kClasses> kAt{6, 17, 22, 27};
    std::uint32_t entry = 0;
    for (const unsigned shift : kAt) entry |= static_cast<std::uint32_t>(way.link << 2 | way.vc) << shift;
    return entry;
  }
  void set_way(std::size_t at, std::size_t to, Way way) {
    nodes_[at]->write_local(static_cast<std::uint32_t>(to), entry_of(way));
  }
  void configure(std::size_t at) {
    wait_for(at, map::bus::kState, map::bus::kStateRuns);
    nodes_[at]->write_settings(static_cast<std::uint32_t>(at));
    for (std::size_t to = 0; to < kNodes; ++to) set_way(at, to, way(at, to));
    for (std::size_t link = 0; link < kLinks; ++link) nodes_[at]->switch_link(link, true);
  }
  void wait_until_ready(std::size_t at) { wait_for(at, map::crossbar::kBase + map::crossbar::kState, 1); }
  void start(std::size_t at) {
    configure(at);
    wait_until_ready(at);
  }
  /// An access of this host, while the network goes on; those that it has begun before are done.
  BusAnswer access(std::size_t at, const BusRequest& request) {
    // On the bus a read may pass a write.
    run([&] { return nodes_[at]->host().is_idle(); });
    std::optional<BusAnswer> answer;
    nodes_[at]->host().offer(request, [&](const BusRequest&, const BusAnswer& got) { answer = got; });
    run([&] { return answer.has_value(); });
    return answer.value_or(BusAnswer{.error = true});
  }
  std::uint32_t read(std::size_t at, std::uint32_t address) {
    const BusAnswer answer = access(at, {.address = address});
    EXPECT_FALSE(answer.error) << "a read of " << std::hex << address;
    return answer.data;
  }
  std::uint64_t read_long(std::size_t at, std::uint32_t address) {
    const std::uint64_t low = read(at, address);
    return low | std::uint64_t{read(at, address + 4)} << 32;
  }
  void wait_for(std::size_t at, std::uint32_t address, std::uint32_t bits) {
    for (int i = 0; (read(at, address) & bits) != bits; ++i) ASSERT_LT(i, 1'000);
  }
  /// Until hosts have their answers.
  void finish_accesses() {
    run([this] { return std::ranges::all_of(nodes_, [](const auto& node) { return node->host().is_idle(); }); });
  }
  [[nodiscard]] bool is_held(std::size_t at, std::size_t unit) {
    nodes_[at]->select_tap(unit, 4);
    finish_accesses();
    return read_long(at, map::crossbar::kBase + map::crossbar::kTapWord) == 1;
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
    if (!collects_) return;
    auto& came = nodes_[node]->came(unit);
    for (; !came.empty(); came.pop_front()) {
      const Start start = Start::of(came.front().start);
      EXPECT_EQ(came.front().start, start.data()) << "its CRC";
      EXPECT_EQ(start.node, node);
      EXPECT_EQ(start.unit, unit);
      ASSERT_LT(start.vpid, kNodes * kUnits);
      auto& queue = expected_[node][unit][start.vpid][start.traffic_class];
      if (may_overtake_) {
        const auto same = std::ranges::find(queue, came.front().payload, &Packet::payload);
        if (same != queue.end()) std::rotate(queue.begin(), same, std::next(same));
      }
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
  /// Counters and states of all nodes are what happened. Nothing is under way; counters that a read clears begin anew.
  void check_registers() {
    for (int i = 0; i < 1'500; ++i) cycle();
    for (std::size_t at = 0; at < kNodes; ++at) {
      RingNode& node = *nodes_[at];
      for (std::uint32_t i = 0; i < kPorts; ++i) {
        for (std::uint32_t k = 0; k < node.port_events[i].size(); ++k) {
          EXPECT_EQ(read(at, map::crossbar_port::base(i) + 4 * k), node.port_events[i][k]) << "port " << i << ", " << k;
        }
      }
      for (std::uint32_t i = 0; i < kUnits; ++i) {
        const std::uint32_t base = map::crossbar_unit::base(i);
        EXPECT_EQ(read_long(at, base + map::crossbar_unit::kSent), node.unit_events[i][0]);
        EXPECT_EQ(read(at, base + map::crossbar_unit::kRefused), node.unit_events[i][1]);
        EXPECT_EQ(read(at, base + map::crossbar_unit::kDropped), node.unit_events[i][2]);
        EXPECT_EQ(read(at, base + map::crossbar_unit::kUnfit), node.unit_events[i][3]);
      }
      for (std::uint32_t i = 0; i < kLinks; ++i) check_link(at, i);
    }
  }
  void check_link(std::size_t at, std::uint32_t i) {
    RingNode::LinkEvents& is = nodes_[at]->link_events[i];
    const std::uint32_t base = map::link::base(i);
    nodes_[at]->write(base + map::link::kSnapshot, 0);
    finish_accesses();
    EXPECT_EQ(read_long(at, base + map::link::kSent), is.sent);
    EXPECT_EQ(read_long(at, base + map::link::kAnswered), is.answered);
    EXPECT_EQ(read(at, base + map::link::kResent), is.resent);
    EXPECT_EQ(read(at, base + map::link::kDamaged), is.damaged);
    EXPECT_EQ(read(at, base + map::link::kDropped), is.dropped);
    EXPECT_EQ(read(at, base + map::link::kExcess), is.excess);
    EXPECT_EQ(read(at, base + map::link::kUps), is.ups);
    EXPECT_EQ(read(at, base + map::link::kDowns), is.downs);
    EXPECT_EQ(read_long(at, base + map::link::kStarved), is.starved);
    const std::uint32_t up = is.is_up ? map::link::kStateUp | kAllChannels << map::link::kStateCreditShift : 0;
    EXPECT_EQ(read(at, base + map::link::kState) & (is.is_up ? ~map::link::kStateNumbered : map::link::kStateUp), up);
    const std::uint32_t events = read(at, base + map::link::kEvents);
    EXPECT_EQ((events & map::link::kEventsWentUp) != 0, is.ups_seen + is.ups > 0);
    EXPECT_EQ((events & map::link::kEventsWentDown) != 0, is.downs_seen + is.downs > 0);
    EXPECT_EQ((events & map::link::kEventsDamaged) != 0, is.damaged > 0);
    EXPECT_EQ((events & map::link::kEventsDropped) != 0, is.dropped > 0);
    EXPECT_EQ((events & map::link::kEventsExcess) != 0, is.excess > 0);
    is.ups_seen += is.ups;
    is.downs_seen += is.downs;
    is.ups = is.downs = is.starved = 0;
    EXPECT_EQ(read(at, base + map::link::kUps), 0U) << "since it was read";
    EXPECT_EQ(read_long(at, base + map::link::kStarved), 0U);
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
  bool collects_ = true;       ///< Otherwise the test looks at what came itself.
  bool may_overtake_ = false;  ///< Payloads are different then.
  std::uint64_t missing_ = 0;
};

}  // namespace stopbit::sim
