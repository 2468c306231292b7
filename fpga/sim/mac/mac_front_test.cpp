#include <Vbench_mac_front.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "datagrams.hpp"
#include "frame_port.hpp"
#include "host/feed/packet/packet.hpp"
#include "mac_driver.hpp"
#include "tests/lib/frames.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint8_t kFrameBad = 15;  // stopbit_front_pkg::VERDICT_FRAME_BAD

class FrontBench final : public MacDriver<Vbench_mac_front> {
 public:
  FrontBench(std::uint64_t seed, std::uint64_t mac_period, std::uint64_t kernel_period)
      : MacDriver(seed, mac_period, kernel_period) {
    model().group_write_i = 0;
    start();
    // The group of tests/lib/frames.hpp.
    BitWriter writer(model().group_i);
    writer.put(1, 8);
    writer.put(7, 16);
    writer.put(10001, 16);
    writer.put(0xE0001F01, 32);
    writer.put(0, 32);
    writer.put(1, 1);
    writer.put(1, 1);
    model().group_index_i = 0;
    model().group_write_i = 1;
    rest(20);
    model().group_write_i = 0;
  }

  std::uint32_t stall = 0;  ///< Percent of the cycles in which what follows takes nothing.

  void send_datagram(std::size_t length) {
    net::testing::ByteVector payload(length);
    for (std::byte& byte : payload) byte = static_cast<std::byte>(random().bits());
    const auto frame = net::testing::ethernet(net::testing::ipv4(net::testing::udp(payload)));
    std::vector<std::uint8_t> bytes;
    for (const std::byte byte : frame) bytes.push_back(static_cast<std::uint8_t>(byte));
    bytes.resize(std::max<std::size_t>(bytes.size(), 60));  // padding
    send(std::move(bytes));
    payloads_[sent().back().arrival] = std::move(payload);
    gap();
  }
  /// At least the time of preamble, FCS and the gap between frames on the wire.
  void gap() {
    const std::uint64_t end = clocks().now_ps() + 24 * mac_byte_ps_;
    while (clocks().now_ps() < end) rest(1);
  }
  void set_line_rate(std::uint64_t mac_period) { mac_byte_ps_ = mac_period / 8; }

  [[nodiscard]] std::size_t accepted() const { return verdicts_.count(0) != 0 ? verdicts_.at(0) : 0; }
  [[nodiscard]] std::size_t verdicts(std::uint8_t verdict) const {
    return verdicts_.count(verdict) != 0 ? verdicts_.at(verdict) : 0;
  }
  [[nodiscard]] std::size_t datagrams() const { return datagrams_; }

 private:
  void before_kernel_edge() override {
    if (!model().rst_ni) return;
    if (model().verdict_valid_o) ++verdicts_[model().verdict_o];
    if (!model().valid_o || !model().ready_i) return;
    const char* fault = nullptr;
    const bool is_whole = collector_.take(model().beat_o, model().datagram_o, fault);
    ASSERT_EQ(fault, nullptr) << fault;
    if (!is_whole) return;
    const SentDatagram& came = collector_.datagram();
    const auto sent = payloads_.find(came.info.arrival_ns);
    ASSERT_NE(sent, payloads_.end()) << "an arrival that was not, or twice";
    ASSERT_EQ(came.bytes, sent->second);
    EXPECT_EQ(came.info.channel, 7U);
    payloads_.erase(payloads_.begin(), std::next(sent));  // in order
    ++datagrams_;
  }
  void after_kernel_edge() override { model().ready_i = !random().chance(stall); }

  std::uint64_t mac_byte_ps_ = 0;
  std::map<std::uint64_t, net::testing::ByteVector> payloads_;  ///< By arrival, those that may come.
  std::map<std::uint8_t, std::size_t> verdicts_;
  std::size_t datagrams_ = 0;
  DatagramCollector collector_;
};

TEST(MacFront, a_full_line_loses_nothing_where_the_kernel_takes_as_much) {
  struct Line {
    std::uint64_t mac_ps;
    std::uint64_t kernel_ps;
  };
  std::uint64_t seed = 40;
  for (const Line line :
       {Line{kMac25Ps, 5'000}, Line{kMac25Ps, 4'000}, Line{kMac10Ps, 10'000}, Line{kMac10Ps, 5'000}}) {
    SCOPED_TRACE(testing::Message() << line.mac_ps << " ps, " << line.kernel_ps << " ps");
    FrontBench bench(++seed, line.mac_ps, line.kernel_ps);
    bench.set_line_rate(line.mac_ps);
    constexpr std::size_t kFrames = 1'500;
    for (std::size_t i = 0; i < kFrames; ++i) {
      bench.send_datagram(bench.random().chance(60) ? bench.random().below(100) : bench.random().below(1'450));
    }
    bench.rest(4'000);
    EXPECT_EQ(bench.datagrams(), kFrames);
    EXPECT_EQ(bench.accepted(), kFrames);
    EXPECT_EQ(bench.model().lost_o, 0U);
    EXPECT_EQ(bench.model().passed_o, kFrames);
    EXPECT_TRUE(bench.model().idle_o);
    if (HasFailure()) return;
  }
}

TEST(MacFront, what_a_slow_kernel_loses_is_counted_and_what_comes_is_whole) {
  for (std::uint64_t seed = 60; seed < 66; ++seed) {
    SCOPED_TRACE(seed);
    FrontBench bench(seed, kMac25Ps, 5'000);
    bench.stall = 90;
    constexpr std::size_t kFrames = 600;
    for (std::size_t i = 0; i < kFrames; ++i) bench.send_datagram(bench.random().below(700));
    bench.stall = 0;
    bench.rest(8'000);
    const std::size_t lost = bench.model().lost_o;
    EXPECT_GT(lost, 0U);
    EXPECT_EQ(bench.datagrams() + lost, kFrames);
    EXPECT_EQ(bench.accepted(), bench.datagrams());
    EXPECT_EQ(bench.verdicts(kFrameBad), bench.model().cut_o) << "a frame that was cut is a bad one for the decoder";
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace stopbit::sim
