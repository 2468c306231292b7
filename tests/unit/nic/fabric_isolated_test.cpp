// libfabric in a process of its own: that process dies, hangs, lies; no other process is affected.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/fabric/isolated/confine_server.hpp"
#include "host/nic/transport/fabric/isolated/isolated_device.hpp"
#include "host/nic/transport/fabric/membership.hpp"
#include "host/os/clock.hpp"

namespace stopbit::nic::fabric_isolated_test {

constexpr std::uint64_t kPatienceNs = 60'000'000'000;  // of a machine that is busy

std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}
std::string status_line(pid_t process, const std::string& key) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return line.substr(line.find_last_of("\t ") + 1);
  }
  return {};
}

/// Two nodes over tcp, node 0 with libfabric apart, which began last.
class FabricApart : public ::testing::Test {
 protected:
  // A process that gets no processor for some seconds is replaced, too, unless a test wants that.
  FabricApart() { options_.hung_ns = 100'000'000'000; }
  void SetUp() override {
    if (const Status has = FabricTransport::available(); !has) GTEST_SKIP() << has.message();
    options_.nodes = 2;
    options_.frame_bytes = 1024;
    options_.lease_ns = 2'000'000'000;
    options_.program = find_fabric_program().value();
    FabricOptions how = options_;
    how.listen = "127.0.0.1:0";
    const std::vector<pid_t> before = children_of(::getpid());
    auto host = FabricTransport::listen(how);
    ASSERT_TRUE(host.ok()) << host.message();
    host_ = std::move(host).value();
    for (const pid_t child : children_of(::getpid())) {
      if (std::find(before.begin(), before.end(), child) == before.end()) supervisor_ = child;
    }
    ASSERT_NE(supervisor_, 0);
  }
  void join() {
    auto member = FabricTransport::start(options_, host_->address());
    ASSERT_TRUE(member.ok()) << member.message();
    member_ = std::move(member).value();
    ASSERT_TRUE(until([&] { return member_->is_joined(); })) << member_->why_not_joined();
  }
  [[nodiscard]] bool until(const std::function<bool()>& is_so) {
    constexpr timespec kPause{0, 100'000};  // the processes have to have the processors, too
    for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs; !is_so(); ::nanosleep(&kPause, nullptr)) {
      if (os::monotonic_clock_ns() > end) return false;
      host_->progress();
      if (member_ != nullptr) member_->progress();
    }
    return true;
  }
  /// Takes what has come: no frame comes twice, or after a later one.
  static void hear(FabricTransport& node, std::uint64_t& last) {
    std::array<std::byte, 1024> into{};
    while (node.receive(into) != 0) {
      std::uint64_t number = 0;
      std::memcpy(&number, into.data(), sizeof(number));
      if (number == 0) continue;  // from another sender
      EXPECT_GT(number, last);
      last = number;
    }
  }
  /// A frame with a number that none had before reaches the other one.
  [[nodiscard]] bool passes(FabricTransport& from, FabricTransport& to, const std::uint64_t& last_heard) {
    const std::uint64_t first = ++number_;
    return until([&] {
      if (from.send(to.node(), std::as_bytes(std::span(&number_, 1)))) ++number_;
      hear(*host_, heard_by_host_);
      hear(*member_, heard_by_member_);
      return last_heard >= first;
    });
  }
  [[nodiscard]] bool both_pass() {
    return passes(*member_, *host_, heard_by_host_) && passes(*host_, *member_, heard_by_member_);
  }
  [[nodiscard]] pid_t server() const {
    const std::vector<pid_t> servers = children_of(supervisor_);
    return servers.size() == 1 ? servers.front() : 0;
  }

  FabricOptions options_;
  std::unique_ptr<FabricTransport> host_;
  std::unique_ptr<FabricTransport> member_;
  pid_t supervisor_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t heard_by_host_ = 0;
  std::uint64_t heard_by_member_ = 0;
};

TEST_F(FabricApart, gives_its_process_nothing_that_is_worth_having) {
  const pid_t process = server();
  ASSERT_NE(process, 0);
  EXPECT_EQ(status_line(process, "Seccomp:"), "2");
  EXPECT_EQ(status_line(process, "NoNewPrivs:"), "1");
  EXPECT_EQ(status_line(process, "CapEff:"), "0000000000000000");
  if (::geteuid() == 0) {
    EXPECT_EQ(status_line(process, "CapBnd:"), "0000000000000000");  // others cannot change it
  }
}

TEST_F(FabricApart, is_there_again_at_the_same_address_when_its_process_has_died) {
  join();
  const std::string address = host_->address();
  ASSERT_TRUE(both_pass());
  for (std::uint64_t deaths = 1; deaths <= 4; ++deaths) {
    const pid_t process = server();
    ASSERT_NE(process, 0);
    ASSERT_EQ(::kill(process, SIGKILL), 0);
    ASSERT_TRUE(until([&] { return host_->deaths().count == deaths; }));
    ASSERT_TRUE(both_pass()) << deaths;
    EXPECT_EQ(host_->deaths().count, deaths);
    EXPECT_EQ(host_->deaths().why, "it died of SIGKILL");
    EXPECT_EQ(host_->address(), address);
    ASSERT_NE(server(), process);
  }
  EXPECT_TRUE(until([&] { return member_->is_joined(); }));
  EXPECT_EQ(member_->deaths().count, 0U);
}

TEST_F(FabricApart, replaces_a_process_that_hangs) {
  options_.hung_ns = 500'000'000;
  FabricOptions how = options_;
  how.listen = "127.0.0.1:0";
  host_.reset();
  SetUp();
  join();
  ASSERT_TRUE(both_pass());
  ASSERT_EQ(::kill(server(), SIGSTOP), 0);
  ASSERT_TRUE(until([&] { return host_->deaths().count == 1; }));
  EXPECT_EQ(host_->deaths().why, "it hangs");
  EXPECT_TRUE(both_pass());
}

TEST_F(FabricApart, says_so_when_nobody_can_start_its_process_again) {
  ASSERT_EQ(::kill(supervisor_, SIGKILL), 0);
  ASSERT_TRUE(until([&] { return host_->deaths().count != 0; }));
  EXPECT_EQ(host_->deaths().why, "its supervisor died, so it cannot be restarted");
  EXPECT_EQ(host_->problem(), "the supervisor of the libfabric processes died");
  // It is not tried, so that the message is not repeated.
  const std::uint64_t end = os::monotonic_clock_ns() + 1'200'000'000;
  ASSERT_TRUE(until([&] { return os::monotonic_clock_ns() > end; }));
  EXPECT_EQ(host_->deaths().count, 1U);
  const std::byte frame{};
  EXPECT_FALSE(host_->send(1, {&frame, 1}));
}

TEST_F(FabricApart, ends_its_process_with_itself) {
  const pid_t process = server();
  ASSERT_NE(process, 0);
  host_.reset();
  for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs;
       ::kill(process, 0) == 0 && os::monotonic_clock_ns() < end;) {
  }
  EXPECT_NE(::kill(process, 0), 0);
  EXPECT_NE(::kill(supervisor_, 0), 0);
}

