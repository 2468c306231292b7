#include "host/ports/dpdk/dpdk_port.hpp"

#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "host/ports/out/frame.hpp"
#include "host/ports/out/socket/udp_sender.hpp"
#include "tests/lib/frames.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/lib/veth.hpp"
#include "tests/unit/ports/captures.hpp"

namespace stopbit::ingest::dpdk_port_test {

using stopbit::testing::Scratch;
using stopbit::testing::Veth;

constexpr net::Endpoint kSource = {0xC0000201, 20'000};
constexpr net::Endpoint kLineA = {0xEF010101, 30'001};
constexpr net::Endpoint kLineB = {0xEF010201, 30'101};
constexpr auto kAccepted = static_cast<std::size_t>(net::Verdict::Accepted);
constexpr auto kNotUdp = static_cast<std::size_t>(net::Verdict::NotUdp);

/// DPDK starts once in a process, so all tests here share it.
class DpdkPort : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const Status started = start_dpdk({.huge_pages = false, .memory_mb = 512});
    ASSERT_TRUE(started.ok()) << started.message();
  }

  static std::vector<std::unique_ptr<Port>> open(const DpdkPortOptions& options) {
    auto opened = open_dpdk_ports(options);
    EXPECT_TRUE(opened.ok()) << opened.message();
    return opened ? std::move(opened).value() : std::vector<std::unique_ptr<Port>>();
  }
  static std::unique_ptr<Port> open_one(const std::string& device) {
    auto ports = open({.device = device});
    return ports.empty() ? nullptr : std::move(ports.front());
  }
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const Arrival& arrival) {
  return {reinterpret_cast<const char*>(arrival.payload.data()), arrival.payload.size()};
}

/// Polls until `expected` datagrams have come, however slow this machine is, and a little longer: what comes then is
/// too much. @returns the payloads by destination.
std::map<std::string, std::vector<std::string>> drain(Port& port, std::size_t expected,
                                                      std::vector<Arrival>* arrivals = nullptr) {
  using Clock = std::chrono::steady_clock;
  std::map<std::string, std::vector<std::string>> received;
  std::vector<Arrival> batch(64);
  std::size_t total = 0;
  auto until = Clock::now() + std::chrono::seconds(20);
  bool complete = false;
  while (Clock::now() < until) {
    const std::size_t count = port.poll(batch);
    total += count;
    for (const Arrival& arrival : std::span(batch).first(count)) {
      received[net::to_text(arrival.destination)].push_back(text_of(arrival));
      if (arrivals != nullptr) arrivals->push_back(arrival);
    }
    if (total >= expected && !complete) {
      complete = true;
      until = Clock::now() + std::chrono::milliseconds(20);
    }
  }
  return received;
}

std::string record_of(std::span<const std::byte> frame) {
  return testing::pcap_record(100, 0, {reinterpret_cast<const char*>(frame.data()), frame.size()});
}

TEST_F(DpdkPort, hands_out_each_datagram_of_a_capture_once) {
  constexpr std::size_t kDatagrams = 5'000;
  egress::FrameBuilder line_a(kSource, kLineA);
  egress::FrameBuilder line_b(kSource, kLineB);
  std::string file = testing::pcap_header({.nanoseconds = false});
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kDatagrams; ++i) {
    const std::string text = "datagram " + std::to_string(i) + std::string(i % 1'400, '.');
    const auto frame = (i % 2 == 0 ? line_a : line_b).build(bytes_of(text));
    file += record_of(frame);
    bytes += frame.size();
    if (i % 10 == 0) {
      file += record_of(net::testing::ethernet({}, net::testing::be16(0x0806)));
      bytes += 14;
    }
  }
  const Scratch scratch;
  const std::string capture = scratch.write("capture.pcap", file);
  const auto port = open_one("net_pcap_once,rx_pcap=" + capture);
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->name(), "dpdk net_pcap_once");
  auto received = drain(*port, kDatagrams);
  ASSERT_EQ(received["239.1.1.1:30001"].size(), kDatagrams / 2);
  ASSERT_EQ(received["239.1.2.1:30101"].size(), kDatagrams / 2);
  for (std::size_t i = 0; i < kDatagrams; ++i) {
    const std::string& got = received[i % 2 == 0 ? "239.1.1.1:30001" : "239.1.2.1:30101"][i / 2];
    EXPECT_EQ(got, "datagram " + std::to_string(i) + std::string(i % 1'400, '.'));
  }
  const PortCounters& counters = port->counters();
  EXPECT_EQ(counters.frames.value(), kDatagrams + kDatagrams / 10);
  EXPECT_EQ(counters.bytes.value(), bytes);
  EXPECT_EQ(counters.verdicts[kAccepted].value(), kDatagrams);
  EXPECT_EQ(counters.verdicts[static_cast<std::size_t>(net::Verdict::NotIp)].value(), kDatagrams / 10);
  EXPECT_EQ(counters.dropped_by_nic.value(), 0U);
}

TEST_F(DpdkPort, keeps_a_batch_as_it_is_until_the_next_poll) {
  std::string file = testing::pcap_header({.nanoseconds = false});
  egress::FrameBuilder builder(kSource, kLineA);
  for (char c = 'a'; c <= 'z'; ++c) file += record_of(builder.build(bytes_of(std::string(100, c))));
  const Scratch scratch;
  const std::string capture = scratch.write("capture.pcap", file);
  const auto port = open_one("net_pcap_batch,rx_pcap=" + capture);
  ASSERT_NE(port, nullptr);
  std::vector<Arrival> batch(20);
  const std::size_t count = port->poll(batch);
  ASSERT_EQ(count, 20U);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(text_of(batch[i]), std::string(100, static_cast<char>('a' + i)));
    EXPECT_EQ(batch[i].source, kSource);
    EXPECT_EQ(batch[i].time_quality, record::TimeQuality::Poll);
  }
}

TEST_F(DpdkPort, counts_a_datagram_longer_than_its_buffers_as_cut) {
  std::string file = testing::pcap_header({.nanoseconds = false});
  egress::FrameBuilder builder(kSource, kLineA);
  for (const std::size_t size : {1'000U, 5'000U, 1'001U}) {
    file += record_of(builder.build(bytes_of(std::string(size, 'x'))));
  }
  const Scratch scratch;
  const std::string capture = scratch.write("capture.pcap", file);
  const auto port = open_one("net_pcap_long,rx_pcap=" + capture);
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(drain(*port, 2)["239.1.1.1:30001"],
            (std::vector<std::string>{std::string(1'000, 'x'), std::string(1'001, 'x')}));
  EXPECT_EQ(port->counters().verdicts[static_cast<std::size_t>(net::Verdict::SnapCut)].value(), 1U);
}

/// A device whose queues get back what is sent to them.
class Loop {
 public:
  Loop(const char* name, std::uint16_t queues) {
    auto opened =
        open_dpdk_ports({.device = name, .queues = queues, .descriptors = 256, .burst = 16, .address = 0x0A090002});
    EXPECT_TRUE(opened.ok()) << opened.message();
    if (opened) ports = std::move(opened).value();
    EXPECT_EQ(rte_eth_dev_get_port_by_name(name, &number_), 0);
    pool_ = rte_pktmbuf_pool_create((std::string("test") + name).c_str(), 1'023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    EXPECT_NE(pool_, nullptr);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    ports.clear();
    rte_mempool_free(pool_);
  }

  [[nodiscard]] bool send(std::span<const std::byte> frame, std::uint16_t queue = 0) {
    rte_mbuf* buffer = rte_pktmbuf_alloc(pool_);
    if (buffer == nullptr) return false;
    std::memcpy(rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(frame.size())), frame.data(), frame.size());
    return rte_eth_tx_burst(number_, queue, &buffer, 1) == 1;
  }
  [[nodiscard]] unsigned buffers_out() const { return rte_mempool_in_use_count(pool_); }

  std::vector<std::unique_ptr<Port>> ports;

 private:
  std::uint16_t number_ = 0;
  rte_mempool* pool_ = nullptr;
};

TEST_F(DpdkPort, gives_every_buffer_back) {
  Loop loop("net_ring_buffers", 1);
  ASSERT_EQ(loop.ports.size(), 1U);
  egress::FrameBuilder builder(kSource, kLineA);
  std::vector<Arrival> batch(16);
  for (int round = 0; round < 20'000; ++round) {
    ASSERT_TRUE(loop.send(builder.build(bytes_of(std::to_string(round))))) << "buffers have leaked";
    ASSERT_EQ(loop.ports[0]->poll(batch), 1U);
    ASSERT_EQ(text_of(batch[0]), std::to_string(round));
    ASSERT_EQ(loop.buffers_out(), 1U) << "where the card wrote it";
  }
  EXPECT_EQ(loop.ports[0]->poll(batch), 0U);
  EXPECT_EQ(loop.buffers_out(), 0U);
}

TEST_F(DpdkPort, speaks_igmp) {
  Loop loop("net_ring_igmp", 1);
  ASSERT_EQ(loop.ports.size(), 1U);
  Port& port = *loop.ports[0];
  std::vector<Arrival> batch(16);
  ASSERT_TRUE(port.join({kLineA, kSource.address}).ok());
  EXPECT_EQ(port.poll(batch), 0U);
  EXPECT_GE(port.counters().verdicts[kNotUdp].value(), 1U) << "the report of the join came back";
  drain(port, 0);
  const std::uint64_t before = port.counters().verdicts[kNotUdp].value();
  EXPECT_TRUE(loop.send(net::testing::ethernet(net::testing::ipv4(net::testing::bytes({0x11, 100, 0, 0, 0, 0, 0, 0}),
                                                                  net::testing::bytes({0x94, 4, 0, 0}), 2))));
  for (int wait = 0; wait < 50 && port.counters().verdicts[kNotUdp].value() < before + 2; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(port.poll(batch), 0U);
  }
  EXPECT_EQ(port.counters().verdicts[kNotUdp].value(), before + 2) << "the query, and our answer";
}

TEST_F(DpdkPort, keeps_queues_apart) {
  Loop loop("net_ring_queues", 3);
  ASSERT_EQ(loop.ports.size(), 3U);
  egress::FrameBuilder builder(kSource, kLineA);
  std::vector<Arrival> batch(16);
  for (std::uint16_t queue = 0; queue < 3; ++queue) {
    EXPECT_TRUE(loop.send(builder.build(bytes_of(std::to_string(queue))), queue));
  }
  for (std::uint16_t queue = 0; queue < 3; ++queue) {
    Port& port = *loop.ports[queue];
    EXPECT_EQ(port.name(), "dpdk net_ring_queues queue " + std::to_string(queue));
    ASSERT_EQ(port.poll(batch), 1U);
    EXPECT_EQ(text_of(batch[0]), std::to_string(queue));
  }
}

TEST_F(DpdkPort, brings_a_group_to_its_queue_wherever_the_card_puts_it) {
  constexpr std::uint16_t kQueues = 3;
  constexpr std::size_t kRounds = 5'000;
  Loop loop("net_ring_handover", kQueues);
  ASSERT_EQ(loop.ports.size(), kQueues);
  std::vector<egress::FrameBuilder> builders;
  for (std::uint16_t queue = 0; queue < kQueues; ++queue) {
    const net::Endpoint group = {kLineA.address + queue, kLineA.port};
    builders.emplace_back(kSource, group);
    ASSERT_TRUE(loop.ports[queue]->join({group, queue == 1 ? std::optional(kSource.address) : std::nullopt}).ok());
    EXPECT_EQ(
        std::count(loop.ports[queue]->notes().begin(), loop.ports[queue]->notes().end(),
                   "the card has no flow rules: packets that arrive on another queue than their group's are handed "
                   "over in software"),
        1);
  }
  EXPECT_EQ(loop.ports[2]->join({{kLineA.address + 1, kLineA.port}, std::nullopt}).message(),
            "dpdk net_ring_handover: 239.1.1.2:30001 is already assigned to queue 1; a group has one queue");

  std::vector<Arrival> batch(16);
  std::array<std::vector<std::string>, kQueues> received;
  const auto poll_all = [&] {
    std::size_t count = 0;
    for (std::uint16_t queue = 0; queue < kQueues; ++queue) {
      const std::size_t got = loop.ports[queue]->poll(batch);
      for (const Arrival& arrival : std::span(batch).first(got)) received[queue].push_back(text_of(arrival));
      count += got;
    }
    return count;
  };
  for (int round = 0; round < 4; ++round) poll_all();  // the reports of the joins come back
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::uint16_t group = 0; group < kQueues; ++group) {
      const auto text = std::to_string(round);
      // Each group to one wrong queue, as RSS would.
      ASSERT_TRUE(loop.send(builders[group].build(bytes_of(text)), static_cast<std::uint16_t>((group + 1) % kQueues)));
    }
    if (round % 7 == 0) poll_all();
  }
  for (int quiet = 0; quiet < 2;) quiet = poll_all() == 0 ? quiet + 1 : 0;
  for (std::uint16_t queue = 0; queue < kQueues; ++queue) {
    ASSERT_EQ(received[queue].size(), kRounds) << "queue " << queue;
    for (std::size_t round = 0; round < kRounds; ++round) ASSERT_EQ(received[queue][round], std::to_string(round));
    const PortCounters& counters = loop.ports[queue]->counters();
    EXPECT_EQ(counters.verdicts[kAccepted].value(), kRounds);
    std::uint64_t verdicts = 0;
    for (const PortCounter& verdict : counters.verdicts) verdicts += verdict.value();
    EXPECT_EQ(counters.frames.value(), verdicts);
    EXPECT_EQ(counters.dropped_by_nic.value(), 0U);
  }
}

TEST_F(DpdkPort, hands_out_what_nobody_has_joined_where_it_came) {
  Loop loop("net_ring_stray", 2);
  ASSERT_EQ(loop.ports.size(), 2U);
  ASSERT_TRUE(loop.ports[0]->join({kLineA, kSource.address}).ok());
  egress::FrameBuilder other_sender({kSource.address + 1, kSource.port}, kLineA);
  EXPECT_TRUE(loop.send(other_sender.build(bytes_of("stray")), 1));
  EXPECT_EQ(drain(*loop.ports[1], 1)["239.1.1.1:30001"], std::vector<std::string>{"stray"});
}

TEST_F(DpdkPort, counts_what_finds_no_room_on_its_way_to_a_queue_that_nobody_polls) {
  Loop loop("net_ring_full", 2);
  ASSERT_EQ(loop.ports.size(), 2U);
  ASSERT_TRUE(loop.ports[1]->join({kLineA, std::nullopt}).ok());
  egress::FrameBuilder builder(kSource, kLineA);
  std::vector<Arrival> batch(16);
  constexpr std::size_t kSent = 5'000;
  for (std::size_t i = 0; i < kSent; ++i) {
    ASSERT_TRUE(loop.send(builder.build(bytes_of(std::to_string(i)))));
    EXPECT_EQ(loop.ports[0]->poll(batch), 0U);
  }
  const std::size_t on_its_way = loop.buffers_out();
  EXPECT_LT(on_its_way, kSent) << "bounded";
  const auto received = drain(*loop.ports[1], on_its_way).at("239.1.1.1:30001");
  EXPECT_EQ(received.size(), on_its_way);
  EXPECT_EQ(received.front(), "0");
  // The counters of the card are brought up to date now and then.
  const auto dropped = [&] { return loop.ports[1]->counters().dropped_by_nic.value(); };
  for (int wait = 0; wait < 250 && dropped() < kSent - on_its_way; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(loop.ports[1]->poll(batch), 0U);
  }
  EXPECT_EQ(dropped(), kSent - on_its_way);
  EXPECT_EQ(loop.buffers_out(), 0U);
}

/// What the other end of the cable sees of IGMP, by type of the first record of each report.
class IgmpWatch {
 public:
  explicit IgmpWatch(const Veth& veth) {
    stopbit::testing::run_in([&veth] { veth.enter_sender(); },
                             [this] {
                               socket_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_IP));
                               sockaddr_ll address{};
                               address.sll_family = AF_PACKET;
                               address.sll_protocol = htons(ETH_P_IP);
                               address.sll_ifindex = static_cast<int>(::if_nametoindex(Veth::kSender));
                               EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
                             });
  }
  IgmpWatch(const IgmpWatch&) = delete;
  IgmpWatch& operator=(const IgmpWatch&) = delete;
  ~IgmpWatch() { ::close(socket_); }

  [[nodiscard]] std::vector<int> record_types() const {
    std::vector<int> types;
    std::array<std::uint8_t, 2'048> frame{};
    for (ssize_t size = 0; (size = ::recv(socket_, frame.data(), frame.size(), 0)) > 0;) {
      if (size > 46 && frame[23] == 2 && frame[38] == 0x22) types.push_back(frame[46]);
    }
    return types;
  }

 private:
  int socket_ = -1;
};

