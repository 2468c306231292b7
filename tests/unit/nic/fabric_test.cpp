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
#include <vector>

#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/fabric/frame.hpp"
#include "host/nic/transport/fabric/pool.hpp"
#include "host/os/clock.hpp"
#include "tests/lib/why.hpp"

namespace stopbit::nic::fabric_test {

/// How the nodes of a test reach each other.
struct Way {
  const char* name;
  const char* provider;
  bool is_apart;  ///< libfabric runs in processes of its own.
};
[[maybe_unused]] void PrintTo(const Way& way, std::ostream* to) {
  *to << way.name;
}

/// Some nodes of one process, in one thread, over a provider.
class Fabric : public ::testing::TestWithParam<Way> {
 protected:
  using Node = std::unique_ptr<FabricTransport>;

  void SetUp() override {
    if (const Status has = FabricTransport::available(); !has) GTEST_SKIP() << has.message();
  }
  [[nodiscard]] bool is_shm() const { return GetParam().provider == std::string("shm"); }
  [[nodiscard]] FabricOptions options() const {
    FabricOptions result;
    result.provider = GetParam().provider;
    if (GetParam().is_apart) result.program = find_fabric_program().value();
    result.network = "test";
    result.nodes = 4;
    result.frame_bytes = 1024;
    return result;
  }
  [[nodiscard]] Node listen(FabricOptions how) {
    static int count = 0;
    how.listen =
        is_shm() ? "stopbit-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++) : "127.0.0.1:0";
    Result<Node> opened = FabricTransport::listen(how);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.message());
    return opened ? std::move(opened).value() : nullptr;
  }
  [[nodiscard]] Node start(FabricOptions how, const Node& host, std::optional<NodeId> node = {}) {
    how.node = node;
    Result<Node> opened = FabricTransport::start(how, host->address());
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.message());
    return opened ? std::move(opened).value() : nullptr;
  }
  /// Lets all of them work until it is so; false after a minute.
  [[nodiscard]] static bool until(const std::vector<FabricTransport*>& nodes, const std::function<bool()>& is_so) {
    for (const std::uint64_t end = os::monotonic_clock_ns() + 60'000'000'000; !is_so();) {
      if (os::monotonic_clock_ns() >= end) return false;
      for (FabricTransport* const node : nodes) node->progress();
    }
    return true;
  }
};

std::vector<std::byte> frame(std::uint64_t number) {
  std::vector<std::byte> bytes(8 + number % 1017);
  for (std::size_t i = 8; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number + i);
  std::memcpy(bytes.data(), &number, 8);
  return bytes;
}

TEST_P(Fabric, carries_frames_of_every_length_in_order_and_names_their_sender) {
  FabricOptions how = options();
  how.lease_ns = 600'000'000'000;  // no peer answers here: each connection would be made anew, for want of signs
  const Node host = listen(how);
  const Node a = start(how, host, 1);
  const Node b = start(how, host, 2);
  const std::vector<FabricTransport*> all{host.get(), a.get(), b.get()};
  ASSERT_TRUE(until(all, [&] { return a->is_joined() && b->is_joined() && a->is_member(2) && b->is_member(1); }));
  EXPECT_EQ(host->node(), 0);
  ASSERT_EQ(a->node(), 1);
  ASSERT_EQ(b->node(), 2);
  std::array<std::byte, 1024> into;
  for (FabricTransport* const from : all) {
    for (FabricTransport* const to : all) {
      std::uint64_t sent = 0;
      std::uint64_t got = 0;
      ASSERT_TRUE(until(all,
                        [&] {
                          while (sent < 3000 && from->send(to->node(), frame(sent))) ++sent;
                          for (std::size_t length = to->receive(into); length != 0; length = to->receive(into)) {
                            const std::vector<std::byte> expected = frame(got++);
                            EXPECT_EQ(length, expected.size());
                            EXPECT_EQ(std::memcmp(into.data(), expected.data(), length), 0);
                            EXPECT_EQ(to->sender(), from->node());
                          }
                          return got == 3000;
                        }))
          << from->node() << " to " << to->node() << ": " << got << " of " << sent;
    }
  }
  EXPECT_FALSE(a->send(3, frame(1)));  // no such node
  EXPECT_FALSE(a->send(9, frame(1)));
  EXPECT_FALSE(a->send(0, std::vector<std::byte>(1025)));
  EXPECT_FALSE(a->send(0, {}));
}

