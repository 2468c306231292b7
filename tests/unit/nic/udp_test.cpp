#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "host/nic/transport/udp/control_message.hpp"
#include "host/nic/transport/udp/datagram.hpp"
#include "host/nic/transport/udp/sockets.hpp"
#include "host/nic/transport/udp/udp_transport.hpp"
#include "host/os/clock.hpp"
#include "tests/lib/why.hpp"

namespace stopbit::nic::udp_test {

constexpr const char* kToken = "0123456789abcdef";

/// Some nodes of one process, in one thread, over loopback; with a token or without.
class Udp : public ::testing::TestWithParam<const char*> {
 protected:
  using Node = std::unique_ptr<UdpTransport>;

  [[nodiscard]] static bool is_sealed() { return *GetParam() != 0; }
  [[nodiscard]] static UdpOptions options() {
    UdpOptions result;
    result.token = GetParam();
    result.network = "test";
    result.nodes = 4;
    result.frame_bytes = 1024;
    return result;
  }
  [[nodiscard]] static Node listen(UdpOptions how, const std::string& at = "127.0.0.1:0") {
    how.listen = at;
    Result<Node> opened = UdpTransport::listen(how);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.message());
    return opened ? std::move(opened).value() : nullptr;
  }
  [[nodiscard]] static Node start(UdpOptions how, const std::string& host, std::optional<NodeId> node = {}) {
    how.node = node;
    Result<Node> opened = UdpTransport::start(how, host);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.message());
    return opened ? std::move(opened).value() : nullptr;
  }
  /// Lets all of them work until it is so; false after a minute.
  [[nodiscard]] static bool until(const std::vector<UdpTransport*>& nodes, const std::function<bool()>& is_so) {
    for (const std::uint64_t end = os::monotonic_clock_ns() + 60'000'000'000; !is_so();) {
      if (os::monotonic_clock_ns() >= end) return false;
      for (UdpTransport* const node : nodes) node->progress();
    }
    return true;
  }
  /// Sends until it has come: a datagram may be lost.
  [[nodiscard]] static bool reaches(UdpTransport& from, UdpTransport& to, const std::vector<UdpTransport*>& all) {
    std::array<std::byte, 1024> into;
    const std::array<std::byte, 3> frame = {std::byte{1}, std::byte{2}, static_cast<std::byte>(from.node())};
    return until(all, [&] {
      (void)from.send(to.node(), frame);
      from.progress();
      for (std::size_t length = to.receive(into); length != 0; length = to.receive(into)) {
        if (length == frame.size() && to.sender() == from.node() &&
            std::memcmp(into.data(), frame.data(), length) == 0) {
          return true;
        }
      }
      return false;
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, Udp, ::testing::Values("", kToken),
                         [](const auto& way) { return *way.param != 0 ? "sealed" : "plain"; });

std::vector<std::byte> frame(std::uint64_t number) {
  std::vector<std::byte> bytes(8 + number % 1017);
  for (std::size_t i = 8; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number + i);
  std::memcpy(bytes.data(), &number, 8);
  return bytes;
}

TEST_P(Udp, carries_frames_of_every_length_and_names_their_sender) {
  const Node host = listen(options());
  const Node a = start(options(), host->address(), 1);
  const Node b = start(options(), host->address());
  const std::vector<UdpTransport*> all{host.get(), a.get(), b.get()};
  ASSERT_TRUE(until(all, [&] { return a->is_joined() && b->is_joined() && a->is_member(2) && b->is_member(1); }));
  EXPECT_EQ(host->node(), 0);
  ASSERT_EQ(a->node(), 1);
  ASSERT_EQ(b->node(), 2);
  EXPECT_EQ(a->is_exact(), is_sealed());
  EXPECT_EQ(to_text(*a->address_of(2)), "127.0.0.1");
  EXPECT_EQ(a->address_of(3), std::nullopt);
  std::array<std::byte, 1024> into;
  for (UdpTransport* const from : all) {
    for (UdpTransport* const to : all) {
      // A few at a time, so that no buffer of the kernel overflows: then nothing is lost on loopback.
      std::uint64_t got = 0;
      for (std::uint64_t sent = 0; sent < 3000;) {
        for (std::uint64_t burst = 0; burst < 20 && from->send(to->node(), frame(sent)); ++burst) ++sent;
        from->progress();
        ASSERT_TRUE(until(all,
                          [&] {
                            for (std::size_t length = to->receive(into); length != 0; length = to->receive(into)) {
                              const std::vector<std::byte> expected = frame(got++);
                              EXPECT_EQ(length, expected.size());
                              EXPECT_EQ(std::memcmp(into.data(), expected.data(), length), 0);
                              EXPECT_EQ(to->sender(), from->node());
                            }
                            return got == sent;
                          }))
            << from->node() << " to " << to->node() << ": " << got << " of " << sent;
      }
    }
  }
  EXPECT_FALSE(a->send(3, frame(1)));  // no such node
  EXPECT_FALSE(a->send(9, frame(1)));
  EXPECT_FALSE(a->send(0, std::vector<std::byte>(1025)));
  EXPECT_FALSE(a->send(0, {}));
  EXPECT_EQ(host->counters().joined, 2U);
  EXPECT_EQ(host->counters().forged + host->counters().replayed + host->counters().malformed, 0U);
}

TEST_P(Udp, carries_frames_over_ipv6) {
  if (!bind_udp(resolve("[::1]:0").value())) GTEST_SKIP() << "this machine has no IPv6";
  const Node host = listen(options(), "[::1]:0");
  const Node a = start(options(), host->address());
  const std::vector<UdpTransport*> all{host.get(), a.get()};
  ASSERT_TRUE(until(all, [&] { return a->is_joined(); })) << a->why_not_joined();
  EXPECT_TRUE(reaches(*a, *host, all));
  EXPECT_TRUE(reaches(*host, *a, all));
  EXPECT_EQ(to_text(*host->address_of(1)), "::1");
}

TEST_P(Udp, refuses_a_node_of_another_network_or_shape_and_says_why) {
  const Node host = listen(options());
  UdpOptions other = options();
  other.network = "other";
  const Node a = start(other, host->address());
  EXPECT_TRUE(until({host.get(), a.get()}, [&] { return !a->problem().empty(); }));
  EXPECT_EQ(a->problem(), "node 0 refuses: it is node 0 of another network");
  other = options();
  other.frame_bytes = 512;
  const Node b = start(other, host->address());
  EXPECT_TRUE(until({host.get(), b.get()}, [&] { return !b->problem().empty(); }));
  EXPECT_EQ(b->problem(), "node 0 refuses: its network has another number of nodes or frame size");
  EXPECT_EQ(b->frame_bytes_of_host(), options().frame_bytes) << "with which it could join";
  EXPECT_EQ(a->frame_bytes_of_host(), 0U);
  EXPECT_EQ(host->refused_from().value_or(HostAddress()), resolve("127.0.0.1:1").value().host);
  EXPECT_FALSE(a->is_joined());
  EXPECT_EQ(host->counters().joined, 0U);
  EXPECT_EQ(host->counters().refused, 2U);
}

TEST_P(Udp, gives_a_place_again_when_its_node_has_gone_and_not_before) {
  UdpOptions how = options();
  how.nodes = 2;
  const Node host = listen(how);
  Node a = start(how, host->address(), 1);
  ASSERT_TRUE(until({host.get(), a.get()}, [&] { return a->is_joined(); }));
  const Node b = start(how, host->address());
  ASSERT_TRUE(until({host.get(), a.get(), b.get()}, [&] { return host->counters().refused > 0; }));
  ASSERT_TRUE(until({host.get(), a.get(), b.get()},
                    [&] { return b->why_not_joined() == "node 0 refuses: the network has its maximum of nodes"; }));
  a.reset();
  ASSERT_TRUE(until({host.get(), b.get()}, [&] { return b->is_joined(); }));
  EXPECT_EQ(host->counters().left, 1U);
  EXPECT_TRUE(reaches(*b, *host, {host.get(), b.get()}));
  EXPECT_TRUE(reaches(*host, *b, {host.get(), b.get()}));
}

TEST_P(Udp, says_so_when_another_node_has_got_its_number_meanwhile) {
  UdpOptions how = options();
  how.lease_ns = 50'000'000;
  const Node host = listen(how);
  const Node away = start(how, host->address(), 1);
  ASSERT_TRUE(until({host.get(), away.get()}, [&] { return away->is_joined() && host->members() == 1; }));
  // It is stopped for longer than its lease.
  ASSERT_TRUE(until({host.get()}, [&] { return host->counters().died == 1; }));
  EXPECT_EQ(host->members(), 0U);
  const Node next = start(how, host->address(), 1);
  ASSERT_TRUE(until({host.get(), next.get()}, [&] { return next->is_joined(); }));
  ASSERT_TRUE(until({host.get(), next.get(), away.get()}, [&] { return !away->problem().empty(); }));
  EXPECT_EQ(away->problem(), "node 0 has given the number of this node to another");
  EXPECT_TRUE(next->is_joined());
}

TEST_P(Udp, joins_again_with_its_number_when_node_0_has_been_started_anew) {
  Node host = listen(options());
  const std::string address = host->address();
  const Node a = start(options(), address, 2);
  const Node b = start(options(), address, 3);
  ASSERT_TRUE(until({host.get(), a.get(), b.get()}, [&] { return a->is_member(3) && b->is_member(2); }));
  host.reset();
  ASSERT_TRUE(until({a.get(), b.get()}, [&] { return !a->is_joined() && !b->is_joined(); }));
  EXPECT_TRUE(reaches(*a, *b, {a.get(), b.get()})) << "without node 0";
  host = listen(options(), address);
  const std::vector<UdpTransport*> all{host.get(), a.get(), b.get()};
  ASSERT_TRUE(until(all, [&] { return a->is_joined() && b->is_joined() && a->is_member(3) && b->is_member(2); }));
  EXPECT_EQ(a->node(), 2);
  EXPECT_EQ(b->node(), 3);
  EXPECT_TRUE(reaches(*a, *b, all));
  EXPECT_TRUE(reaches(*host, *a, all));
}

TEST_P(Udp, changes_keys_again_and_again_while_frames_travel) {
  UdpOptions how = options();
  how.keys.datagrams = 2000;
  how.keys.switch_ns = 1'000'000;
  how.rekey_ns = 3'600'000'000'000;
  const Node host = listen(how);
  const Node a = start(how, host->address());
  const std::vector<UdpTransport*> all{host.get(), a.get()};
  ASSERT_TRUE(until(all, [&] { return a->is_joined(); }));
  std::array<std::byte, 1024> into;
  std::uint64_t got = 0;
  std::uint64_t sent = 0;
  ASSERT_TRUE(until(all, [&] {
    for (std::uint64_t burst = 0; burst < 10 && a->send(0, frame(sent)); ++burst) ++sent;
    a->progress();
    while (host->receive(into) != 0) ++got;
    return sent >= 5000;
  })) << sent;
  ASSERT_TRUE(until(all, [&] {
    while (host->receive(into) != 0) ++got;
    return got == sent;
  })) << got;
  EXPECT_EQ(host->counters().rekeyed >= 2, is_sealed());
  EXPECT_EQ(host->counters().forged, 0U);
}

TEST(UdpTokens, are_needed_to_join_and_a_wrong_one_is_counted) {
  UdpOptions how;
  how.token = kToken;
  how.listen = "127.0.0.1:0";
  auto host = UdpTransport::listen(how);
  ASSERT_TRUE(host.ok());
  const auto try_with = [&](const std::string& token, std::uint64_t failures) {
    UdpOptions other;
    other.token = token;
    auto member = UdpTransport::start(other, host.value()->address());
    EXPECT_TRUE(member.ok());
    const std::string first = member.value()->why_not_joined();
    const std::uint64_t end = os::monotonic_clock_ns() + 60'000'000'000;
    while ((host.value()->counters().wrong_token < failures || member.value()->why_not_joined() == first) &&
           os::monotonic_clock_ns() < end) {
      member.value()->progress();
      host.value()->progress();
    }
    EXPECT_FALSE(member.value()->is_joined());
    EXPECT_EQ(member.value()->problem().empty(), token.empty());
    EXPECT_EQ(member.value()->is_token_refused(), !token.empty());
    return member.value()->why_not_joined();
  };
  EXPECT_EQ(try_with("0123456789abcdeF", 1), "node 0 refuses the handshake: its token is another one, or it has none");
  EXPECT_EQ(host.value()->counters().wrong_token, 1U);
  EXPECT_EQ(host.value()->wrong_token_from().value_or(HostAddress()), resolve("127.0.0.1:1").value().host);
  EXPECT_EQ(try_with("", 2), "node 0 has closed the connection: perhaps it requires a token");
  EXPECT_EQ(host.value()->counters().joined, 0U);
}

TEST(UdpTokens, are_demanded_unless_only_this_host_can_join_or_encryption_is_off) {
  UdpOptions how;
  how.listen = "0.0.0.0:0";
  EXPECT_NE(testing::why(UdpTransport::listen(how)).find("a token is needed"), std::string::npos);
  EXPECT_NE(testing::why(UdpTransport::start(UdpOptions{}, "192.0.2.1:5177")).find("a token is needed"),
            std::string::npos);
  how.encryption = UdpEncryption::Off;
  EXPECT_TRUE(UdpTransport::listen(how).ok());
  how.token = kToken;
  EXPECT_EQ(testing::why(UdpTransport::listen(how)), "a token is of no use without encryption: leave one of them out");
  how.encryption = UdpEncryption::Required;
  EXPECT_TRUE(UdpTransport::listen(how).ok());
  how.token = "short";
  EXPECT_EQ(testing::why(UdpTransport::listen(how)), "a token must have 16 to 1024 bytes, drawn at random");
}

TEST(UdpPaths, refuse_frames_that_would_be_cut_into_fragments) {
  UdpOptions how;
  how.listen = "127.0.0.1:0";
  how.frame_bytes = 65'000;
  auto host = UdpTransport::listen(how);
  ASSERT_TRUE(host.ok());
  how.listen.clear();
  auto member = UdpTransport::start(how, host.value()->address());
  ASSERT_TRUE(member.ok());
  const std::uint64_t end = os::monotonic_clock_ns() + 60'000'000'000;
  while (!member.value()->is_joined() && os::monotonic_clock_ns() < end) {
    ASSERT_EQ(member.value()->problem(), "");
    member.value()->progress();
    host.value()->progress();
  }
  const std::vector<std::byte> longest(65'000, std::byte{7});
  std::vector<std::byte> into(65'000);
  std::size_t length = 0;
  while (length == 0 && os::monotonic_clock_ns() < end) {
    (void)member.value()->send(0, longest);
    member.value()->progress();
    length = host.value()->receive(into);
  }
  EXPECT_EQ(length, longest.size());
  EXPECT_EQ(into, longest);
}

/// Talks to a node as any program may.
class Stranger {
 public:
  explicit Stranger(const std::string& victim) : to_(to_socket_address(resolve(victim).value())) {
    udp_ = bind_udp(resolve("127.0.0.1:0").value()).value();
  }
  void send(std::span<const std::byte> datagram) {
    (void)::sendto(udp_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT, to_.get(), to_.bytes);
  }
  [[nodiscard]] os::Descriptor connect() {
    os::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), to_.get(), to_.bytes), 0);
    return socket;
  }

 private:
  UdpSocketAddress to_;
  os::Descriptor udp_;
};

TEST_P(Udp, is_not_changed_by_a_hundred_thousand_hostile_datagrams) {
  const Node host = listen(options());
  const Node a = start(options(), host->address());
  const std::vector<UdpTransport*> all{host.get(), a.get()};
  ASSERT_TRUE(until(all, [&] { return a->is_joined(); }));
  Stranger stranger(host->address());
  std::mt19937_64 random(5);
  std::vector<std::byte> datagram;
  std::array<std::byte, 1024> into;
  std::uint64_t accepted = 0;
  for (int i = 0; i < 100'000; ++i) {
    datagram.assign(random() % 1200, static_cast<std::byte>(random()));
    if (random() % 2 == 0) {
      for (std::byte& byte : datagram) byte = static_cast<std::byte>(random());
    }
    if (random() % 4 != 0 && datagram.size() >= sizeof(UdpHead)) {  // an honest head, but for the session
      UdpHead head;
      head.flags = static_cast<std::uint8_t>(random() % 3);
      head.from = static_cast<NodeId>(random() % 4);
      head.session = static_cast<std::uint32_t>(random());
      head.epoch = static_cast<std::uint32_t>(random() % 3);
      head.sequence = random() % 100;
      std::memcpy(datagram.data(), &head, sizeof(head));
    }
    stranger.send(datagram);
    if (i % 50 == 0) {
      for (int polls = 0; polls < 3; ++polls) accepted += host->receive(into) != 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(accepted, 0U);
  EXPECT_TRUE(host->is_member(1));
  EXPECT_TRUE(reaches(*a, *host, all));
  EXPECT_TRUE(reaches(*host, *a, all));
  const UdpCounters& counts = host->counters();
  EXPECT_GT(counts.malformed, 0U);
  EXPECT_GT(counts.strangers, 0U);
  EXPECT_GT(counts.stale, 0U);
}

TEST_P(Udp, serves_honest_nodes_beside_hostile_connections) {
  const Node host = listen(options());
  Stranger stranger(host->address());
  std::mt19937_64 random(6);
  std::vector<os::Descriptor> open;
  for (int i = 0; i < 200; ++i) {
    open.push_back(stranger.connect());
    std::vector<std::byte> rubbish(random() % 3 == 0 ? 0 : random() % 20'000);
    for (std::byte& byte : rubbish) byte = static_cast<std::byte>(random());
    (void)::send(open.back().get(), rubbish.data(), rubbish.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    for (const std::uint64_t end = os::monotonic_clock_ns() + 1'500'000; os::monotonic_clock_ns() < end;) {
      host->progress();
    }
  }
  const Node a = start(options(), host->address());
  const std::vector<UdpTransport*> all{host.get(), a.get()};
  ASSERT_TRUE(until(all, [&] { return a->is_joined(); })) << a->why_not_joined();
  EXPECT_TRUE(reaches(*a, *host, all));
  const UdpCounters& counts = host->counters();
  ASSERT_TRUE(until(all, [&] { return counts.half_open + counts.garbled + counts.wrong_token >= 200; }))
      << counts.half_open << " " << counts.garbled << " " << counts.wrong_token;
  EXPECT_EQ(counts.joined, 1U);
}

/// A message of any kind with any content, whole and with its checksum.
std::vector<std::byte> random_message(std::mt19937_64& random) {
  UdpMessageBuffer buffer;
  const auto kind = static_cast<UdpMessageKind>(1 + random() % 8);
  switch (kind) {
    case UdpMessageKind::Hello: {
      UdpHello hello;
      hello.incarnation = 1 + random() % 3;
      hello.wanted = static_cast<NodeId>(random() % 2 == 0 ? kUdpNoNode : random() % 6);
      hello.nodes = 4;
      hello.port = static_cast<std::uint16_t>(random() % 2);
      hello.frame_bytes = 1024;
      hello.network = {'t', 'e', 's', 't'};
      const auto message = write_message(buffer, kind, hello);
      return {message.begin(), message.end()};
    }
    case UdpMessageKind::Welcome: {
      UdpWelcome welcome;
      welcome.node = static_cast<NodeId>(random() % 6);
      welcome.session = static_cast<std::uint32_t>(1 + random() % 3);
      welcome.cipher = static_cast<UdpCipher>(random() % 8 == 0 ? 1 : 0);
      const auto message = write_message(buffer, kind, welcome);
      return {message.begin(), message.end()};
    }
    case UdpMessageKind::Refused: {
      UdpRefused refused;
      refused.reason = UdpRefusal::Full;
      const auto message = write_message(buffer, kind, refused);
      return {message.begin(), message.end()};
    }
    case UdpMessageKind::Peer: {
      UdpPeerLine line;
      line.node = static_cast<NodeId>(random() % 6);
      line.session = static_cast<std::uint32_t>(random() % 3);
      line.port = static_cast<std::uint16_t>(random() % 2);
      line.host[10] = line.host[11] = static_cast<std::uint8_t>(random() % 4 == 0 ? 0 : 255);
      line.epoch = static_cast<std::uint32_t>(random() % 8 == 0 ? 1 : 0);
      const auto message = write_message(buffer, kind, line);
      return {message.begin(), message.end()};
    }
    case UdpMessageKind::Complete:
    case UdpMessageKind::Alive:
    case UdpMessageKind::Rekey:
    case UdpMessageKind::Leave: break;
  }
  const auto message = write_message(buffer, kind);
  return {message.begin(), message.end()};
}

TEST(UdpMembers, that_break_the_protocol_leave_the_others_alone) {
  UdpOptions how;
  how.network = "test";
  how.nodes = 4;
  how.frame_bytes = 1024;
  how.listen = "127.0.0.1:0";
  auto host = UdpTransport::listen(how);
  ASSERT_TRUE(host.ok());
  how.listen.clear();
  how.node = 3;
  auto honest = UdpTransport::start(how, host.value()->address());
  ASSERT_TRUE(honest.ok());
  const std::uint64_t end = os::monotonic_clock_ns() + 60'000'000'000;
  const auto work = [&] {
    host.value()->progress();
    honest.value()->progress();
    ASSERT_LT(os::monotonic_clock_ns(), end);
  };
  while (!honest.value()->is_joined()) ASSERT_NO_FATAL_FAILURE(work());
  const auto honestly = [&] {
    work();
    ASSERT_TRUE(honest.value()->is_joined()) << honest.value()->why_not_joined();
  };
  Stranger stranger(host.value()->address());
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; ++i) {
    const os::Descriptor socket = stranger.connect();
    for (std::uint64_t count = 1 + random() % 6; count > 0; --count) {
      const std::vector<std::byte> message = random_message(random);
      (void)::send(socket.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    const std::uint64_t until_ns = os::monotonic_clock_ns() + 2'500'000;
    while (os::monotonic_clock_ns() < until_ns) ASSERT_NO_FATAL_FAILURE(honestly());
  }
  while (host.value()->is_member(1) || host.value()->is_member(2)) ASSERT_NO_FATAL_FAILURE(honestly());
  EXPECT_TRUE(host.value()->is_member(3));
  EXPECT_GT(host.value()->counters().garbled, 0U);
  EXPECT_GT(host.value()->counters().joined, 1U);
}

TEST(UdpMembers, believe_no_node_0_that_breaks_the_protocol) {
  const os::Descriptor listener = std::move(listen_tcp(resolve("127.0.0.1:0").value()).value());
  const std::string address = to_text(own_endpoint(listener.get()).value());
  UdpOptions how;
  how.network = "test";
  how.nodes = 4;
  how.frame_bytes = 1024;
  std::mt19937_64 random(8);
  std::uint64_t garbled = 0;
  for (int i = 0; i < 100; ++i) {
    auto member = UdpTransport::start(how, address);
    ASSERT_TRUE(member.ok());
    os::Descriptor socket;
    const std::uint64_t end = os::monotonic_clock_ns() + 60'000'000'000;
    while (!socket.ok() && os::monotonic_clock_ns() < end) {
      member.value()->progress();
      UdpEndpoint from;
      socket = accept_tcp(listener.get(), from);
    }
    for (std::uint64_t count = 1 + random() % 12; count > 0; --count) {
      const std::vector<std::byte> message = random_message(random);
      (void)::send(socket.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    std::array<std::byte, 64> nothing{};
    for (const std::uint64_t until_ns = os::monotonic_clock_ns() + 5'000'000; os::monotonic_clock_ns() < until_ns;) {
      for (NodeId to = 0; to < 6; ++to) (void)member.value()->send(to, nothing);
      (void)member.value()->receive(nothing);
    }
    garbled += member.value()->counters().garbled;
  }
  EXPECT_GT(garbled, 0U);
}

TEST_P(Udp, survives_a_peer_whose_port_is_closed) {
  const Node host = listen(options());
  Node a = start(options(), host->address(), 1);
  const Node b = start(options(), host->address(), 2);
  ASSERT_TRUE(until({host.get(), a.get(), b.get()}, [&] { return b->is_member(1) && a->is_joined(); }));
  host->progress();
  a.reset();  // node 0 does not work, so b does not hear of it: its datagrams come back as errors
  ASSERT_TRUE(b->is_member(1));
  ASSERT_TRUE(until({b.get()}, [&] {
    (void)b->send(1, frame(1));
    return b->counters().unreachable > 0;
  }));
  EXPECT_TRUE(reaches(*b, *host, {host.get(), b.get()}));
}

}  // namespace stopbit::nic::udp_test
