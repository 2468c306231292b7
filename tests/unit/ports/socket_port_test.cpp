#include "host/ports/socket/socket_port.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "host/os/clock.hpp"
#include "host/ports/out/socket/udp_sender.hpp"
#include "tests/lib/veth.hpp"

namespace stopbit::ingest::socket_port_test {

using testing::Veth;

constexpr net::Endpoint kLineA = {0xEF010101, 30'001};
constexpr net::Endpoint kLineB = {0xEF010201, 30'101};

/// Text of the datagrams that have come, by destination.
struct Received {
  std::map<std::string, std::vector<std::string>> payloads;
  std::vector<Arrival> arrivals;  ///< Without their payloads.
};

/// Polls until `expected` datagrams have come, however slow this machine is, and a little longer: what comes then is
/// too much. With what the kernel has dropped counted as come, if the caller wants that.
Received drain(Port& port, std::size_t expected, bool count_drops = false) {
  using Clock = std::chrono::steady_clock;
  Received received;
  std::vector<Arrival> batch(32);
  auto until = Clock::now() + std::chrono::seconds(20);
  bool complete = false;
  while (Clock::now() < until) {
    const std::size_t count = port.poll(batch);
    for (const Arrival& arrival : std::span(batch).first(count)) {
      received.payloads[net::to_text(arrival.destination)].emplace_back(
          reinterpret_cast<const char*>(arrival.payload.data()), arrival.payload.size());
      received.arrivals.push_back(arrival);
      received.arrivals.back().payload = {};
    }
    const std::uint64_t drops = count_drops ? port.counters().dropped_by_kernel.value() : 0;
    if (received.arrivals.size() + drops >= expected && !complete) {
      complete = true;
      until = Clock::now() + std::chrono::milliseconds(20);
    }
  }
  return received;
}

class SocketPort : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    veth_ = Veth::make(why);
    if (veth_ == nullptr) GTEST_SKIP() << why;
    veth_->enter_receiver();
  }

  /// The test's thread stays in the receiver's namespace.
  void send(const std::vector<std::pair<net::Endpoint, std::string>>& datagrams,
            std::uint32_t source = Veth::kSenderAddress) {
    testing::run_in([this] { veth_->enter_sender(); },
                    [&] {
                      auto opened = egress::UdpSender::open({.interface = Veth::kSender, .source = {source, 20'000}});
                      ASSERT_TRUE(opened.ok()) << opened.message();
                      egress::UdpSender sender = std::move(opened).value();
                      for (const auto& [group, text] : datagrams) {
                        sender.add(group, std::as_bytes(std::span(text)));
                      }
                      sender.flush();
                      EXPECT_EQ(sender.refused(), 0U) << std::strerror(sender.last_error());
                    });
  }

  std::unique_ptr<Port> open(SocketPortOptions options = {}) {
    options.interface = Veth::kReceiver;
    auto opened = open_socket_port(options);
    EXPECT_TRUE(opened.ok()) << opened.message();
    return std::move(opened).value();
  }

  static void join(Port& port, net::Endpoint group, std::optional<std::uint32_t> source = std::nullopt) {
    const auto joined = port.join({group, source});
    EXPECT_TRUE(joined.ok()) << joined.message();
  }

  /// Groups and sources that this namespace asks the network for, as the kernel lists them.
  static std::string source_filters() {
    std::ifstream file("/proc/thread-self/net/mcfilter");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::unique_ptr<Veth> veth_;
};

TEST_F(SocketPort, hands_out_what_the_groups_got_with_its_addresses_and_kernel_times) {
  // The kernel begins to stamp some time after the first socket asks for it, in a worker.
  const auto first = open();
  join(*first, kLineB, Veth::kSenderAddress);
  for (auto quality = record::TimeQuality::Poll; quality != record::TimeQuality::Kernel;) {
    send({{kLineB, "stamped?"}});
    const Received stamped = drain(*first, 1);
    ASSERT_FALSE(stamped.arrivals.empty());
    quality = stamped.arrivals.back().time_quality;
  }
  const auto port = open();
  join(*port, kLineA, Veth::kSenderAddress);
  join(*port, kLineB, Veth::kSenderAddress);
  const std::uint64_t before = os::wall_clock_ns();
  send({{kLineA, "one"}, {kLineB, "one"}, {kLineA, "two"}, {kLineB, ""}});
  const Received received = drain(*port, 4);
  EXPECT_EQ(received.payloads.at("239.1.1.1:30001"), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(received.payloads.at("239.1.2.1:30101"), (std::vector<std::string>{"one", ""}));
  for (const Arrival& arrival : received.arrivals) {
    EXPECT_EQ(net::to_text(arrival.source), "10.9.0.1:20000");
    EXPECT_EQ(arrival.time_quality, record::TimeQuality::Kernel);
    EXPECT_GE(arrival.arrival_ns, before);
    EXPECT_LE(arrival.arrival_ns, os::wall_clock_ns());
  }
  const PortCounters& counters = port->counters();
  EXPECT_EQ(counters.frames.value(), 4U);
  EXPECT_EQ(counters.bytes.value(), 9U);
  EXPECT_EQ(counters.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)].value(), 4U);
  EXPECT_EQ(counters.dropped_by_kernel.value(), 0U);
  EXPECT_EQ(counters.failures.value(), 0U);
}

TEST_F(SocketPort, takes_a_group_from_the_sources_that_were_joined_only) {
  const auto port = open();
  join(*port, kLineA, Veth::kOtherSenderAddress);
  send({{kLineA, "from a stranger"}}, Veth::kSenderAddress);
  send({{kLineA, "from the sender"}}, Veth::kOtherSenderAddress);
  EXPECT_EQ(drain(*port, 1).payloads.at("239.1.1.1:30001"), (std::vector<std::string>{"from the sender"}));
  join(*port, kLineA, Veth::kSenderAddress);
  send({{kLineA, "no stranger any more"}}, Veth::kSenderAddress);
  EXPECT_EQ(drain(*port, 1).payloads.at("239.1.1.1:30001"), (std::vector<std::string>{"no stranger any more"}));
}

TEST_F(SocketPort, takes_a_group_from_any_source_if_none_is_named) {
  const auto port = open();
  join(*port, kLineA);
  send({{kLineA, "1"}}, Veth::kSenderAddress);
  send({{kLineA, "3"}}, Veth::kOtherSenderAddress);
  EXPECT_EQ(drain(*port, 2).payloads.at("239.1.1.1:30001"), (std::vector<std::string>{"1", "3"}));
  EXPECT_FALSE(port->join({kLineA, Veth::kSenderAddress}).ok());
}

TEST_F(SocketPort, asks_the_network_for_its_sources_and_takes_that_back_at_the_end) {
  auto port = open();
  join(*port, kLineA, Veth::kSenderAddress);
  EXPECT_NE(source_filters().find("0xef010101 0x0a090001"), std::string::npos) << source_filters();
  port.reset();
  EXPECT_EQ(source_filters().find("0xef010101"), std::string::npos) << source_filters();
}

TEST_F(SocketPort, leaves_groups_alone_that_only_others_have_joined) {
  const auto port = open();
  join(*port, kLineA);
  const auto other = open();
  join(*other, {kLineB.address, kLineA.port});
  send({{{kLineB.address, kLineA.port}, "for the other"}, {kLineA, "for us"}});
  const Received received = drain(*port, 1);
  EXPECT_EQ(received.payloads.size(), 1U);
  EXPECT_EQ(received.payloads.at("239.1.1.1:30001"), (std::vector<std::string>{"for us"}));
}

TEST_F(SocketPort, takes_datagrams_to_the_machine_itself) {
  const auto port = open();
  join(*port, {Veth::kReceiverAddress, 30'001});
  send({{{Veth::kReceiverAddress, 30'001}, "unicast"}});
  EXPECT_EQ(drain(*port, 1).payloads.at("10.9.0.2:30001"), (std::vector<std::string>{"unicast"}));
}

TEST_F(SocketPort, serves_many_groups_in_one_poll) {
  const auto port = open({.batch = 7});
  std::vector<std::pair<net::Endpoint, std::string>> datagrams;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const net::Endpoint group = {kLineA.address + i, static_cast<std::uint16_t>(30'000 + i)};
    join(*port, group, Veth::kSenderAddress);
    for (int copy = 0; copy < 5; ++copy) datagrams.emplace_back(group, std::to_string(i) + "/" + std::to_string(copy));
  }
  send(datagrams);
  const Received received = drain(*port, 500);
  EXPECT_EQ(received.payloads.size(), 100U);
  for (const auto& [group, text] : datagrams) {
    const auto& got = received.payloads.at(net::to_text(group));
    EXPECT_NE(std::find(got.begin(), got.end(), text), got.end()) << text;
    EXPECT_EQ(got.size(), 5U);
  }
}

TEST_F(SocketPort, counts_datagrams_that_are_too_long_and_keeps_the_others_whole) {
  const auto port = open({.max_payload_bytes = 64});
  join(*port, kLineA);
  join(*port, kLineB);
  std::vector<std::pair<net::Endpoint, std::string>> datagrams;
  for (const net::Endpoint group : {kLineA, kLineB}) {
    for (const std::size_t size : {65U, 64U, 63U, 200U, 1U, 66U}) datagrams.emplace_back(group, std::string(size, 'x'));
  }
  send(datagrams);
  const Received received = drain(*port, 6);
  for (const auto& [group, payloads] : received.payloads) {
    EXPECT_EQ(payloads, (std::vector<std::string>{std::string(64, 'x'), std::string(63, 'x'), "x"})) << group;
  }
  EXPECT_EQ(port->counters().verdicts[static_cast<std::size_t>(net::Verdict::SnapCut)].value(), 6U);
  EXPECT_EQ(port->counters().frames.value(), 12U);
}

TEST_F(SocketPort, counts_exactly_what_the_kernel_drops) {
  const auto port = open({.receive_buffer = 16'384});
  join(*port, kLineA);
  constexpr std::size_t kSent = 1'000;
  send(std::vector<std::pair<net::Endpoint, std::string>>(kSent, {kLineA, std::string(500, 'x')}));
  const std::size_t received = drain(*port, kSent, true).arrivals.size();
  EXPECT_LT(received, kSent);
  EXPECT_EQ(received + port->counters().dropped_by_kernel.value(), kSent);
  send({{kLineA, "room again"}});
  EXPECT_EQ(drain(*port, 1).arrivals.size(), 1U);
  EXPECT_EQ(received + port->counters().dropped_by_kernel.value(), kSent);
}

TEST_F(SocketPort, hands_out_no_more_than_the_batch_has_room_for) {
  const auto port = open({.batch = 4});
  join(*port, kLineA);
  send(std::vector<std::pair<net::Endpoint, std::string>>(10, {kLineA, "x"}));
  std::vector<Arrival> batch(8);
  const auto poll_all = [&](std::size_t room, std::size_t expected) {
    std::size_t total = 0;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (total < expected && std::chrono::steady_clock::now() < until) {
      const std::size_t count = port->poll(std::span(batch).first(room));
      EXPECT_LE(count, std::min<std::size_t>(room, 4));
      total += count;
    }
    return total;
  };
  EXPECT_EQ(poll_all(8, 10), 10U);
  EXPECT_EQ(port->poll(batch), 0U);
  send(std::vector<std::pair<net::Endpoint, std::string>>(3, {kLineA, "x"}));
  EXPECT_EQ(port->poll({}), 0U);
  EXPECT_EQ(poll_all(2, 3), 3U);
}

TEST_F(SocketPort, says_which_time_it_has) {
  const auto port = open({.times = ArrivalTimes::Poll});
  join(*port, kLineA);
  send({{kLineA, "x"}});
  const Received received = drain(*port, 1);
  ASSERT_EQ(received.arrivals.size(), 1U);
  EXPECT_EQ(received.arrivals[0].time_quality, record::TimeQuality::Poll);
  EXPECT_TRUE(port->notes().empty());
  const auto with_card = open({.times = ArrivalTimes::Hardware});
  ASSERT_EQ(with_card->notes().size(), 1U);
  EXPECT_TRUE(with_card->notes()[0].starts_with("no arrival times from the card")) << with_card->notes()[0];
}

TEST_F(SocketPort, goes_on_when_its_interface_goes_and_returns) {
  const auto port = open();
  join(*port, kLineA);
  send({{kLineA, "before"}});
  EXPECT_EQ(drain(*port, 1).arrivals.size(), 1U);
  ASSERT_TRUE(veth_->run_in_receiver("ip link set rx0 down"));
  EXPECT_EQ(drain(*port, 0).arrivals.size(), 0U);
  ASSERT_TRUE(veth_->run_in_receiver("ip link set rx0 up && ip route add 224.0.0.0/4 dev rx0"));
  send({{kLineA, "after"}});
  EXPECT_EQ(drain(*port, 1).payloads.at("239.1.1.1:30001"), (std::vector<std::string>{"after"}));
}

/// Changes the groups as two threads do in turns.
Status change(Port& port, const std::vector<Membership>& join, const std::vector<Membership>& leave) {
  std::vector<std::string> notes;
  auto prepared = port.prepare_groups(join, leave, notes);
  if (!prepared) return prepared.failure();
  port.change_groups(*prepared.value());
  return Done{};
}

TEST_F(SocketPort, changes_its_groups_and_loses_nothing_of_those_that_stay) {
  const auto port = open();
  join(*port, kLineA);
  join(*port, kLineB);
  send({{kLineA, "in the socket"}});
  // From few sockets to many and back: they are polled in two ways.
  std::vector<Membership> more;
  for (std::uint32_t i = 0; i < 8; ++i) more.push_back({{0xEF010301 + i, 30'201}, std::nullopt});
  {
    std::vector<std::string> notes;
    auto prepared = port->prepare_groups(more, std::vector<Membership>{{kLineB, std::nullopt}}, notes);
    ASSERT_TRUE(prepared) << prepared.message();
    send({{more[0].group, "joined before the change"}});
    EXPECT_EQ(drain(*port, 1).payloads.at("239.1.1.1:30001").size(), 1U) << "the others wait for the change";
    port->change_groups(*prepared.value());
    EXPECT_EQ(drain(*port, 1).payloads.at("239.1.3.1:30201").size(), 1U);
  }
  send({{kLineA, "stays"}, {kLineB, "left"}, {more[7].group, "new"}});
  const Received received = drain(*port, 2);
  EXPECT_EQ(received.payloads.at("239.1.1.1:30001"), (std::vector<std::string>{"stays"}));
  EXPECT_EQ(received.payloads.at("239.1.3.8:30201"), (std::vector<std::string>{"new"}));
  EXPECT_FALSE(received.payloads.contains(net::to_text(kLineB)));
  ASSERT_TRUE(change(*port, {{kLineB, std::nullopt}}, more));
  send({{kLineA, "still"}, {kLineB, "again"}, {more[7].group, "left"}});
  EXPECT_EQ(drain(*port, 2).payloads.size(), 2U);
}

TEST_F(SocketPort, leaves_one_of_two_sources_of_a_group) {
  const auto port = open();
  join(*port, kLineA, Veth::kSenderAddress);
  join(*port, kLineA, Veth::kSenderAddress + 7);
  ASSERT_TRUE(change(*port, {}, {{kLineA, Veth::kSenderAddress}}));
  send({{kLineA, "left"}});
  EXPECT_EQ(drain(*port, 0).arrivals.size(), 0U);
  ASSERT_TRUE(change(*port, {{kLineA, Veth::kSenderAddress}}, {{kLineA, Veth::kSenderAddress + 7}}));
  send({{kLineA, "back"}});
  EXPECT_EQ(drain(*port, 1).arrivals.size(), 1U);
}

TEST_F(SocketPort, has_nothing_changed_by_a_change_that_fails_or_is_dropped) {
  const auto port = open();
  join(*port, kLineA);
  std::vector<std::string> notes;
  EXPECT_FALSE(port->prepare_groups(std::vector<Membership>{{kLineB, std::nullopt}, {{0x08080808, 1}, std::nullopt}},
                                    std::vector<Membership>{{kLineA, std::nullopt}}, notes));
  EXPECT_FALSE(port->prepare_groups(std::vector<Membership>{{kLineA, Veth::kSenderAddress}}, {}, notes))
      << "from any source and from one";
  (void)port->prepare_groups({}, std::vector<Membership>{{kLineA, std::nullopt}}, notes);
  send({{kLineA, "here"}, {kLineB, "not here"}});
  EXPECT_EQ(drain(*port, 1).payloads.size(), 1U);
}

TEST_F(SocketPort, knows_that_a_socket_is_empty_whose_last_read_filled_the_batch) {
  const auto port = open({.batch = 2});
  for (std::uint32_t i = 0; i < 6; ++i) join(*port, {0xEF010301 + i, 30'201});
  std::vector<Arrival> batch(2);
  send({{{0xEF010301, 30'201}, "1"}, {{0xEF010301, 30'201}, "2"}});
  std::size_t count = 0;
  while (count < 2) count += port->poll(batch);
  const std::uint64_t now = os::monotonic_clock_ns();
  (void)port->poll(batch);
  EXPECT_GE(port->complete_until(), now) << "else no window closes before the next datagram of that group";
}

TEST_F(SocketPort, says_why_a_group_cannot_be_joined) {
  const auto port = open();
  const auto unicast = port->join({{Veth::kReceiverAddress, 30'001}, Veth::kSenderAddress});
  ASSERT_FALSE(unicast.ok());
  EXPECT_EQ(unicast.message(),
            "socket rx0: group 10.9.0.2:30001 from 10.9.0.1: 'source' is allowed for multicast groups only");
  const auto foreign = port->join({{0x08080808, 30'001}, std::nullopt});
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.message(), "socket rx0: group 8.8.8.8:30001: bind: Cannot assign requested address");
}

TEST(SocketPortOptions, are_checked) {
  EXPECT_EQ(open_socket_port({.interface = "nosuch0"}).message(), "socket: no interface 'nosuch0'");
  EXPECT_EQ(open_socket_port({.batch = 0}).message(), "socket: batch is 0, must be from 1 to 1024");
  EXPECT_EQ(open_socket_port({.max_payload_bytes = 65'508}).message(),
            "socket: max_payload_bytes is 65508, must be from 64 to 65507");
  EXPECT_FALSE(open_socket_port({.receive_buffer = 1}).ok());
  EXPECT_FALSE(open_socket_port({.busy_poll_us = 1'000'001}).ok());
}

}  // namespace stopbit::ingest::socket_port_test