TEST_P(Fabric, refuses_who_is_of_another_network_or_shape_and_says_why) {
  const Node host = listen(options());
  FabricOptions other = options();
  other.network = "other";
  const Node a = start(other, host);
  EXPECT_TRUE(until({host.get(), a.get()}, [&] { return !a->problem().empty(); }));
  EXPECT_EQ(a->problem(), "node 0 refuses: it is node 0 of another network");
  other = options();
  other.frame_bytes = 512;
  const Node b = start(other, host);
  EXPECT_TRUE(until({host.get(), b.get()}, [&] { return !b->problem().empty(); }));
  EXPECT_EQ(b->problem(), "node 0 refuses: its network has another number of nodes or frame size");
  EXPECT_FALSE(a->is_joined());
  EXPECT_EQ(host->counters().joined, 0U);
  EXPECT_GE(host->counters().refused, 2U);
}

TEST_P(Fabric, gives_a_place_again_when_its_node_is_gone) {
  FabricOptions how = options();
  how.nodes = 2;
  how.lease_ns = 10'000'000'000;  // opening a node takes its time, on a busy machine seconds
  const Node host = listen(how);
  Node a = start(how, host, 1);
  ASSERT_TRUE(until({host.get(), a.get()}, [&] { return a->is_joined(); }));
  const Node b = start(how, host, 1);
  EXPECT_TRUE(until({host.get(), a.get(), b.get()}, [&] { return host->counters().refused != 0; }));
  EXPECT_FALSE(b->is_joined());
  EXPECT_TRUE(b->problem().empty());  // it may still become free
  // One that is silent, and has not said goodbye.
  EXPECT_TRUE(until({host.get(), b.get()}, [&] { return b->is_joined(); }));
  EXPECT_GE(host->counters().expired, 1U);  // on a busy machine perhaps the other one, too, before
  // It learns that it is no longer a member.
  EXPECT_TRUE(until({host.get(), a.get(), b.get()}, [&] { return !a->problem().empty(); }));
  EXPECT_FALSE(a->is_joined());
}

TEST_P(Fabric, does_not_wait_for_a_node_that_does_not_read) {
  FabricOptions how = options();
  how.lease_ns = 600'000'000'000;
  const Node host = listen(how);
  const Node a = start(how, host, 1);
  const Node deaf = start(how, host, 2);
  ASSERT_TRUE(until({host.get(), a.get(), deaf.get()}, [&] { return a->is_joined() && deaf->is_joined(); }));
  std::array<std::byte, 1024> into;
  std::uint64_t sent = 0;
  std::uint64_t got = 0;
  std::uint64_t refused = 0;
  ASSERT_TRUE(until({host.get(), a.get()}, [&] {
    for (int i = 0; i < 10; ++i) refused += host->send(2, frame(1016)) ? 0 : 1;
    if (sent < 20'000 && host->send(1, frame(sent))) ++sent;
    while (a->receive(into) != 0) ++got;
    return got == 20'000;
  })) << got;
  EXPECT_GT(refused, 0U);
}

TEST_P(Fabric, goes_on_when_node_0_starts_again) {
  if (is_shm()) GTEST_SKIP() << "a closed endpoint of the own process must not be sent to";
  FabricOptions how = options();
  how.lease_ns = 500'000'000;
  Node host = listen(how);
  const std::string address = host->address();
  const Node a = start(how, host, 1);
  const Node b = start(how, host, 2);
  ASSERT_TRUE(until({host.get(), a.get(), b.get()}, [&] { return a->is_member(2) && b->is_member(1); }));
  host.reset();
  std::array<std::byte, 1024> into;
  EXPECT_TRUE(until({a.get(), b.get()}, [&] { return !a->is_joined() && !b->is_joined(); }));
  EXPECT_TRUE(until({a.get(), b.get()}, [&] { return a->send(2, frame(5)) || b->receive(into) != 0; }));
  how.listen = address;
  Result<Node> again = FabricTransport::listen(how);
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_TRUE(until({again.value().get(), a.get(), b.get()}, [&] { return a->is_joined() && b->is_joined(); }));
  EXPECT_EQ(a->node(), 1);
  EXPECT_EQ(b->node(), 2);
}

/// A stranger with a socket.
class Stranger {
 public:
  explicit Stranger(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    to.sin_port = ::htons(static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1))));
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() { ::close(socket_); }
  void say(const std::vector<std::uint8_t>& bytes) {
    (void)!::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

 private:
  int socket_;
};