/// A way to a port on this host on which bits are turned, in a share of the chunks of both directions.
class BadWay {
 public:
  BadWay(const std::string& to, double share) : share_(share) {
    to_.sin_family = AF_INET;
    to_.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    to_.sin_port = ::htons(static_cast<std::uint16_t>(std::stoul(to.substr(to.rfind(':') + 1))));
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(here);
    EXPECT_EQ(::bind(door_.get(), reinterpret_cast<const sockaddr*>(&here), length), 0);
    EXPECT_EQ(::listen(door_.get(), 16), 0);
    EXPECT_EQ(::getsockname(door_.get(), reinterpret_cast<sockaddr*>(&here), &length), 0);
    address_ = "127.0.0.1:" + std::to_string(::ntohs(here.sin_port));
    thread_ = std::thread([this] { run(); });
  }
  BadWay(const BadWay&) = delete;
  BadWay& operator=(const BadWay&) = delete;
  ~BadWay() {
    stop_.store(true);
    thread_.join();
  }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::uint64_t turned() const { return turned_.load(); }

 private:
  struct Line {
    os::Descriptor client;
    os::Descriptor server;
  };
  void run() {
    while (!stop_.load()) {
      std::vector<pollfd> polled{{door_.get(), POLLIN, 0}};
      for (const Line& line : lines_) {
        polled.push_back({line.client.get(), POLLIN, 0});
        polled.push_back({line.server.get(), POLLIN, 0});
      }
      (void)::poll(polled.data(), polled.size(), 50);
      for (std::size_t i = lines_.size(); i-- > 0;) {
        const bool goes_on = (polled[1 + 2 * i].revents == 0 || carry(lines_[i].client, lines_[i].server)) &&
                             (polled[2 + 2 * i].revents == 0 || carry(lines_[i].server, lines_[i].client));
        if (!goes_on) lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (polled[0].revents != 0) admit();
    }
  }
  void admit() {
    Line line{os::Descriptor(::accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC)),
              os::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    if (::connect(line.server.get(), reinterpret_cast<const sockaddr*>(&to_), sizeof(to_)) == 0) {
      lines_.push_back(std::move(line));
    }
  }
  bool carry(const os::Descriptor& from, const os::Descriptor& to) {
    std::array<std::uint8_t, 4096> chunk{};
    const ssize_t length = ::recv(from.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (length <= 0) return false;
    if (std::bernoulli_distribution(share_)(random_)) {
      chunk[random_() % static_cast<std::size_t>(length)] ^= static_cast<std::uint8_t>(1U << random_() % 8);
      ++turned_;
    }
    return ::send(to.get(), chunk.data(), static_cast<std::size_t>(length), MSG_NOSIGNAL) == length;
  }

  double share_;
  sockaddr_in to_{};
  os::Descriptor door_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string address_;
  std::vector<Line> lines_;
  std::mt19937_64 random_{7};
  std::atomic<std::uint64_t> turned_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(FabricApart, serves_a_member_while_bits_are_turned_on_the_way_of_another) {
  // libfabric may die of a wrong length, and may as well run in circles for ever (in fi_av_remove).
  options_.hung_ns = FabricOptions().hung_ns;
  host_.reset();
  options_.nodes = 8;
  SetUp();
  join();
  const BadWay bad(host_->address(), 0.3);
  auto other = FabricTransport::start(options_, bad.address());
  ASSERT_TRUE(other.ok()) << other.message();
  FabricTransport& unlucky = *other.value();
  for (const std::uint64_t end = os::monotonic_clock_ns() + 10'000'000'000; os::monotonic_clock_ns() < end;) {
    const std::uint64_t begin = os::monotonic_clock_ns();
    std::array<std::byte, 1024> frame{};
    const auto chatter = [&] {
      unlucky.progress();
      (void)unlucky.send(0, frame);
      (void)host_->send(unlucky.node(), frame);
      while (unlucky.receive(frame) != 0) {
      }
    };
    ASSERT_TRUE(until([&] {
      chatter();
      return os::monotonic_clock_ns() - begin > 100'000'000;
    }));
    ASSERT_TRUE(both_pass()) << "deaths " << host_->deaths().count << " " << host_->deaths().why << " "
                             << member_->why_not_joined();
  }
  EXPECT_GT(bad.turned(), 20U);
}

TEST(FabricProgram, names_what_cannot_be_started_and_what_cannot_be_opened) {
  if (const Status has = FabricTransport::available(); !has) GTEST_SKIP() << has.message();
  FabricOptions options;
  options.listen = "127.0.0.1:0";
  options.program = "/nowhere/stopbit-fabric";
  auto none = FabricTransport::listen(options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.message(),
            "cannot start '/nowhere/stopbit-fabric', the process for libfabric: No such file or directory");
  options.program = "/bin/true";
  none = FabricTransport::listen(options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.message(), "its supervisor died, so it cannot be restarted");
  options.program = find_fabric_program().value();
  options.listen = "192.0.2.1:5177";  // of no host
  none = FabricTransport::listen(options);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.message().find("192.0.2.1:5177"), std::string::npos) << none.message();
  options.provider = "none;such";
  none = FabricTransport::listen(options);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.message().find("provider 'none;such'"), std::string::npos) << none.message();
}

TEST(FabricProgram, that_is_as_fast_as_its_process_does_not_hold_it) {
  if (const Status has = FabricTransport::available(); !has) GTEST_SKIP() << has.message();
  FabricOptions options;
  options.listen = "127.0.0.1:0";
  options.program = STOPBIT_FABRIC_FLOOD;
  auto node = FabricTransport::listen(options);
  ASSERT_TRUE(node.ok()) << node.message();
  const std::uint64_t begin = os::monotonic_clock_ns();
  for (std::uint64_t last = begin; os::monotonic_clock_ns() - begin < 3'000'000'000;) {
    const std::uint64_t before = node.value()->counters().malformed;
    node.value()->progress();
    ASSERT_LE(node.value()->counters().malformed - before, options.rx_slots)
        << os::monotonic_clock_ns() - last << " ns";
    last = os::monotonic_clock_ns();
  }
  EXPECT_GT(node.value()->counters().malformed, 10 * options.rx_slots);
}

/// How a process ends that is confined as a server is, and then does this.
int end_of_confined(const std::function<void()>& does) {
  const pid_t process = ::fork();
  if (process == 0) {
    if (!confine_server()) ::_exit(2);
    does();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  return status;
}
/// Another process of the same user, which must be left alone.
class Bystander {
 public:
  Bystander() : process_(::fork()) {
    while (process_ == 0) ::pause();
  }
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  ~Bystander() {
    if (lives()) {
      (void)::kill(process_, SIGKILL);
      (void)::waitpid(process_, nullptr, 0);
    }
  }
  [[nodiscard]] pid_t process() const { return process_; }
  /// Whether it has borne all signals that were sent to it so far: it stops for us, unless one of them ends it.
  [[nodiscard]] bool lives() {
    if (has_ended_) return false;
    int status = 0;
    (void)::kill(process_, SIGSTOP);
    has_ended_ = ::waitpid(process_, &status, WUNTRACED) != process_ || !WIFSTOPPED(status);
    (void)::kill(process_, SIGCONT);
    return !has_ended_;
  }

 private:
  pid_t process_;
  bool has_ended_ = false;
};

TEST(FabricConfined, has_sockets_over_ip_only) {
  EXPECT_EQ(end_of_confined([] {
              const bool is_so = ::socket(AF_INET, SOCK_STREAM, 0) >= 0 && ::socket(AF_INET6, SOCK_DGRAM, 0) >= 0 &&
                                 ::socket(AF_UNIX, SOCK_STREAM, 0) < 0 && ::socket(AF_NETLINK, SOCK_RAW, 0) < 0;
              std::array<int, 2> pair{};
              const bool are_pairs = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0 &&
                                     ::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair.data()) < 0;
              ::_exit(is_so && are_pairs ? 0 : 1);
            }),
            0);
}
TEST(FabricConfined, sends_signals_to_itself_only) {
  Bystander other;
  EXPECT_EQ(end_of_confined([&] { (void)::syscall(SYS_tgkill, other.process(), other.process(), SIGKILL); }), 0);
  EXPECT_EQ(end_of_confined([&] {
              std::array<int, 2> pair{};
              if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) != 0) ::_exit(1);
              (void)::fcntl(pair[0], F_SETOWN, other.process());
              (void)::fcntl(pair[0], F_SETSIG, SIGKILL);
              (void)::fcntl(pair[0], F_SETFL, O_ASYNC);
              if (::write(pair[1], "x", 1) != 1) ::_exit(1);
            }),
            0);
  EXPECT_TRUE(other.lives());
  const int status = end_of_confined([] { (void)::raise(SIGUSR1); });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1) << status;
}

