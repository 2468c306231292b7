#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/nic/transport/fabric/fabric_transport.hpp"

namespace stopbit::nic {
namespace {

std::uint64_t clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Some nodes of one process, in one thread, over a provider.
class Fabric : public ::testing::TestWithParam<const char*> {
 protected:
  using Node = std::unique_ptr<FabricTransport>;

  void SetUp() override {
    if (const std::string why = FabricTransport::why_not(); !why.empty()) GTEST_SKIP() << why;
  }
  [[nodiscard]] bool is_shm() const { return GetParam() == std::string("shm"); }
  [[nodiscard]] FabricOptions options() const {
    FabricOptions result;
    result.provider = GetParam();
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
  /// Lets all of them work until it is so; false after ten seconds.
  [[nodiscard]] static bool until(const std::vector<FabricTransport*>& nodes, const std::function<bool()>& is_so) {
    for (const std::uint64_t end = clock_ns() + 10'000'000'000; !is_so();) {
      if (clock_ns() >= end) return false;
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
  const Node host = listen(options());
  const Node a = start(options(), host, 1);
  const Node b = start(options(), host, 2);
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
  EXPECT_FALSE(a->send(3, frame(1)));  // nobody
  EXPECT_FALSE(a->send(9, frame(1)));
  EXPECT_FALSE(a->send(0, std::vector<std::byte>(1025)));
  EXPECT_FALSE(a->send(0, {}));
}

INSTANTIATE_TEST_SUITE_P(Providers, Fabric, ::testing::Values("tcp;ofi_rxm", "shm"),
                         [](const auto& provider) { return std::string(provider.param) == "shm" ? "shm" : "tcp"; });

}  // namespace
}  // namespace stopbit::nic
