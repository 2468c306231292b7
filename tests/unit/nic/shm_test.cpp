#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "host/nic/link/links.hpp"
#include "host/nic/transport/shm/shm_transport.hpp"
#include "host/os/clock.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::nic::shm_test {

class Shm : public ::testing::Test {
 protected:
  [[nodiscard]] ShmOptions options(NodeId node, std::size_t nodes = 2) const {
    ShmOptions result;
    result.network = path + "/net";
    result.node = node;
    result.nodes = nodes;
    result.slots = 8;
    result.frame_bytes = 256;
    return result;
  }
  [[nodiscard]] std::unique_ptr<ShmTransport> open(const ShmOptions& how) const {
    Result<std::unique_ptr<ShmTransport>> opened = ShmTransport::open(how);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.message());
    return opened ? std::move(opened).value() : nullptr;
  }
  testing::Scratch scratch;
  std::string path = scratch.folder().string();
};

std::vector<std::byte> frame(std::uint64_t number) {
  std::vector<std::byte> bytes(8 + number % 249);
  for (std::size_t i = 8; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number + i);
  std::memcpy(bytes.data(), &number, 8);
  return bytes;
}

TEST_F(Shm, carries_frames_of_every_length_in_order_and_refuses_when_full) {
  const auto a = open(options(0));
  const auto b = open(options(1));
  std::array<std::byte, 256> into;
  EXPECT_EQ(b->receive(into), 0U);
  std::uint64_t sent = 0;
  std::uint64_t got = 0;
  for (int round = 0; round < 300; ++round) {
    while (a->send(1, frame(sent))) ++sent;
    EXPECT_EQ(sent - got, 8U);
    for (std::size_t length = b->receive(into); length != 0; length = b->receive(into)) {
      const std::vector<std::byte> expected = frame(got++);
      ASSERT_EQ(length, expected.size());
      ASSERT_EQ(std::memcmp(into.data(), expected.data(), length), 0);
    }
    EXPECT_EQ(got, sent);
  }
  EXPECT_TRUE(a->send(0, frame(1)));  // to oneself
  EXPECT_EQ(a->receive(into), frame(1).size());
  EXPECT_FALSE(a->send(7, frame(1)));
  EXPECT_FALSE(a->send(1, std::vector<std::byte>(257)));
}

TEST_F(Shm, keeps_a_second_process_from_being_the_same_node_and_lets_a_successor) {
  auto a = open(options(0));
  const Result<std::unique_ptr<ShmTransport>> second = ShmTransport::open(options(0));
  ASSERT_FALSE(second);
  EXPECT_NE(second.message().find("live"), std::string::npos) << second.message();
  a.reset();
  EXPECT_FALSE(std::filesystem::exists(path + "/net.0"));
  EXPECT_NE(open(options(0)), nullptr);
}

TEST_F(Shm, refuses_an_inbox_of_another_shape_of_another_kind_and_of_everyone) {
  const auto a = open(options(0));
  EXPECT_FALSE(a->connect(1));
  ShmOptions other = options(1);
  other.frame_bytes = 512;
  {
    const auto b = open(other);
    EXPECT_FALSE(a->connect(1));
    EXPECT_NE(a->problem().find("geometry"), std::string::npos) << a->problem();
  }
  std::ofstream(path + "/net.1") << "not an inbox";
  EXPECT_FALSE(a->connect(1));
  EXPECT_FALSE(ShmTransport::open(options(1)));  // another program's file is left alone
  std::filesystem::remove(path + "/net.1");
  const auto b = open(options(1));
  ASSERT_EQ(::chmod((path + "/net.1").c_str(), 0666), 0);
  EXPECT_FALSE(a->connect(1));
  ASSERT_EQ(::chmod((path + "/net.1").c_str(), 0600), 0);
  EXPECT_TRUE(a->connect(1)) << a->problem();
  for (const auto& wrong :
       {ShmOptions{path + "/n", 0, 0}, ShmOptions{path + "/n", 2, 2}, ShmOptions{path + "/n", 0, 65},
        ShmOptions{path + "/n", 0, 2, 3}, ShmOptions{path + "/n", 0, 2, 8, 64}, ShmOptions{"", 0, 2}}) {
    EXPECT_FALSE(ShmTransport::open(wrong));
  }
}

/// Its user or root has done it: the node is cut off, and no process dies.
TEST_F(Shm, survives_an_inbox_that_becomes_shorter) {
  const auto a = open(options(0));
  const auto b = open(options(1));
  ASSERT_TRUE(a->connect(1)) << a->problem();
  std::array<std::byte, 256> got{};
  ASSERT_TRUE(a->send(1, frame(1)));
  ASSERT_NE(b->receive(got), 0U);
  std::filesystem::resize_file(path + "/net.1", 0);
  for (std::uint64_t i = 0; i < 100; ++i) {
    (void)a->send(1, frame(i));
    EXPECT_EQ(b->receive(got), 0U);
  }
  EXPECT_FALSE(a->connect(1));
  EXPECT_NE(a->problem().find("has another geometry"), std::string::npos) << a->problem();
}

