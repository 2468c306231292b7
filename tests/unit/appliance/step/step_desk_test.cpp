#include "host/appliance/step/step_desk.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <string>

#include "host/os/shm/segment.hpp"
#include "tests/lib/step_server.hpp"

namespace stopbit::appliance::step_desk_test {

using Voice = testing::StepVoice;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMoment = 20'000'000;

/// A server of one connection, by real sockets; time is turned by hand.
struct Trial {
  explicit Trial(const fix::StepOptions& options = {})
      : listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        desk({.wall = [this] { return now; }, .monotonic = [this] { return now; }, .status = {}},
             [](net::Endpoint server) {
               return opener::perform({.kind = opener::RequestKind::Connect}, {.connections = {server}});
             }) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener.get(), 4), 0);
    EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    link = desk.add({INADDR_LOOPBACK, ntohs(address.sin_port)}, options, {});
  }
  void pass(std::uint64_t ns) {
    now += ns;
    desk.step();
  }
  void accept() {
    desk.step();
    peer = os::Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(peer.ok());
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ASSERT_EQ(::setsockopt(peer.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
  }
  /// What the session has said, once it has said something; nothing: it does not.
  std::string hear() {
    std::array<char, 4'096> text;
    const ssize_t size = ::recv(peer.get(), text.data(), text.size(), 0);
    return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "";
  }
  /// It lies in the socket of the other end then, if that is open.
  void say(const std::string& bytes) {
    ASSERT_EQ(::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    for (int unsent = 1; unsent != 0 && link->ends == 0;) ASSERT_EQ(::ioctl(peer.get(), SIOCOUTQ, &unsent), 0);
  }
  void log_on() {
    accept();
    pass(60 * kSecond);
    EXPECT_NE(hear().find("\00135=A\1"), std::string::npos);
    say(Voice::log_on());
    pass(60 * kSecond);
  }

  std::uint64_t now = kSecond;
  os::Descriptor listener, peer;
  StepDesk desk;
  std::shared_ptr<ingest::StepLink> link;
};

/// A process that was stopped, or a machine that slept, finds its deadlines over and the answers in its sockets.
TEST(StepDesk, reads_what_has_come_before_it_judges_time) {
  Trial trial({.heartbeat_s = 10});
  trial.log_on();
  EXPECT_EQ(trial.link->ends, 0U) << "connected and answered while it did not run";
  const auto is_rung = [&] {
    pollfd bell{.fd = trial.link->bell.get(), .events = POLLIN, .revents = 0};
    return ::poll(&bell, 1, 0) == 1;
  };
  trial.link->is_bell_wanted = true;
  trial.say(Voice::message("0|34=0|"));
  trial.pass(60 * kSecond);
  EXPECT_FALSE(is_rung()) << "the agent has nothing to take";
  trial.say(Voice::data("abc"));
  trial.pass(60 * kSecond);
  EXPECT_TRUE(is_rung());
  ASSERT_TRUE(trial.link->packets.front());
  EXPECT_EQ(trial.hear().find("\00135=1\1"), std::string::npos) << "the server has said something";
  trial.pass(60 * kSecond);
  EXPECT_NE(trial.hear().find("\00135=1\1"), std::string::npos);
  trial.say(Voice::message("0|34=0|"));
  trial.pass(60 * kSecond);
  EXPECT_EQ(trial.link->ends, 0U) << "the test request was answered";
  trial.pass(60 * kSecond);
  trial.pass(60 * kSecond);
  EXPECT_EQ(trial.link->ends, 1U);
  EXPECT_EQ(trial.link->last_end, fix::StepEnd::Silent);
}

TEST(StepDesk, ends_a_connection_that_says_nothing) {
  Trial trial;
  trial.accept();
  trial.pass(60 * kSecond);  // it is connected
  EXPECT_EQ(trial.link->ends, 0U);
  trial.pass(60 * kSecond);
  EXPECT_EQ(trial.link->ends, 1U);
  EXPECT_EQ(trial.link->last_end, fix::StepEnd::Silent);
}

TEST(StepDesk, sleeps_while_nothing_is_due) {
  Trial trial;
  trial.log_on();
  (void)trial.desk.run_for(kMoment);  // events of what was read meanwhile
  EXPECT_EQ(trial.desk.run_for(kMoment), 0U) << "a session without heartbeats";
  trial.peer = os::Descriptor();
  while (trial.link->ends == 0) (void)trial.desk.run_for(kMoment);
  trial.listener = os::Descriptor();
  EXPECT_EQ(trial.desk.run_for(kMoment), 0U) << "a server that is down";
}

TEST(StepDesk, wakes_for_a_deadline) {
  Trial trial;
  trial.accept();
  (void)trial.desk.run_for(kMoment);
  trial.now += 10 * kSecond - kMoment;
  (void)trial.hear();
  trial.desk.step();
  trial.now += 60 * kSecond;
  while (trial.link->ends == 0) (void)trial.desk.run_for(kMoment);
  EXPECT_EQ(trial.link->last_end, fix::StepEnd::Silent);
}

TEST(StepDesk, ends_at_once_while_it_sleeps) {
  Trial trial;
  trial.desk.start();
  trial.peer = os::Descriptor(::accept4(trial.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  (void)trial.hear();
  trial.say(Voice::log_on() + Voice::message("1|112=there?|"));
  EXPECT_NE(trial.hear().find("112=there?"), std::string::npos);
  trial.desk.stop();
  EXPECT_NE(trial.hear().find("\00135=5\1"), std::string::npos) << "it logs out";
}

}  // namespace stopbit::appliance::step_desk_test