/// An endpoint of which the test says whether it takes addresses. A handle is the first byte of its address, and 7.
class Taking final : public FabricWires {
 public:
  bool takes = true;
  std::size_t added = 0;
  std::vector<std::vector<std::byte>> sent;
  [[nodiscard]] FabricHandle add(std::span<const std::byte> address) override {
    if (!takes) return kNoHandle;
    ++added;
    return 7 + static_cast<FabricHandle>(address.front());
  }
  void remove(FabricHandle /*handle*/) override { --added; }
  [[nodiscard]] bool send(std::size_t, FabricHandle to, std::span<const std::byte> frame) override {
    if (to == kNoHandle) return false;
    sent.emplace_back(frame.begin(), frame.end());
    return true;
  }
};

/// A frame, an address after it, and its checksum, unless it is bare.
template <class Frame>
std::vector<std::byte> packed(const Frame& frame, std::span<const std::byte> address = {}, bool is_bare = false) {
  const auto head = std::as_bytes(std::span(&frame, 1));
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), address.begin(), address.end());
  if (is_bare) return bytes;
  const std::uint32_t checksum = fabric_checksum(bytes);
  const auto behind = std::as_bytes(std::span(&checksum, 1));
  bytes.insert(bytes.end(), behind.begin(), behind.end());
  return bytes;
}
template <class Frame>
Frame unpacked(std::span<const std::byte> bytes) {
  Frame frame;
  std::memcpy(&frame, bytes.data(), std::min(sizeof(frame), bytes.size()));
  return frame;
}

