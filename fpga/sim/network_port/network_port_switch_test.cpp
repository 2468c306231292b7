#include <Vstopbit_crossbar.h>
#include <Vstopbit_network_port.h>

#include <memory>

#include "bits.hpp"
#include "network_port_bench.hpp"

namespace stopbit::sim {
namespace {

constexpr std::size_t kUnits = 4;
constexpr std::size_t kPorts = 10;
constexpr std::uint16_t kNode = 0x1403;

/// The four units of a node, each with its port, at the switch itself.
class NetworkPortSwitch : public ::testing::Test {
 protected:
  NetworkPortSwitch() {
    for (std::size_t i = 0; i < kUnits; ++i) {
      units_.push_back(std::make_unique<Unit<Vstopbit_network_port>>(random_, 30 + i));
      units_.back()->model().ready_i = 0;
    }
    auto& xbar = *switch_.operator->();
    xbar.up_i = (1U << kPorts) - 1;
    xbar.patience_i = 0;
    xbar.valid_i = 0;
    xbar.freed_i = 0;
    xbar.config_i = 0;
    switch_.reset();
    while (!xbar.ready_o) cycle();
    xbar.config_i = 1;
    xbar.config_ports_i = (1U << kPorts) - 1;
    xbar.config_table_i = 0;  // the number of this node
    xbar.config_address_i = 0;
    xbar.config_data_i = kNode;
    cycle();
    xbar.config_i = 0;
  }

  /// All outputs of both sides come from registers, or depend on nothing that the other one says in the same cycle.
  void cycle() {
    auto& xbar = *switch_.operator->();
    switch_.settle();
    for (std::size_t i = 0; i < kUnits; ++i) {
      auto& port = units_[i]->model();
      units_[i]->offer();
      port.ready_i = xbar.ready_o;
      port.valid_i = xbar.valid_o >> i & 1;
      port.kind_i = static_cast<std::uint8_t>(xbar.kind_o >> (2 * i) & 3);
      port.data_i = bits_at(xbar.data_o, static_cast<unsigned>(64 * i), 64);
      port.freed_i = xbar.freed_o >> i & 1;
      port.freed_channel_i = static_cast<std::uint8_t>(xbar.freed_channel_o >> (4 * i) & 0xF);
      units_[i]->bench().settle();
    }
    xbar.valid_i = 0;
    xbar.freed_i = 0;
    xbar.kind_i = 0;
    xbar.freed_channel_i = 0;
    for (std::size_t i = 0; i < kUnits; ++i) {
      const auto& port = units_[i]->model();
      if (port.valid_o && port.ready_i) xbar.valid_i |= static_cast<std::uint16_t>(1U << i);
      xbar.kind_i |= static_cast<std::uint32_t>(port.kind_o) << (2 * i);
      xbar.data_i[2 * i] = static_cast<std::uint32_t>(port.data_o);
      xbar.data_i[2 * i + 1] = static_cast<std::uint32_t>(port.data_o >> 32);
      if (port.freed_o) xbar.freed_i |= static_cast<std::uint16_t>(1U << i);
      xbar.freed_channel_i |= static_cast<std::uint64_t>(port.freed_channel_o) << (4 * i);
    }
    switch_.settle();
    lost_ += (xbar.stray_o | xbar.cut_o | xbar.overrun_o | xbar.malformed_o | xbar.unroutable_o | xbar.circled_o |
              xbar.discarded_o | xbar.excess_o) != 0;
    for (std::size_t i = 0; i < kUnits; ++i) {
      units_[i]->look();
      units_[i]->bench().step();
      collect(i);
    }
    switch_.step();
  }