TEST_P(Fabric, serves_its_members_while_strangers_talk_rubbish_or_say_nothing) {
  if (is_shm()) GTEST_SKIP() << "nobody can connect";
  const Node host = listen(options());
  const Node a = start(options(), host, 1);
  ASSERT_TRUE(until({host.get(), a.get()}, [&] { return a->is_joined(); }));
  std::mt19937_64 random(3);
  std::vector<std::unique_ptr<Stranger>> strangers;
  std::array<std::byte, 1024> into;
  std::uint64_t got = 0;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(std::make_unique<Stranger>(host->address()));
    if (i % 3 != 0) {
      std::vector<std::uint8_t> bytes(random() % 600);
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % (i % 2 == 0 ? 256 : 4));
      strangers.back()->say(bytes);
    }
    if (i % 5 == 4) strangers.erase(strangers.begin() + static_cast<std::ptrdiff_t>(random() % strangers.size()));
    (void)a->send(0, frame(7));
    for (int j = 0; j < 50; ++j) {
      a->progress();
      got += host->receive(into) != 0 ? 1 : 0;
    }
  }
  EXPECT_TRUE(until({a.get()}, [&] {
    (void)a->send(0, frame(7));
    got += host->receive(into) != 0 ? 1 : 0;
    return got >= 300;
  }));
  const Node b = start(options(), host, 2);
  EXPECT_TRUE(until({host.get(), a.get(), b.get()}, [&] {
    while (host->receive(into) != 0) {
    }
    return b->is_joined() && a->is_member(2);
  })) << b->why_not_joined();
}

/// An endpoint of libfabric that does not keep to the rules.
TEST_P(Fabric, believes_no_frame_of_who_is_no_member_and_no_frame_that_is_wrong) {
  const Node host = listen(options());
  const Node a = start(options(), host, 1);
  ASSERT_TRUE(until({host.get(), a.get()}, [&] { return a->is_joined(); }));
  FabricCounters counters;
  FabricPool liar;
  FabricOptions how = options();
  how.program.clear();
  how.frame_bytes = 4000;  // longer than those of the network
  if (is_shm()) how.listen = "stopbit-liar-" + std::to_string(::getpid());
  ASSERT_EQ(testing::why(liar.open(how, host->address(), counters)), "");
  const FabricHandle to = liar.add(liar.names().host);
  ASSERT_NE(to, kNoHandle);
  std::mt19937_64 random(4);
  std::array<std::byte, 1024> into;
  std::uint64_t sent = 0;
  const auto lie = [&](std::size_t bytes) {
    FabricHead head;
    head.node = 1;  // as if it were the member
    head.incarnation = random();
    head.kind = static_cast<FabricKind>(random() % 3 == 0 ? random() % 8 : 0);
    std::vector<std::byte> body(bytes);
    for (std::byte& byte : body) byte = static_cast<std::byte>(random());
    if (sent % 4 == 3) head.magic = 0;
    if (sent % 4 == 2) head.version = 7;
    if (liar.send(0, to, std::as_bytes(std::span(&head, 1)), body, 0)) ++sent;
  };
  const auto listen_on = [&] {
    FabricPool::Arrived arrived;
    while (liar.poll(arrived)) liar.give_back(arrived.slot);
    EXPECT_EQ(host->receive(into), 0U);
  };
  const FabricCounters& seen = host->counters();
  EXPECT_TRUE(until({host.get(), a.get()},
                    [&] {
                      if (sent < 2'000) lie(1 + random() % 200);
                      listen_on();
                      return seen.malformed + seen.version + seen.stale + seen.forged + seen.strangers >= 2'000;
                    }))
      << sent << " sent, malformed " << seen.malformed << ", version " << seen.version << ", stale " << seen.stale
      << ", forged " << seen.forged;
  EXPECT_GT(seen.malformed, 100U);
  EXPECT_GT(seen.version, 100U);
  EXPECT_GT(is_shm() ? seen.stale : seen.forged, 100U);
  EXPECT_EQ(seen.joined, 1U);
  // Longer than the network's frames are. Provider shm cuts them.
  EXPECT_TRUE(until({host.get(), a.get()}, [&] {
    if (sent < 2'020) lie(3'000);
    listen_on();
    return is_shm() ? sent == 2'020 : seen.oversized != 0;
  }));
  // The member is still heard.
  EXPECT_TRUE(until({host.get(), a.get()}, [&] { return a->send(0, frame(3)); }));
  EXPECT_TRUE(until({a.get()}, [&] { return host->receive(into) != 0; }));
  EXPECT_EQ(host->sender(), 1);
}

INSTANTIATE_TEST_SUITE_P(Ways, Fabric,
                         ::testing::Values(Way{"tcp", "tcp;ofi_rxm", false}, Way{"tcp_apart", "tcp;ofi_rxm", true},
                                           Way{"shm", "shm", false}),
                         [](const auto& way) { return way.param.name; });

}  // namespace stopbit::nic::fabric_test

#ifdef __SANITIZE_ADDRESS__
/// libfabric forgets what it has of a connection that begins with rubbish, and the search for leaks would tell.
extern "C" [[gnu::visibility("default")]] const char*
__lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfabric.so";
}
#endif