TEST(FabricMembership, adds_a_peer_again_whose_address_was_not_taken) {
  for (const bool knows_sources : {true, false}) {
    Taking wires;
    const FabricOptions options;
    FabricCounters counters;
    Membership::Self self;
    self.address.resize(16);
    self.host.resize(16);
    self.incarnation = 5;
    self.knows_sources = knows_sources;
    Membership membership(wires, options, self, counters);
    std::uint64_t now = 1'000'000'000;
    FabricOffer offer;
    offer.head = {.kind = FabricKind::Offer, .node = 0, .incarnation = 9};
    offer.to = self.incarnation;
    offer.ticket = 77;
    offer.node = 1;
    EXPECT_FALSE(membership.take(7, packed(offer), now));
    const std::vector<std::byte> address(16, std::byte{2});
    FabricPeer peer;
    peer.head = {.kind = FabricKind::Peer, .node = 0, .incarnation = 9};
    peer.to = self.incarnation;
    peer.stamp = 1;
    peer.incarnation = 22;
    peer.node = 2;
    peer.address_bytes = 16;
    wires.takes = false;
    EXPECT_FALSE(membership.take(7, packed(peer, address), now));
    EXPECT_EQ(membership.handle(2), kNoHandle);
    // No frames count as its own meanwhile.
    FabricHead data{.kind = FabricKind::Data, .node = 2, .incarnation = 22};
    EXPECT_FALSE(membership.take(kNoHandle, packed(data, address, true), now));
    FabricAlive alive;
    alive.head = {.kind = FabricKind::Alive, .node = 0, .incarnation = 9};
    alive.proof = self.incarnation;
    alive.stamp = 1;
    const auto pass_time = [&] {
      for (int i = 0; i < 8; ++i) {
        membership.step(now += options.lease_ns / 16);
        EXPECT_FALSE(membership.take(7, packed(alive), now));
      }
    };
    pass_time();
    EXPECT_EQ(membership.handle(2), kNoHandle);
    EXPECT_TRUE(membership.is_joined());  // the others are not to suffer for it
    wires.takes = true;
    pass_time();
    EXPECT_EQ(membership.handle(2), 9U);
    EXPECT_EQ(membership.take(9, packed(data, address, true), now), 2);
  }
}

/// Node 0, asked by nodes of other versions.
class OtherVersions : public ::testing::Test {
 protected:
  OtherVersions() {
    options_.nodes = 4;
    Membership::Self self;
    self.address.resize(16);
    self.incarnation = 5;
    host_.emplace(wires_, options_, self, counters_);
    wires_.added = 0;
  }
  [[nodiscard]] static FabricJoin join_of(std::uint8_t version, std::uint64_t incarnation) {
    FabricJoin join;
    join.head = {.version = version, .kind = FabricKind::Join, .incarnation = incarnation};
    join.nodes = 4;
    join.address_bytes = 16;
    return join;
  }

  std::vector<std::byte> address_ = std::vector<std::byte>(16, std::byte{3});
  Taking wires_;
  FabricOptions options_;
  FabricCounters counters_;
  std::optional<Membership> host_;
  std::uint64_t now_ = 1'000'000'000;
};

TEST_F(OtherVersions, are_told_which_one_this_is_in_their_own_form) {
  EXPECT_FALSE(host_->take(kNoHandle, packed(join_of(kFabricBareVersion, 11), address_, true), now_));
  EXPECT_FALSE(host_->take(kNoHandle, packed(join_of(3, 12), address_), now_));
  EXPECT_EQ(counters_.malformed, 0U);
  host_->step(now_);
  ASSERT_EQ(wires_.sent.size(), 2U);
  EXPECT_EQ(wires_.sent[0].size(), sizeof(FabricRefused));  // as version 1 wants it
  EXPECT_EQ(wires_.sent[1].size(), sizeof(FabricRefused) + kFabricChecksumBytes);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto refused = unpacked<FabricRefused>(wires_.sent[i]);
    EXPECT_EQ(refused.head.kind, FabricKind::Refused);
    EXPECT_EQ(refused.head.version, kFabricVersion);
    EXPECT_EQ(refused.reason, FabricRefusal::Version);
    EXPECT_EQ(refused.to, 11 + i);
  }
}

