// The carrier fabric between processes, over tcp: on one host, and through a cable between two network namespaces.

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/fabric/frame.hpp"
#include "host/nic/transport/fabric/pool.hpp"
#include "host/os/clock.hpp"
#include "tests/unit/nic/processes.hpp"

namespace stopbit::nic::fabric_process_test {

using namespace processes;  // NOLINT(google-build-using-namespace): the subject of this file

FabricOptions options() {
  FabricOptions result;
  result.network = "processes";
  result.nodes = 4;
  result.lease_ns = 1'000'000'000;
  result.patience_ns = kPatienceNs;
  return result;
}

void serve(const std::string& address, const Say& say) {
  FabricOptions how = options();
  how.listen = address;
  processes::serve(FabricTransport::listen(how), fabric_link_options(), say);
}

void use(const std::string& address, NodeId node, const Say& say) {
  FabricOptions how = options();
  how.node = node;
  processes::use(FabricTransport::join(how, address), fabric_link_options(), say);
}

/// A node of version 3, which asks to be let in.
void ask_in_another_version(const std::string& address, const Say& say) {
  FabricCounters counters;
  FabricPool endpoint;
  const FabricOptions how = options();
  if (const Status opened = endpoint.open(how, address, counters); !opened) return say(opened.message());
  const FabricHandle host = endpoint.add(endpoint.names().host);
  FabricJoin join;
  join.head.version = 3;
  join.head.kind = FabricKind::Join;
  join.head.incarnation = 99;
  join.nodes = 4;
  join.address_bytes = static_cast<std::uint16_t>(endpoint.names().own.size());
  std::vector<std::byte> frame(sizeof(join));
  std::memcpy(frame.data(), &join, sizeof(join));
  frame.insert(frame.end(), endpoint.names().own.begin(), endpoint.names().own.end());
  const std::uint32_t checksum = fabric_checksum(frame);
  const auto behind = std::as_bytes(std::span(&checksum, 1));
  for (std::uint64_t asked = 0; asked < os::monotonic_clock_ns();) {
    if (endpoint.send(0, host, frame, behind, 0)) {
      asked = os::monotonic_clock_ns() + 200'000'000;
    }
    for (FabricPool::Arrived arrived; os::monotonic_clock_ns() < asked || asked == 0;) {
      if (!endpoint.poll(arrived)) {
        if (asked == 0) break;
        continue;
      }
      FabricRefused refused;
      std::memcpy(&refused, arrived.frame.data(), std::min(sizeof(refused), arrived.frame.size()));
      return say("refused by version " + std::to_string(refused.head.version) + ": " + to_text(refused.reason));
    }
  }
}

void converse(const std::function<std::unique_ptr<Process>()>& begin_server, const std::string& known_address) {
  const std::unique_ptr<Process> server = begin_server();
  const std::string said = server->line();
  const std::string address = known_address.empty() ? said : known_address;
  {
    Process first([&](const Say& say) { use(address, 2, say); });
    EXPECT_EQ(server->line(), "heard 2");
    EXPECT_EQ(first.line(), "same bytes at node 2");
    Process other([&](const Say& say) { use(address, 3, say); });
    EXPECT_EQ(server->line(), "heard 3");
    EXPECT_EQ(other.line(), "same bytes at node 3");
    first.kill();
    // Its successor waits until the lease of the dead one has ended.
    Process second([&](const Say& say) { use(address, 2, say); });
    EXPECT_EQ(server->line(), "heard 2");
    EXPECT_EQ(second.line(), "same bytes at node 2");
    Process stranger([&](const Say& say) { ask_in_another_version(address, say); });
    EXPECT_EQ(stranger.line(), "refused by version 2: it has another protocol version");
  }
}

TEST(FabricProcesses, join_transfer_die_and_come_back) {
  if (const Status has = FabricTransport::available(); !has) GTEST_SKIP() << has.message();
  converse([] { return std::make_unique<Process>([](const Say& say) { serve("127.0.0.1:0", say); }); }, "");
}

TEST(FabricProcesses, do_so_through_a_cable_between_two_networks) {
  if (const Status has = FabricTransport::available(); !has) GTEST_SKIP() << has.message();
  Process conductor([](const Say& say) {
    if (::unshare(CLONE_NEWNET) != 0) return say("skip");
    run("ip link set lo up && ip link add sb0 type veth peer name sb1");
    int go[2];
    if (::pipe(go) != 0) return;
    converse(
        [&] {
          auto server = std::make_unique<Process>([&](const Say& server_say) {
            if (::unshare(CLONE_NEWNET) != 0) return;
            server_say("apart");
            char byte = 0;
            if (::read(go[0], &byte, 1) != 1) return;
            run("ip link set lo up && ip address add 10.77.9.1/24 dev sb1 && ip link set sb1 up");
            serve("10.77.9.1:5177", server_say);
          });
          EXPECT_EQ(server->line(), "apart");
          run("ip link set sb1 netns " + std::to_string(server->pid()) +
              " && ip address add 10.77.9.2/24 dev sb0 && ip link set sb0 up");
          EXPECT_EQ(::write(go[1], "x", 1), 1);
          return server;
        },
        "10.77.9.1:5177");
    say(::testing::Test::HasFailure() ? "failed" : "done");
  });
  const std::string end = conductor.line();
  if (end == "skip") GTEST_SKIP() << "no network namespaces without privilege";
  EXPECT_EQ(end, "done");
}

}  // namespace stopbit::nic::fabric_process_test
