// The carrier udp between processes: on one host, and through a cable between two network namespaces that loses packets
// and has an eavesdropper.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/nic/transport/udp/sockets.hpp"
#include "host/nic/transport/udp/udp_transport.hpp"
#include "tests/unit/nic/processes.hpp"

namespace stopbit::nic::udp_process_test {

using namespace processes;  // NOLINT(google-build-using-namespace): the subject of this file

const std::string kToken = "a token that never travels";
constexpr std::string_view kEnd = "that was all there is to hear";

UdpOptions options(const std::string& token) {
  UdpOptions result;
  result.network = "processes";
  result.nodes = 4;
  result.patience_ns = kPatienceNs;
  result.token = token;
  if (token.empty()) result.encryption = UdpEncryption::Off;
  return result;
}

void serve(const std::string& address, const std::string& token, const Say& say) {
  UdpOptions how = options(token);
  how.listen = address;
  processes::serve(UdpTransport::listen(how), udp_link_options(), say);
}

void use(const std::string& address, const std::string& token, NodeId node, const Say& say) {
  UdpOptions how = options(token);
  how.node = node;
  processes::use(UdpTransport::join(how, address), udp_link_options(), say);
}

/// Members join, transfer, are killed, and come back; one has a wrong token.
void converse(Process& server, const std::string& address, const std::string& token) {
  Process first([&](const Say& say) { use(address, token, 2, say); });
  EXPECT_EQ(server.line(), "heard 2");
  EXPECT_EQ(first.line(), "same bytes at node 2");
  Process other([&](const Say& say) { use(address, token, 3, say); });
  EXPECT_EQ(server.line(), "heard 3");
  EXPECT_EQ(other.line(), "same bytes at node 3");
  first.kill();
  // Its successor has its number as soon as the connection of the dead one has ended.
  Process second([&](const Say& say) { use(address, token, 2, say); });
  EXPECT_EQ(server.line(), "heard 2");
  EXPECT_EQ(second.line(), "same bytes at node 2");
  if (token.empty()) return;
  Process stranger([&](const Say& say) { use(address, token + "?", 1, say); });
  EXPECT_EQ(stranger.line(),
            "'" + address + "': node 0 refuses the handshake: its token is another one, or it has none");
}

TEST(UdpProcesses, join_transfer_die_and_come_back) {
  for (const std::string& token : {std::string(), kToken}) {
    Process server([&](const Say& say) { serve("127.0.0.1:0", token, say); });
    const std::string address = server.line();
    converse(server, address, token);
  }
}

TEST(UdpProcesses, are_told_when_frames_do_not_fit_the_path_to_node_0) {
  Process both([](const Say& say) {
    if (::unshare(CLONE_NEWNET) != 0) return say("skip");
    run("ip link set lo up mtu 1500");
    UdpOptions how = options(kToken);
    how.listen = "127.0.0.1:0";
    how.frame_bytes = 1433;  // with 40 of the carrier and 28 of IPv4 one too many
    auto host = UdpTransport::listen(how);
    if (!host) return say(host.message());
    how.listen.clear();
    auto member = UdpTransport::start(how, host.value()->address());
    if (!member) return say(member.message());
    for (;;) {
      member.value()->progress();
      if (!member.value()->problem().empty() || member.value()->is_joined()) break;
      host.value()->progress();
    }
    say(member.value()->problem());
    // Node 0 has not heard yet that it gave up, and sends what the interface does not take.
    if (!host.value()->is_member(1)) return say("no member");
    (void)host.value()->send(1, std::vector<std::byte>(1433));
    host.value()->progress();
    say(std::to_string(host.value()->counters().too_long) + " too long");
  });
  const std::string first = both.line();
  if (first == "skip") GTEST_SKIP() << "no network namespaces without privilege";
  EXPECT_EQ(first,
            "a frame of 1433 bytes does not fit the path to node 0, whose MTU is 1500: set the frame size of all nodes "
            "to at most 1432");
  EXPECT_EQ(both.line(), "1 too long");
}

/// Hears every packet of an interface until the last one, and says what it has understood.
void eavesdrop(const char* interface, const Say& say) {
  const os::Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)));
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_ALL);
  at.sll_ifindex = static_cast<int>(::if_nametoindex(interface));
  if (!socket.ok() || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) != 0) {
    return say("deaf");
  }
  std::vector<std::byte> content_run(24);
  bool has_token = false;
  bool has_content = false;
  std::size_t packets = 0;
  std::vector<std::byte> packet(std::size_t{1} << 17U);
  say("listens");
  for (;;) {
    const ssize_t got = ::recv(socket.get(), packet.data(), packet.size(), 0);
    if (got <= 0) continue;
    ++packets;
    const auto bytes = std::span(packet).first(static_cast<std::size_t>(got));
    const auto has = [bytes](std::span<const std::byte> part) {
      return std::search(bytes.begin(), bytes.end(), part.begin(), part.end()) != bytes.end();
    };
    has_token = has_token || has(std::as_bytes(std::span(kToken)));
    for (std::size_t at_content = 1000; at_content < kBytes && !has_content; at_content += 9000) {
      for (std::size_t i = 0; i < content_run.size(); ++i) content_run[i] = content(at_content + i);
      has_content = has(content_run);
    }
    if (has(std::as_bytes(std::span(kEnd)))) break;
  }
  say(std::string(packets > 100 ? "many" : "few") + " packets" + (has_token ? ", the token" : "") +
      (has_content ? ", the bytes" : ""));
}

