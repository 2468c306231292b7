#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/device/card_station.hpp"
#include "host/device/generated/registers.hpp"
#include "host/device/kernel.hpp"
#include "kernel_model.hpp"
#include "model_device.hpp"
#include "tests/lib/frames.hpp"
#include "tests/lib/igmp_frames.hpp"
#include "tests/lib/snooping_switch.hpp"

// The kernel as a station of its network, driven by the host's own code: queries and requests in at s_axis_rx, answers
// out at m_axis_tx.

namespace stopbit::sim {
namespace {

namespace reg = device::registers::station;
using test::query_frame;

constexpr ingest::StationAddress kOwn{.mac = {2, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE}, .address = 0x0A010203};
constexpr std::uint32_t kGroup = 0xEF010101;
constexpr std::uint32_t kState = reg::base(0) + reg::kState;
constexpr std::uint64_t kSecond = 1'000'000'000;

/// Counts accesses of registers.
class Counting final : public device::Device {
 public:
  explicit Counting(device::Device& in) : in_(in) {}
  Result<std::uint32_t> read(std::uint32_t offset) override {
    ++reads;
    return in_.read(offset);
  }
  Status write(std::uint32_t offset, std::uint32_t value) override {
    ++writes;
    return in_.write(offset, value);
  }
  Result<std::unique_ptr<device::HostBuffer>> allocate(std::size_t bytes) override { return in_.allocate(bytes); }
  unsigned reads = 0;
  unsigned writes = 0;