TEST_F(DpdkPort, receives_multicast_through_af_packet) {
  std::string why;
  const auto veth = Veth::make(why);
  if (veth == nullptr) GTEST_SKIP() << why;
  veth->enter_receiver();
  const IgmpWatch watch(*veth);
  auto port = open_one("net_af_packet_veth,iface=rx0,blocksz=65536,framesz=2048,framecnt=32768");
  ASSERT_NE(port, nullptr);
  ASSERT_TRUE(port->join({kLineA, Veth::kSenderAddress}).ok());
  constexpr std::size_t kDatagrams = 10'000;
  std::thread sender([&] {
    veth->enter_sender();
    auto opened = egress::UdpSender::open({.interface = Veth::kSender, .source = {Veth::kSenderAddress, 20'000}});
    ASSERT_TRUE(opened.ok()) << opened.message();
    egress::UdpSender out = std::move(opened).value();
    for (std::size_t i = 0; i < kDatagrams; ++i) {
      const std::string text = std::to_string(i);
      out.add(kLineA, bytes_of(text));
      out.flush();
    }
    EXPECT_EQ(out.datagrams(), kDatagrams);
  });
  std::vector<Arrival> arrivals;
  const auto received = drain(*port, kDatagrams, &arrivals);
  sender.join();
  const auto& texts = received.at("239.1.1.1:30001");
  ASSERT_EQ(texts.size(), kDatagrams);
  for (std::size_t i = 0; i < kDatagrams; ++i) ASSERT_EQ(texts[i], std::to_string(i));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const Arrival& arrival : arrivals) {
    ASSERT_EQ(arrival.source.address, Veth::kSenderAddress);
    ASSERT_NE(arrival.time_quality, record::TimeQuality::Synthetic);
    ASSERT_LE(arrival.arrival_ns, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
  constexpr int kIncludes = 1;
  constexpr int kBlocks = 6;
  EXPECT_EQ(watch.record_types().front(), kIncludes) << "told the network what it wants";
  port.reset();
  EXPECT_EQ(watch.record_types().back(), kBlocks) << "and that it wants it no longer";
}

TEST_F(DpdkPort, opens_a_device_again_after_it_was_closed) {
  const Scratch scratch;
  const std::string capture =
      scratch.write("capture.pcap", testing::pcap_header({.nanoseconds = false}) +
                                        record_of(egress::FrameBuilder(kSource, kLineA).build(bytes_of("x"))));
  for (int round = 0; round < 3; ++round) {
    const auto port = open_one("net_pcap_again,rx_pcap=" + capture);
    ASSERT_NE(port, nullptr);
    EXPECT_EQ(drain(*port, 1)["239.1.1.1:30001"].size(), 1U);
  }
}

TEST_F(DpdkPort, says_what_is_wrong) {
  EXPECT_EQ(start_dpdk({}).message(), "dpdk: already started");
  EXPECT_EQ(open_dpdk_ports({.device = "net_pcap_no,rx_pcap=/nonexistent"})
                .message()
                .find("dpdk net_pcap_no: no such device, or it cannot start: "),
            0U);
  EXPECT_EQ(open_dpdk_ports({.device = "0000:99:00.0"}).message().find("dpdk 0000:99:00.0: no such device"), 0U);
  EXPECT_EQ(open_dpdk_ports({.device = ""}).message(), "dpdk: the name of the device is missing");
  EXPECT_EQ(open_dpdk_ports({.device = "x", .burst = 0}).message(), "dpdk: burst is 0, must be from 1 to 512");
  EXPECT_EQ(open_dpdk_ports({.device = "net_ring_many", .queues = 17}).message(),
            "dpdk: queues is 17, must be from 1 to 16");
  EXPECT_EQ(start_dpdk({.memory_mb = 1}).message(), "dpdk: memory_mb is 1, must be from 64 to 65536");
}

}  // namespace stopbit::ingest::dpdk_port_test