void converse_through_a_cable(const std::string& token, const std::string& understood) {
  Process conductor([&](const Say& say) {
    if (::unshare(CLONE_NEWNET) != 0) return say("skip");
    run("ip link set lo up && ip link add su0 type veth peer name su1");
    int go[2];
    if (::pipe(go) != 0) return;
    Process server([&](const Say& server_say) {
      if (::unshare(CLONE_NEWNET) != 0) return;
      server_say("apart");
      char byte = 0;
      if (::read(go[0], &byte, 1) != 1) return;
      run("ip link set lo up && ip address add 10.77.8.1/24 dev su1 && ip link set su1 up");
      serve("10.77.8.1:5177", token, server_say);
    });
    EXPECT_EQ(server.line(), "apart");
    run("ip link set su1 netns " + std::to_string(server.pid()) +
        " && ip address add 10.77.8.2/24 dev su0 && ip link set su0 up");
    // A kernel without netem loses nothing.
    if (std::system("tc qdisc add dev su0 root netem loss 1% 2>/dev/null") != 0) std::fputs("no netem\n", stderr);
    Process listener([](const Say& listener_say) { eavesdrop("su0", listener_say); });
    const std::string begun = listener.line();
    EXPECT_TRUE(begun == "listens" || begun == "deaf") << begun;
    EXPECT_EQ(::write(go[1], "x", 1), 1);
    EXPECT_EQ(server.line(), "10.77.8.1:5177");
    converse(server, "10.77.8.1:5177", token);
    if (begun == "listens") {
      // Again and again, because the listener may be too busy to hear each packet.
      Process last([](const Say&) {
        const os::Descriptor socket = std::move(bind_udp(resolve("10.77.8.2:0").value()).value());
        const UdpSocketAddress to = to_socket_address(resolve("10.77.8.1:9").value());
        for (;; ::usleep(1000)) {
          (void)::sendto(socket.get(), kEnd.data(), kEnd.size(), MSG_DONTWAIT, to.get(), to.bytes);
        }
      });
      EXPECT_EQ(listener.line(), understood);
    }
    say(::testing::Test::HasFailure() ? "failed" : "done");
  });
  const std::string end = conductor.line();
  if (end == "skip") GTEST_SKIP() << "no network namespaces without privilege";
  EXPECT_EQ(end, "done");
}

TEST(UdpProcesses, tell_an_eavesdropper_neither_the_token_nor_a_byte) {
  converse_through_a_cable(kToken, "many packets");
}

TEST(UdpProcesses, tell_an_eavesdropper_everything_without_encryption) {
  converse_through_a_cable("", "many packets, the bytes");
}

}  // namespace stopbit::nic::udp_process_test