 private:
  device::Device& in_;
};

class StationKernel {
 public:
  explicit StationKernel(std::uint64_t seed, std::uint32_t stall = 0, std::size_t groups = 1)
      : model(seed, stall), inner_(model), device(inner_) {
    model.on_frame([this](std::vector<std::byte> frame) { left.push_back(std::move(frame)); });
    auto kernel = device::Kernel::open(device);
    EXPECT_TRUE(kernel.ok()) << kernel.message();
    EXPECT_TRUE(kernel.value().set_intake({.frames = true, .drop_when_full = true}));
    EXPECT_TRUE(kernel.value().receive(true));
    std::vector<net::Membership> memberships;
    for (std::uint32_t i = 0; i < groups; ++i) memberships.push_back({{kGroup + i, 30'000}, std::nullopt});
    station.emplace(device, memberships, device::StationOptions{.own = kOwn, .seed = seed});
    const Status begun = station->begin();
    EXPECT_TRUE(begun.ok()) << begun.message();
    (void)errors();  // it has given up a frame that nothing had been written of
  }
  /// A step at a time, as a thread that never sleeps takes them, for this long.
  void run(std::uint64_t ns, std::uint64_t step_ns = 5'000'000) {
    for (const std::uint64_t end = now + ns; now < end; now += step_ns) {
      device.reads = device.writes = 0;
      const Result<bool> done = station->step(now);
      ASSERT_TRUE(done.ok()) << done.message();
      EXPECT_LE(device.reads, device::CardStation::kReadsOfStep);
      EXPECT_LE(device.writes, device::CardStation::kWritesOfStep + 1);
      model.run(2);
    }
  }
  void come(std::vector<std::byte> frame) {
    model.send({.bytes = std::move(frame)});
    while (model.waiting() != 0) model.run(10);
    model.run(20);
  }
  std::uint32_t errors() { return device::Kernel::open(device).value().take_errors().value(); }

  KernelModel model;
  std::vector<std::vector<std::byte>> left;
  std::uint64_t now = kSecond;

 private:
  ModelDevice inner_;

 public:
  Counting device;
  std::optional<device::CardStation> station;
};

TEST(KernelStation, joins_answers_and_leaves_with_and_without_stalls) {
  for (const std::uint32_t stall : {0U, 60U}) {
    StationKernel kernel(40 + stall, stall);
    kernel.run(3 * kSecond);
    ASSERT_EQ(kernel.left.size(), 2U) << "joins, with the repeat";
    for (const auto& frame : kernel.left) {
      EXPECT_EQ(frame.size(), 60U);
      EXPECT_EQ(test::reported(frame), (std::vector<test::Reported>{{4, kGroup, {}}}));
    }
    kernel.come(query_frame({.code = 5, .is_version_3 = true}));
    std::vector<std::uint32_t> many(100);
    for (std::uint32_t i = 0; i < many.size(); ++i) many[i] = i;
    kernel.come(query_frame({.group = kGroup, .code = 5, .is_version_3 = true, .sources = many}));
    kernel.come(test::arp_request(kOwn.address));
    kernel.run(2 * kSecond);
    ASSERT_EQ(kernel.left.size(), 5U);
    EXPECT_EQ(std::count_if(kernel.left.begin(), kernel.left.end(),
                            [](const auto& frame) { return frame[13] == std::byte{6}; }),
              1)
        << "an answer to ARP";
    EXPECT_EQ(kernel.station->counters().frames.queries, 2U);
    EXPECT_EQ(kernel.station->counters().frames.refused, 0U);
    kernel.left.clear();
    kernel.station->leave(kernel.now);
    kernel.model.run(200);
    ASSERT_EQ(kernel.left.size(), 2U);
    EXPECT_EQ(test::reported(kernel.left[0]), (std::vector<test::Reported>{{3, kGroup, {}}}));
    EXPECT_EQ(kernel.errors(), 0U);
    EXPECT_EQ(kernel.model.problem(), "");
  }
}

TEST(KernelStation, a_mac_that_takes_nothing_is_seen_and_makes_nothing_else_wait) {
  StationKernel kernel(43);
  kernel.model.shut_mac(true);
  kernel.run(kSecond);
  kernel.come(query_frame({.code = 1, .is_version_3 = true}));
  kernel.run(kSecond);
  EXPECT_EQ(kernel.station->counters().frames.queries, 1U);
  EXPECT_GT(kernel.station->counters().stuck_ns, kSecond);
  EXPECT_TRUE(kernel.left.empty());
  kernel.station->leave(kernel.now);  // ends, though the MAC takes nothing
  EXPECT_EQ(kernel.errors(), 0U);
  kernel.model.shut_mac(false);
  kernel.model.run(100);
  EXPECT_EQ(kernel.left.size(), 1U);
}

TEST(KernelStation, a_flood_is_lost_on_the_card_and_counted) {
  StationKernel kernel(44);
  kernel.run(3 * kSecond);
  kernel.left.clear();
  auto bad = query_frame({.code = 0, .is_version_3 = true});
  bad[40] ^= std::byte{1};
  for (int i = 0; i < 150; ++i) kernel.come(i % 2 == 0 ? bad : query_frame({.code = 0, .is_version_3 = true}));
  kernel.run(6 * kSecond);
  const device::StationCounters& counters = kernel.station->counters();
  EXPECT_EQ(counters.frames.queries + counters.frames.refused + counters.lost, 150U);
  EXPECT_GT(counters.lost, 50U);
  EXPECT_LE(kernel.left.size(), 31U);
  EXPECT_GE(kernel.left.size(), 1U);
  // A frame longer than what the host takes, that fits the card.
  auto giant = query_frame({.code = 0, .is_version_3 = true});
  giant.resize(3'000);
  kernel.come(giant);
  kernel.come(query_frame({.code = 1, .is_version_3 = true}));
  const std::uint64_t refused = counters.frames.refused;
  kernel.left.clear();
  kernel.run(3 * kSecond);
  EXPECT_EQ(counters.frames.refused, refused + 1);
  EXPECT_EQ(kernel.left.size(), 1U);
}

TEST(KernelStation, forgets_what_an_earlier_process_left) {
  StationKernel kernel(45);
  kernel.model.run(10);
  kernel.come(test::arp_request(kOwn.address));
  for (int i = 0; i < 30; ++i) (void)kernel.device.write(reg::base(0) + reg::kWord, 7);
  EXPECT_NE(kernel.model.read(kState) & reg::kStateKept, 0U);
  kernel.station.emplace(kernel.device, std::vector<net::Membership>{{{kGroup, 1}, std::nullopt}},
                         device::StationOptions{.own = kOwn, .seed = 1});
  EXPECT_TRUE(kernel.station->begin());
  EXPECT_EQ(kernel.model.read(kState) & reg::kStateKept, 0U);
  (void)kernel.errors();
  kernel.run(100'000'000);
  ASSERT_EQ(kernel.left.size(), 1U);
  EXPECT_EQ(test::reported(kernel.left[0]).size(), 1U);
  EXPECT_EQ(kernel.station->counters().frames.requests, 0U);
  EXPECT_EQ(kernel.errors(), 0U);
}

TEST(KernelStation, gets_a_group_from_a_switch_that_snoops_as_long_as_the_querier_hears_it) {
  constexpr std::uint32_t kFeed = 0xE0001F01;  // of net::testing::udp
  constexpr std::uint64_t kTurn = kSecond / 5;
  StationKernel kernel(46, 20);
  device::Kernel registers = device::Kernel::open(kernel.device).value();
  ASSERT_TRUE(registers.set_group(0, device::Group{.address = kFeed, .port = 10'001}));
  kernel.station.emplace(kernel.device, std::vector<net::Membership>{{{kFeed, 10'001}, std::nullopt}},
                         device::StationOptions{.own = kOwn, .seed = 46});
  ASSERT_TRUE(kernel.station->begin());
  test::SnoopingSwitch snooping;
  const auto run = [&](std::uint64_t ns, bool is_deaf) {
    for (const std::uint64_t end = kernel.now + ns; kernel.now < end;) {
      kernel.run(kTurn, kTurn);
      for (const auto& frame : kernel.left) {
        if (!is_deaf) snooping.learn(frame, kernel.now);
      }
      kernel.left.clear();
    }
  };
  // A sender beyond the switch. @returns whether its datagram has come to the decoder.
  const auto arrives = [&] {
    const std::uint64_t before = registers.counters().value().datagrams;
    auto frame = net::testing::ethernet(net::testing::ipv4(net::testing::udp(net::testing::bytes("news"))));
    frame.resize(60);
    if (snooping.passes(kFeed, kernel.now)) kernel.come(frame);
    kernel.model.run(200);
    return registers.counters().value().datagrams != before;
  };
  EXPECT_FALSE(arrives()) << "not joined";
  run(3 * kSecond, false);
  EXPECT_TRUE(arrives());
  for (int query = 0; query < 4; ++query) {  // of both versions, a time longer than the switch believes one report
    const std::size_t before = snooping.reports;
    kernel.come(query_frame({.code = 50, .is_version_3 = query < 2}));
    run(6 * kSecond, false);
    EXPECT_GT(snooping.reports, before) << query;
    run(70 * kSecond, false);
  }
  EXPECT_TRUE(arrives());
  run(262 * kSecond, true);  // what the card says is lost
  EXPECT_FALSE(arrives()) << "its time is over";
  run(65 * kSecond, false);
  EXPECT_TRUE(arrives()) << "heard again, without a query";
  kernel.station->leave(kernel.now);
  kernel.model.run(1'000);
  run(kTurn, false);
  EXPECT_FALSE(arrives()) << "it has left";
  EXPECT_EQ(kernel.model.problem(), "");
}

}  // namespace
}  // namespace stopbit::sim