  /// The VPID says who sent it: of one sender and channel order is kept.
  void send(std::size_t from, std::size_t to, std::size_t channel, std::size_t cells) {
    Start start = packets_.start();
    start.node = kNode;
    start.unit = to;
    start.traffic_class = channel / kVcs;
    start.vc = channel % kVcs;
    start.vpid = from;
    start.marker = 0;
    const Packet packet = packets_.packet(start, cells);
    units_[from]->send(packet);
    expected_[from][to][start.traffic_class].push_back(packet);
    ++due_;
  }
  void collect(std::size_t to) {
    auto& came = units_[to]->came();
    for (; !came.empty(); came.pop_front()) {
      Start start = Start::of(came.front().start);
      ASSERT_LT(start.vpid, kUnits);
      auto& queue = expected_[start.vpid][to][start.traffic_class];
      ASSERT_FALSE(queue.empty());
      EXPECT_EQ(start.vc, vc_);
      EXPECT_EQ(came.front().start, start.data()) << "its CRC";
      EXPECT_EQ(came.front().payload, queue.front().payload);
      EXPECT_EQ(came.front().is_bad, queue.front().is_bad);
      queue.pop_front();
      --due_;
    }
  }
  void use_channel(std::size_t vc) {
    vc_ = vc;
    for (auto& unit : units_) unit->model().channels_i = static_cast<std::uint16_t>(0b001'001'001'001U << vc);
  }
  template <class Until>
  void run(const Until& until) {
    for (int i = 0; !until(); ++i) {
      ASSERT_LT(i, 300'000) << "stuck: " << due_ << " are due";
      cycle();
      if (HasFailure()) return;
    }
  }

  Random random_{17};
  Packets packets_{random_};
  Bench<Vstopbit_crossbar> switch_{8};
  std::vector<std::unique_ptr<Unit<Vstopbit_network_port>>> units_;
  std::array<std::array<std::array<std::deque<Packet>, kClasses>, kUnits>, kUnits> expected_;
  std::uint64_t due_ = 0;
  std::uint64_t lost_ = 0;
  std::size_t vc_ = 0;
};

TEST_F(NetworkPortSwitch, units_of_a_node_exchange_packets) {
  for (std::size_t vc = 0; vc < kVcs; ++vc) {
    use_channel(vc);
    for (auto& unit : units_) {
      unit->model().cut_through_i = vc != 1;
      unit->set_stalls(static_cast<std::uint32_t>(20 * vc), static_cast<std::uint32_t>(random_.below(40)));
    }
    for (int i = 0; i < 500; ++i) {
      send(random_.below(kUnits), random_.below(kUnits), random_.below(kChannels), random_.below(kMaxPayload + 1));
    }
    run([this] { return due_ == 0; });
    if (HasFailure()) return;
  }
  EXPECT_EQ(lost_, 0U);
  for (const auto& unit : units_) {
    EXPECT_EQ(unit->counts.excess + unit->counts.stray + unit->counts.cut + unit->counts.overrun, 0U);
  }
}

/// 16 cycles in the switch, and what both ports take.
TEST_F(NetworkPortSwitch, a_packet_needs_so_many_cycles_from_unit_to_unit) {
  use_channel(0);
  for (const bool cut_through : {true, false}) {
    units_[2]->model().cut_through_i = cut_through;
    for (const std::size_t cells : {1U, 8U, 32U}) {
      const std::uint64_t begin = units_[2]->cycles();
      send(1, 2, 3, cells);
      run([this] { return due_ == 0; });
      const std::uint64_t words = cells + 1;
      EXPECT_EQ(units_[2]->first_came - begin, words + 2 + 16 + (cut_through ? 6 : 6 + words)) << cells;
      for (int i = 0; i < 30; ++i) cycle();
    }
  }
}

TEST_F(NetworkPortSwitch, a_unit_that_reads_one_channel_only_holds_up_the_others_at_no_port) {
  use_channel(1);
  units_[0]->model().accepts_i = static_cast<std::uint16_t>(kAllChannels & ~(1U << 1));  // not class 0
  for (int i = 0; i < 300; ++i) send(2, 0, 1, 8);
  for (int i = 0; i < 200; ++i) {
    send(1, 0, 4, random_.below(33));
    send(1, 3, 1, random_.below(33));
    send(3, 0, 7, random_.below(33));
  }
  run([this] { return expected_[1][0][1].empty() && expected_[1][3][0].empty() && expected_[3][0][2].empty(); });
  EXPECT_EQ(expected_[2][0][0].size(), 300U);
  units_[0]->model().accepts_i = static_cast<std::uint16_t>(kAllChannels);
  run([this] { return due_ == 0; });
  EXPECT_EQ(lost_, 0U);
}

}  // namespace
}  // namespace stopbit::sim
