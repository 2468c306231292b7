#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "host/feed/packet/socket_address.hpp"
#include "host/multicast/history.hpp"
#include "host/multicast/packet.hpp"
#include "host/multicast/refill_client.hpp"
#include "host/multicast/refill_server.hpp"
#include "host/os/clock.hpp"
#include "host/relay/message.hpp"

namespace stopbit::multicast::refill_test {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::vector<std::byte> some_packet(std::uint64_t sequence, std::size_t bytes) {
  std::vector<std::byte> packet(bytes, static_cast<std::byte>(sequence));
  std::memcpy(packet.data(), &sequence, sizeof(sequence));
  return packet;
}

TEST(MulticastHistory, keeps_the_newest_packets_of_any_lengths) {
  History history(100'000);
  std::mt19937_64 random(7);
  std::vector<std::vector<std::byte>> all;
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    all.push_back(some_packet(1'000 + i, 32 + random() % (i % 100 == 0 ? 60'000 : 1'441)));
    history.add(1'000 + i, all.back());
    ASSERT_EQ(history.next(), 1'001 + i);
    ASSERT_LE(history.oldest(), 1'000 + i);
    for (std::uint64_t sequence = history.oldest(); sequence < history.next(); ++sequence) {
      const auto found = history.find(sequence);
      ASSERT_TRUE(std::equal(found.begin(), found.end(), all[sequence - 1'000].begin(), all[sequence - 1'000].end()));
    }
    ASSERT_TRUE(history.find(history.oldest() - 1).empty());
    ASSERT_TRUE(history.find(history.next()).empty());
  }
}

TEST(MulticastHistory, begins_anew_with_another_epoch_and_may_keep_nothing) {
  History history(100'000);
  history.add(5, some_packet(5, 100));
  history.add(1'000, some_packet(1'000, 100));
  EXPECT_EQ(history.oldest(), 1'000U);
  EXPECT_TRUE(history.find(5).empty());
  History none(0);
  none.add(5, some_packet(5, 100));
  EXPECT_TRUE(none.find(5).empty());
}

/// A service on a thread of its own.
class MulticastRefill : public ::testing::Test {
 protected:
  void start(RefillOptions options = {}) {
    if (options.listen.port == 0) options.listen = {0x7F00'0001, 0};
    auto opened = RefillServer::open(options);
    ASSERT_TRUE(opened) << opened.message();
    server_ = std::move(opened).value();
    thread_ = std::thread([this] {
      while (!stop_) {
        (void)server_->step(
            os::monotonic_clock_ns(),
            {.history = history_, .epoch = 9, .layout = relay::name_of_layout(image_), .image = image_});
        std::this_thread::yield();
      }
    });
  }
  ~MulticastRefill() override { stop(); }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int connect_raw() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = net::socket_address(server_->address());
    EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return socket;
  }

  History history_{1U << 20};
  std::vector<std::byte> image_ = std::vector<std::byte>(700'000, std::byte{3});
  std::unique_ptr<RefillServer> server_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(MulticastRefill, sends_packets_again_as_they_were) {
  for (std::uint64_t i = 0; i < 3'000; ++i) history_.add(i, some_packet(i, 1'000));
  start();
  RefillClient client(server_->address());
  std::uint64_t next = 2'500;
  auto done = client.packets(2'500, 3'000, 60 * kSecond, [&](std::span<const std::byte> packet) {
    const auto expected = some_packet(next++, 1'000);
    EXPECT_TRUE(std::equal(packet.begin(), packet.end(), expected.begin(), expected.end()));
  });
  ASSERT_TRUE(done) << done.message();
  EXPECT_EQ(next, 3'000U);
  EXPECT_EQ(done.value().status, Completion::Status::Complete);
  EXPECT_EQ(done.value().next, 3'000U);
  EXPECT_EQ(done.value().epoch, 9U);
  // Over the same connection: those that are not kept any more, or not yet, are told.
  std::uint64_t count = 0;
  const std::uint64_t oldest = done.value().oldest;
  ASSERT_GT(oldest, 0U);
  done = client.packets(0, 3'100, 60 * kSecond, [&](auto) { ++count; });
  ASSERT_TRUE(done) << done.message();
  EXPECT_EQ(done.value().status, Completion::Status::Gone);
  EXPECT_EQ(count, 3'000 - oldest);
  done = client.packets(0, 0, 60 * kSecond, [&](auto) { FAIL(); });
  ASSERT_TRUE(done) << done.message();
  EXPECT_EQ(done.value().oldest, oldest);
}

TEST_F(MulticastRefill, sends_a_layout_and_only_the_one_that_is_asked_for) {
  start();
  RefillClient client(server_->address());
  const auto image = client.layout(relay::name_of_layout(image_), 60 * kSecond);
  ASSERT_TRUE(image) << image.message();
  EXPECT_EQ(image.value(), image_);
  EXPECT_FALSE(client.layout(1, 60 * kSecond));
  EXPECT_TRUE(client.layout(relay::name_of_layout(image_), 60 * kSecond)) << "the connection goes on";
}

TEST_F(MulticastRefill, closes_what_is_no_request) {
  start();
  std::mt19937_64 random(7);
  for (int i = 0; i < 50; ++i) {
    const int socket = connect_raw();
    std::array<std::uint64_t, 4> words;
    for (auto& word : words) word = random();
    EXPECT_EQ(::send(socket, words.data(), sizeof(words), MSG_NOSIGNAL), static_cast<ssize_t>(sizeof(words)));
    char byte = 0;
    EXPECT_LE(::recv(socket, &byte, 1, 0), 0);
    ::close(socket);
  }
  stop();
  EXPECT_EQ(server_->counts().malformed, 50U);
  EXPECT_EQ(server_->counts().requests, 0U);
}

TEST_F(MulticastRefill, finds_a_service_that_was_started_again) {
  history_.add(5, some_packet(5, 100));
  start();
  const net::Endpoint address = server_->address();
  RefillClient client(address);
  ASSERT_TRUE(client.packets(5, 6, 60 * kSecond, [](auto) {}));
  stop();
  server_.reset();
  stop_ = false;
  start({.listen = address});
  const auto done = client.packets(5, 6, 60 * kSecond, [](auto) {});
  EXPECT_TRUE(done) << done.message();
}

TEST_F(MulticastRefill, has_a_limit_of_clients) {
  start({.clients = 3, .clients_per_address = 2});
  RefillClient first(server_->address());
  RefillClient second(server_->address());
  RefillClient third(server_->address());
  const auto asks = [](RefillClient& client) { return client.packets(0, 0, 60 * kSecond, [](auto) {}).ok(); };
  EXPECT_TRUE(asks(first));
  EXPECT_TRUE(asks(second));
  EXPECT_FALSE(asks(third)) << "all are of one address";
  EXPECT_TRUE(asks(first));
  stop();
  EXPECT_EQ(server_->counts().refused, 1U);
}

TEST_F(MulticastRefill, does_not_wait_for_a_client_that_takes_nothing) {
  for (std::uint64_t i = 0; i < 700; ++i) history_.add(i, some_packet(i, 1'400));
  start();
  const int socket = connect_raw();
  std::array<std::byte, kRequestBytes> request;
  encode(Request{Request::Kind::Packets, 0, 700}, request);
  // Many requests, and nothing is read: one answer at a time waits here, not all.
  for (int i = 0; i < 200; ++i) (void)::send(socket, request.data(), request.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  RefillClient client(server_->address());
  std::uint64_t count = 0;
  const auto done = client.packets(0, 700, 60 * kSecond, [&](auto) { ++count; });
  ASSERT_TRUE(done) << done.message();
  EXPECT_EQ(count, 700U);
  ::close(socket);
}

TEST(MulticastRefillMessages, are_read_as_they_were_written_and_others_are_refused) {
  std::array<std::byte, kRequestBytes> request;
  encode(Request{Request::Kind::Packets, 5, 70}, request);
  ASSERT_TRUE(decode_request(request));
  EXPECT_EQ(decode_request(request)->end, 70U);
  encode(Request{Request::Kind::Packets, 5, 6 + kMostRequested}, request);
  EXPECT_FALSE(decode_request(request)) << "too many at a time";
  encode(Request{Request::Kind::Packets, 5, 4}, request);
  EXPECT_FALSE(decode_request(request));
  std::array<std::byte, kAnswerHeadBytes> head;
  encode(AnswerHead{AnswerHead::Kind::Packet, 31}, head);
  EXPECT_FALSE(decode_answer_head(head));
  encode(AnswerHead{AnswerHead::Kind::Layout, 0xFFFF'FFFF}, head);
  EXPECT_FALSE(decode_answer_head(head)) << "no memory for that";
}

}  // namespace stopbit::multicast::refill_test