TEST_F(Shm, survives_any_contents_of_its_inbox) {
  const auto a = open(options(0));
  const auto b = open(options(1));
  ASSERT_TRUE(b->send(0, frame(1)));
  std::array<std::byte, 256> into;
  std::mt19937_64 random(11);
  const std::size_t bytes = std::filesystem::file_size(path + "/net.0");
  for (int round = 0; round < 50; ++round) {
    std::fstream file(path + "/net.0", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(kPageBytes));
    for (std::size_t i = kPageBytes; i < bytes; i += 8) {
      const std::uint64_t word = random() % 3 == 0 ? random() : random() % 20;
      file.write(reinterpret_cast<const char*>(&word), 8);
    }
    file.close();
    for (int i = 0; i < 100; ++i) {
      EXPECT_LE(a->receive(into), into.size());
      (void)b->send(0, frame(static_cast<std::uint64_t>(i)));
    }
  }
}

/// Takes packets that are numbered, and counts.
class Numbers final : public PacketSink {
 public:
  [[nodiscard]] std::uint8_t early(NodeId, VirtualChannel, std::span<const std::byte>) override { return 0; }
  [[nodiscard]] bool ordered(NodeId, VirtualChannel, std::span<const std::byte> packet, std::uint8_t) override {
    std::uint64_t number = 0;
    std::memcpy(&number, packet.data(), std::min<std::size_t>(packet.size(), 8));
    if (number != next++ || packet.size() < 8) in_order = false;
    return true;
  }
  void lost(NodeId) override { is_lost = true; }
  std::uint64_t next = 0;
  bool in_order = true;
  bool is_lost = false;
};

/// Sends `count` numbered packets to the other node and takes as many; returns 0 if all is well.
int exchange(const ShmOptions& how, std::uint64_t count) {
  Result<std::unique_ptr<ShmTransport>> opened = ShmTransport::open(how);
  if (!opened) return 2;
  const NodeId other = how.node == 0 ? 1 : 0;
  LinkOptions link;
  link.silence_ns = 20'000'000'000;  // a busy machine
  Links links(*opened.value(), link);
  Numbers numbers;
  const std::uint64_t end = os::monotonic_clock_ns() + 60'000'000'000;
  std::uint64_t sent = 0;
  std::uint64_t idle_since = 0;
  for (std::uint64_t now = os::monotonic_clock_ns(); now < end; now = os::monotonic_clock_ns()) {
    for (; sent < count; ++sent) {
      std::array<std::byte, 100> packet{};
      std::memcpy(packet.data(), &sent, 8);
      if (links.send(other, VirtualChannel::Low, packet, false, now) != SendResult::Sent) break;
    }
    if (links.step(numbers, now) == 0) ::usleep(50);
    if (numbers.is_lost || !numbers.in_order) return 3;
    const bool is_done = sent == count && numbers.next == count && links.is_idle();
    if (!is_done) idle_since = 0;
    if (is_done && idle_since == 0) idle_since = now;
    // The other one may still miss the last acknowledgement.
    if (is_done && now - idle_since > 200'000'000) return 0;
  }
  return 4;
}

TEST_F(Shm, carries_links_between_two_processes) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(exchange(options(1), 20'000));
  EXPECT_EQ(exchange(options(0), 20'000), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(Shm, finds_the_successor_of_a_killed_node) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto b = open(options(1));
    if (b == nullptr || ::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto a = open(options(0));
  while (a->send(1, frame(1))) {
  }
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(a->send(1, frame(2)));
  const auto b = open(options(1));
  std::array<std::byte, 256> into;
  bool is_sent = false;
  for (int i = 0; i < 5000 && !is_sent; ++i) {
    is_sent = a->send(1, frame(3));
    ::usleep(100);
  }
  ASSERT_TRUE(is_sent);
  EXPECT_EQ(b->receive(into), frame(3).size());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(Shm, knows_which_nodes_are_alive_and_which_numbers_are_free) {
  const std::string network = path + "/net";
  EXPECT_EQ(ShmTransport::free_node(network, 4), NodeId{0});
  const auto first = open(options(0, 4));
  auto second = open(options(1, 4));
  EXPECT_EQ(ShmTransport::free_node(network, 4), NodeId{2});
  EXPECT_EQ(ShmTransport::free_node(network, 2), std::nullopt);
  EXPECT_TRUE(first->is_alive(0));
  EXPECT_TRUE(first->is_alive(1));
  EXPECT_FALSE(first->is_alive(2));
  second.reset();
  EXPECT_FALSE(first->is_alive(1));
  EXPECT_EQ(ShmTransport::free_node(network, 4), NodeId{1});
  second = open(options(1, 4));
  EXPECT_FALSE(first->is_alive(1)) << "it is another, which was not looked for";
  first->disconnect(1);
  EXPECT_TRUE(first->is_alive(1));
}

TEST_F(Shm, removes_the_inboxes_of_the_dead_and_no_others) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto killed = open(options(2, 4));
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const auto alive = open(options(1, 4));
  std::ofstream(path + "/net.3") << "something else, and longer than a magic number";
  ASSERT_TRUE(std::filesystem::exists(path + "/net.2"));
  EXPECT_EQ(ShmTransport::remove_dead(path + "/net", 4), 1U);
  EXPECT_FALSE(std::filesystem::exists(path + "/net.2"));
  EXPECT_TRUE(std::filesystem::exists(path + "/net.1"));
  EXPECT_TRUE(std::filesystem::exists(path + "/net.3"));
  EXPECT_EQ(ShmTransport::remove_dead(path + "/net", 4), 0U);
}

}  // namespace stopbit::nic::shm_test