TEST_F(OtherVersions, cannot_provoke_more_than_a_few_refusals_nor_can_damaged_frames) {
  // A Join of this version on which the version was turned has four bytes too many for the other one.
  std::vector<std::byte> damaged = packed(join_of(kFabricVersion, 13), address_);
  damaged[offsetof(FabricHead, version)] = std::byte{kFabricBareVersion};
  EXPECT_FALSE(host_->take(kNoHandle, damaged, now_));
  // A frame that is not a Join has no address to answer to.
  FabricLeave leave;
  leave.head = {.version = kFabricBareVersion, .kind = FabricKind::Leave, .incarnation = 13};
  EXPECT_FALSE(host_->take(kNoHandle, packed(leave, {}, true), now_));
  EXPECT_EQ(counters_.malformed, 1U);
  EXPECT_EQ(counters_.version, 1U);
  EXPECT_EQ(counters_.refused, 0U);
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    EXPECT_FALSE(host_->take(kNoHandle, packed(join_of(kFabricBareVersion, 100 + i), address_, true), now_));
    host_->step(now_ += 100'000);
  }
  EXPECT_LE(wires_.sent.size(), 4U);
  EXPECT_LE(wires_.added, 4U);
  host_->step(now_ += 2'000'000'000);
  EXPECT_EQ(wires_.added, 0U);
}

TEST(FabricMembership, asks_for_any_place_when_the_offered_one_was_given_to_another_before_it_was_in) {
  Taking wires;
  const FabricOptions options;
  FabricCounters counters;
  Membership::Self self;
  self.address.resize(16);
  self.host.resize(16);
  self.incarnation = 5;
  Membership membership(wires, options, self, counters);
  std::uint64_t now = 1'000'000'000;
  FabricOffer offer;
  offer.head = {.kind = FabricKind::Offer, .node = 0, .incarnation = 9};
  offer.to = self.incarnation;
  offer.ticket = 77;
  offer.node = 1;
  EXPECT_FALSE(membership.take(7, packed(offer), now));
  EXPECT_EQ(membership.node(), 1);
  // Its answer, or what node 0 said to it, is lost; the lease ends, and another node has joined.
  membership.step(now += options.lease_ns);
  FabricPeer peer;
  peer.head = {.kind = FabricKind::Peer, .node = 0, .incarnation = 9};
  FabricRefused refused;
  refused.head = {.kind = FabricKind::Refused, .node = 0, .incarnation = 9};
  refused.reason = FabricRefusal::Taken;
  refused.to = self.incarnation;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(membership.take(7, packed(refused), now));
    membership.step(now += options.lease_ns / 16);
  }
  EXPECT_EQ(membership.problem(), "");
  EXPECT_EQ(unpacked<FabricJoin>(wires.sent.back()).wanted, kNoNode);
  offer.ticket = 78;
  offer.node = 2;
  EXPECT_FALSE(membership.take(7, packed(offer), now));
  // The answer names the owner of slot 1.
  peer.to = self.incarnation;
  peer.stamp = 3;
  peer.incarnation = 22;
  peer.node = 1;
  peer.address_bytes = 16;
  EXPECT_FALSE(membership.take(7, packed(peer, std::vector<std::byte>(16, std::byte{2})), now));
  FabricAlive alive;
  alive.head = {.kind = FabricKind::Alive, .node = 0, .incarnation = 9};
  alive.proof = self.incarnation;
  alive.stamp = 3;
  EXPECT_FALSE(membership.take(7, packed(alive), now));
  EXPECT_TRUE(membership.is_joined());
  EXPECT_EQ(membership.node(), 2);
  EXPECT_EQ(membership.handle(1), 9U);
}

TEST(FabricMembership, takes_nobody_for_node_0_while_there_is_no_way_to_it) {
  Taking wires;
  FabricOptions options;
  FabricCounters counters;
  Membership::Self self;
  self.address.resize(16);
  self.host.resize(16);
  self.incarnation = 5;
  Membership membership(wires, options, self, counters);
  std::uint64_t now = 1'000'000'000;
  membership.step(now);  // asks, and is not answered
  wires.takes = false;
  membership.step(now += options.lease_ns / 4);
  EXPECT_EQ(counters.renewed, 1U);
  std::array<std::byte, sizeof(FabricRefused) + kFabricChecksumBytes> frame{};
  FabricRefused refused;
  refused.head.kind = FabricKind::Refused;
  refused.head.node = 0;
  refused.head.incarnation = 9;
  refused.reason = FabricRefusal::Network;
  refused.to = self.incarnation;
  std::memcpy(frame.data(), &refused, sizeof(refused));
  const std::uint32_t checksum = fabric_checksum(std::span(frame).first(sizeof(refused)));
  std::memcpy(frame.data() + sizeof(refused), &checksum, sizeof(checksum));
  EXPECT_FALSE(membership.take(kNoHandle, frame, now));
  EXPECT_EQ(counters.forged, 1U);
  EXPECT_EQ(membership.problem(), "");
  // It is tried again, and then node 0 is believed.
  wires.takes = true;
  membership.step(now += options.lease_ns / 4);
  EXPECT_FALSE(membership.take(7, frame, now));
  EXPECT_NE(membership.problem(), "");
}

/// A server that is played by the test.
class Played final : public ServerProcess {
 public:
  struct State {
    int starts = 0;
    int kills = 0;
    bool runs = false;
    std::optional<std::string> end;
    bool has_facts = false;
    ServerFacts facts;  ///< What a look finds.
    int looks = 0;
  };
  explicit Played(State& state) : state_(state) {}
  void start() override {
    EXPECT_FALSE(state_.runs);
    ++state_.starts;
    state_.runs = true;
  }
  void kill() override {
    ++state_.kills;
    if (state_.runs) state_.end = "it died of SIGKILL";
  }
  [[nodiscard]] std::optional<std::string> ended() override {
    if (state_.end) state_.runs = false;
    return std::exchange(state_.end, std::nullopt);
  }
  [[nodiscard]] bool look() override {
    ++state_.looks;
    seen_ = state_.facts;
    return state_.has_facts;
  }
  [[nodiscard]] std::optional<ServerFacts> facts() override {
    return state_.has_facts ? std::exchange(seen_, std::nullopt) : std::nullopt;
  }

 private:
  State& state_;
  std::optional<ServerFacts> seen_;
};

class LyingServer : public ::testing::Test {
 protected:
  LyingServer() {
    options_.nodes = 2;
    options_.frame_bytes = 256;
    options_.tx_slots = 4;
    options_.rx_slots = 16;
    memory_.resize(IsolatedMemory::bytes(options_) / sizeof(Line) + 1);
    shared_ = IsolatedMemory({reinterpret_cast<std::byte*>(memory_.data()), memory_.size() * sizeof(Line)}, options_);
    device_ = std::make_unique<IsolatedDevice>(
        options_, "", std::span(reinterpret_cast<std::byte*>(memory_.data()), memory_.size() * sizeof(Line)),
        std::make_unique<Played>(state_));
    device_->step(now_ += 1'000'000'000);
    open();
    for (std::uint32_t slot = 0; slot < options_.rx_slots; ++slot) EXPECT_TRUE(device_->post(slot));
  }
  void open() {
    to_server_ = shared_.to_server();
    from_server_ = shared_.from_server();
    IsolatedMemory::Answer& answer = shared_.answer();
    answer.own_bytes = 16;
    answer.own[0] = std::byte{1};
    std::strcpy(answer.text.data(), "127.0.0.1:5177");
    shared_.state().store(static_cast<std::uint32_t>(IsolatedMemory::State::Serves));
    device_->step(now_ += 1'000'000);
    ASSERT_TRUE(device_->is_serving());
  }
  /// Time; what is broken comes back.
  void pass(std::uint64_t time_ns) {
    device_->step(now_ += time_ns);
    for (FabricDevice::Event event; device_->poll(event);) {
    }
  }
  /// What the device makes of a task.
  [[nodiscard]] std::optional<FabricDevice::Event> hear(const FabricTask& task) {
    EXPECT_TRUE(from_server_.push(task));
    FabricDevice::Event event;
    return device_->poll(event) ? std::optional(event) : std::nullopt;
  }
  /// It has been condemned; all slots for sending that it had come back, and another one serves.
  void expect_replaced(const std::vector<std::uint32_t>& sending) {
    EXPECT_EQ(state_.kills, 1);
    EXPECT_FALSE(device_->is_serving());
    device_->step(now_ += 1'000'000);
    EXPECT_EQ(device_->deaths().count, 1U);
    std::vector<std::uint32_t> broken;
    for (FabricDevice::Event event; device_->poll(event);) {
      EXPECT_EQ(event.kind, FabricDevice::Event::Kind::Broken);
      broken.push_back(event.slot);
    }
    EXPECT_EQ(broken, sending);
    device_->step(now_ += 1'000'000'000);
    EXPECT_EQ(state_.starts, 2);
    open();
    EXPECT_EQ(device_->names().text, "127.0.0.1:5177");
    std::size_t posted = 0;
    while (const auto task = to_server_.pop()) posted += task->kind == FabricTask::Kind::Post ? 1 : 0;
    EXPECT_EQ(posted, options_.rx_slots);
  }

  struct alignas(kPageBytes) Line {
    std::byte bytes[kPageBytes] = {};
  };
  FabricOptions options_;
  std::vector<Line> memory_;
  IsolatedMemory shared_;
  Played::State state_;
  std::unique_ptr<IsolatedDevice> device_;
  TaskQueue to_server_;
  TaskQueue from_server_;
  std::uint64_t now_ = 0;
};

TEST_F(LyingServer, is_believed_as_far_as_it_keeps_to_the_rules) {
  const std::array<std::byte, 16> address{std::byte{9}};
  const FabricHandle peer = device_->add(address);
  ASSERT_NE(peer, kNoHandle);
  ASSERT_TRUE(device_->submit(17, peer, 100));
  auto event = hear({.kind = FabricTask::Kind::Sent, .slot = 17});
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, FabricDevice::Event::Kind::Sent);
  shared_.slot(3)[5] = std::byte{77};
  event = hear({.kind = FabricTask::Kind::Arrived, .slot = 3, .handle = peer, .length = 200});
  ASSERT_TRUE(event);
  EXPECT_EQ(event->source, peer);
  ASSERT_EQ(event->frame.size(), 200U);
  shared_.slot(3)[5] = std::byte{78};  // too late: it was copied
  EXPECT_EQ(event->frame[5], std::byte{77});
  // After its sender was removed, a frame has no sender.
  device_->remove(peer);
  const FabricHandle next = device_->add(address);
  EXPECT_NE(next, peer);
  event = hear({.kind = FabricTask::Kind::Arrived, .slot = 4, .handle = peer, .length = 1});
  ASSERT_TRUE(event);
  EXPECT_EQ(event->source, kNoHandle);
  EXPECT_EQ(state_.kills, 0);
}

TEST_F(LyingServer, that_tells_of_a_slot_it_does_not_have_is_replaced) {
  EXPECT_FALSE(hear({.kind = FabricTask::Kind::Sent, .slot = 17}));
  expect_replaced({});
}
TEST_F(LyingServer, that_tells_of_a_slot_twice_is_replaced) {
  EXPECT_TRUE(hear({.kind = FabricTask::Kind::Arrived, .slot = 5, .length = 1}));
  EXPECT_FALSE(hear({.kind = FabricTask::Kind::Arrived, .slot = 5, .length = 1}));
  EXPECT_TRUE(device_->post(5));  // for the next one
  expect_replaced({});
}
TEST_F(LyingServer, that_tells_of_a_slot_there_is_not_is_replaced) {
  EXPECT_FALSE(hear({.kind = FabricTask::Kind::Arrived, .slot = 1'000'000, .length = 1}));
  expect_replaced({});
}
TEST_F(LyingServer, that_receives_into_what_is_sent_is_replaced_and_what_was_sent_is_broken) {
  const std::array<std::byte, 16> address{};
  const FabricHandle peer = device_->add(address);
  ASSERT_TRUE(device_->submit(16, peer, 10));
  ASSERT_TRUE(device_->submit(19, peer, 10));
  EXPECT_FALSE(hear({.kind = FabricTask::Kind::Arrived, .slot = 16, .length = 1}));
  expect_replaced({16, 19});
}
TEST_F(LyingServer, that_makes_a_frame_longer_than_its_slot_is_replaced) {
  EXPECT_FALSE(hear({.kind = FabricTask::Kind::Arrived, .slot = 5, .length = 1'000'000}));
  expect_replaced({});
}
TEST_F(LyingServer, that_counts_wrong_is_replaced) {
  for (std::size_t at = 2 * kPageBytes; at < shared_.control().size(); at += 8) {
    std::memset(shared_.control().data() + at, 0xA5, 8);
  }
  FabricDevice::Event event;
  EXPECT_FALSE(device_->poll(event));
  expect_replaced({});
}
TEST_F(LyingServer, that_has_another_address_the_next_time_is_replaced) {
  EXPECT_FALSE(hear({.kind = FabricTask::Kind::Sent, .slot = 17}));
  pass(1'000'000);
  pass(1'000'000'000);
  ASSERT_EQ(state_.starts, 2);
  shared_.answer().own_bytes = 16;
  shared_.state().store(static_cast<std::uint32_t>(IsolatedMemory::State::Serves));
  pass(1'000'000);
  EXPECT_FALSE(device_->is_serving());
  pass(1'000'000);
  EXPECT_EQ(device_->deaths().why, "it has another address");
}
TEST_F(LyingServer, that_names_more_bytes_than_it_has_is_replaced) {
  EXPECT_FALSE(hear({.kind = FabricTask::Kind::Sent, .slot = 17}));
  pass(1'000'000);
  pass(1'000'000'000);
  shared_.answer().own_bytes = 0xFFFF'FFFF;
  shared_.state().store(static_cast<std::uint32_t>(IsolatedMemory::State::Serves));
  pass(1'000'000);
  pass(1'000'000);
  EXPECT_EQ(device_->deaths().why, "it has no address");
  // The reason of one that cannot open is cut, and has no bytes that a terminal would obey.
  pass(1'000'000'000);
  shared_.answer().problem.fill('\x1B');
  shared_.state().store(static_cast<std::uint32_t>(IsolatedMemory::State::Failed));
  state_.end = "it ended with status 1";
  pass(1'000'000);
  EXPECT_EQ(device_->deaths().why, std::string(IsolatedMemory::kTextBytes, '?'));
}
TEST_F(LyingServer, leaves_nothing_for_the_next_one_to_believe) {
  IsolatedMemory::Wanted before = shared_.wanted();
  EXPECT_EQ(before.rx_slots, options_.rx_slots);
  std::memset(shared_.control().data(), 0x41, kPageBytes);
  EXPECT_FALSE(hear({.kind = FabricTask::Kind::Sent, .slot = 17}));
  expect_replaced({});
  // It listens where the first one did.
  std::strcpy(before.listen.data(), "127.0.0.1:5177");
  EXPECT_EQ(std::memcmp(&shared_.wanted(), &before, sizeof(before)), 0);
}
TEST_F(LyingServer, that_stands_still_is_replaced_but_not_when_all_stood_still) {
  pass(10 * options_.hung_ns);  // no process could run, nor look
  EXPECT_TRUE(device_->is_serving());
  for (int i = 0; i < 4; ++i) pass(options_.hung_ns / 3);
  EXPECT_EQ(device_->deaths().why, "it hangs");
}
TEST_F(LyingServer, that_gets_no_processor_does_not_hang) {
  state_.has_facts = true;
  state_.facts = {.at_ns = 1, .ran_ns = 5'000'000, .waited_ns = 0, .state = 'R'};
  const auto stand_still = [&](std::uint64_t ran_ns, std::uint64_t waited_ns) {
    pass(options_.hung_ns / 10);
    state_.facts.at_ns += options_.hung_ns / 10;
    state_.facts.ran_ns += ran_ns;
    state_.facts.waited_ns += waited_ns;
  };
  // Runnable for ten times its patience, and never on a processor; then a little now and then, without a beat.
  for (int i = 0; i < 100; ++i) stand_still(0, 0);
  EXPECT_GT(state_.looks, 1);
  for (int i = 0; i < 100; ++i) stand_still(options_.hung_ns / 400, options_.hung_ns / 10);
  EXPECT_EQ(state_.kills, 0);
  EXPECT_TRUE(device_->is_serving());
  // It shows life: what was before does not count.
  shared_.beat().store(1);
  for (int i = 0; i < 100; ++i) stand_still(options_.hung_ns / 400, options_.hung_ns / 10);
  EXPECT_EQ(state_.kills, 0);
}
TEST_F(LyingServer, that_uses_its_time_for_nothing_hangs_also_on_a_busy_machine) {
  state_.has_facts = true;
  state_.facts = {.at_ns = 1, .ran_ns = 0, .waited_ns = 0, .state = 'R'};
  int turns = 0;
  for (; device_->deaths().count == 0 && turns < 1'000; ++turns) {
    pass(options_.hung_ns / 10);
    state_.facts.at_ns += options_.hung_ns / 10;
    state_.facts.ran_ns += options_.hung_ns / 100;  // a tenth of a processor
    state_.facts.waited_ns += options_.hung_ns * 9 / 100;
  }
  EXPECT_EQ(device_->deaths().why, "it hangs");
  EXPECT_GT(turns, 50) << "half of its patience, at a tenth of the speed";
}
TEST_F(LyingServer, that_waits_for_something_else_than_a_processor_hangs) {
  state_.has_facts = true;
  for (const char blocked : {'S', 'D', 'T', '?'}) {
    state_.facts = {.at_ns = 1, .ran_ns = 0, .waited_ns = 0, .state = blocked};
    const std::uint64_t deaths = device_->deaths().count;
    const std::uint64_t since = now_;
    while (device_->deaths().count == deaths && now_ - since < 10 * options_.hung_ns) {
      pass(options_.hung_ns / 10);
      state_.facts.at_ns += options_.hung_ns / 10;
    }
    EXPECT_EQ(device_->deaths().why, "it hangs") << blocked;
    EXPECT_LE(now_ - since, 2 * options_.hung_ns) << blocked;
    pass(1'000'000'000);
    open();
  }
}
TEST_F(LyingServer, that_dies_again_and_again_is_started_less_and_less_often) {
  std::vector<std::uint64_t> pauses;
  for (int i = 0; i < 8; ++i) {
    const int starts = state_.starts;
    state_.end = "it died of SIGSEGV";
    const std::uint64_t died = now_;
    while (state_.starts == starts) pass(1'000'000);
    pauses.push_back(now_ - died);
  }
  EXPECT_LT(pauses.front(), 50'000'000U);
  EXPECT_GE(pauses.back(), 500'000'000U);
  EXPECT_LT(pauses.back(), 600'000'000U);
  // A server that lived long is replaced at once.
  pass(5'000'000'000);
  const int starts = state_.starts;
  state_.end = "it died of SIGSEGV";
  const std::uint64_t died = now_;
  while (state_.starts == starts) pass(1'000'000);
  EXPECT_LT(now_ - died, 50'000'000U);
}

TEST_F(LyingServer, of_any_kind_harms_nobody) {
  std::mt19937_64 random(5);
  std::vector<bool> is_sending(options_.rx_slots + 3 * options_.tx_slots);
  const std::array<std::byte, 16> address{std::byte{9}};
  const FabricHandle peer = device_->add(address);
  std::uint64_t events = 0;
  for (int i = 0; i < 300'000; ++i) {
    const auto free = static_cast<std::uint32_t>(options_.rx_slots + random() % (3 * options_.tx_slots));
    if (!is_sending[free] && device_->submit(free, peer, random() % 256)) is_sending[free] = true;
    (void)to_server_.pop();
    if (device_->is_serving()) {
      FabricTask task{.kind = static_cast<FabricTask::Kind>(random() % 3 == 0 ? random() % 9 : 4 + random() % 4),
                      .slot = static_cast<std::uint32_t>(random() % (is_sending.size() + random() % 2)),
                      .handle = random() % 2 == 0 ? peer : random(),
                      .length = static_cast<std::uint32_t>(random() % 300)};
      (void)from_server_.push(task);
      if (random() % 10'000 == 0) {  // anywhere
        const std::span<std::byte> control = shared_.control();
        control[kPageBytes + random() % (control.size() - kPageBytes)] = static_cast<std::byte>(random());
      }
    } else if (state_.runs && state_.starts > 0) {
      IsolatedMemory::Answer& answer = shared_.answer();
      answer.own_bytes = 16;
      answer.own[0] = std::byte{1};
      shared_.state().store(static_cast<std::uint32_t>(IsolatedMemory::State::Serves));
      to_server_ = shared_.to_server();
      from_server_ = shared_.from_server();
    }
    device_->step(now_ += 1'000'000);
    FabricDevice::Event event;
    while (device_->poll(event)) {
      ++events;
      const bool is_received = event.slot < options_.rx_slots;
      if (event.kind == FabricDevice::Event::Kind::Arrived) {
        ASSERT_TRUE(is_received);
        ASSERT_LE(event.frame.size(), sizeof(FabricHead) + options_.frame_bytes);
        ASSERT_TRUE(event.source == peer || event.source == kNoHandle);
      }
      if (is_received) {
        (void)device_->post(event.slot);
      } else {
        ASSERT_TRUE(is_sending[event.slot]);
        is_sending[event.slot] = false;
      }
    }
  }
  EXPECT_GT(events, 1'000U);
  EXPECT_GT(device_->deaths().count, 100U);
}

}  // namespace stopbit::nic::fabric_isolated_test
