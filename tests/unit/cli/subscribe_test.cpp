// `stopbit subscribe` over libfabric, as a user runs it, when its place in the network is lost.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/os/clock.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/unit/nic/remote_fixture.hpp"

namespace stopbit::remote::subscribe_test {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

/// Also if its status was not collected yet.
bool is_gone(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string number;
  std::string name;
  char state = 'X';
  return !(file >> number >> name >> state) || state == 'Z' || state == 'X';
}

/// `stopbit subscribe` of a ring, and the processes in which it runs libfabric.
class Command {
 public:
  Command(const std::string& address, const std::string& ring, const std::string& log) : process_(::fork()) {
    if (process_ != 0) return;
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ::dup2(file, STDERR_FILENO) < 0) ::_exit(127);
    ::execl(STOPBIT_BINARY, "stopbit", "subscribe", address.c_str(), "--ring", ring.c_str(), nullptr);
    ::_exit(127);
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command() {
    if (process_ <= 0) return;
    signal(SIGCONT);
    (void)::kill(process_, SIGKILL);  // the others end with it
    (void)::waitpid(process_, nullptr, 0);
  }
  /// To it, and to the others.
  void signal(int number) const {
    for (const pid_t supervisor : supervisors()) {
      for (const pid_t server : children_of(supervisor)) (void)::kill(server, number);
      (void)::kill(supervisor, number);
    }
    (void)::kill(process_, number);
  }
  /// A thread started them.
  [[nodiscard]] std::vector<pid_t> supervisors() const {
    std::vector<pid_t> all;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(process_) + "/task")) {
      std::ifstream file(thread.path() / "children");
      for (pid_t child = 0; file >> child;) all.push_back(child);
    }
    return all;
  }
  void terminate() const { (void)::kill(process_, SIGTERM); }
  /// Its exit status, if it has ended.
  [[nodiscard]] std::optional<int> status() {
    int status = 0;
    if (process_ <= 0 || ::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t process_;
};

/// A publisher, and a subscriber that has the first of its records.
class Subscribing : public ::testing::Test {
 protected:
  /// The slot of a node that has exited is kept, and it comes back as another node.
  explicit Subscribing(std::uint64_t lease_ns = 60 * kSecondNs) : lease_ns_(lease_ns) {}
  void SetUp() override {
    if (const Status has = nic::FabricTransport::available(); !has) GTEST_SKIP() << has.message();
    nic::FabricOptions listening = apart();
    listening.listen = "127.0.0.1:0";
    listening.lease_ns = lease_ns_;
    auto opened = nic::FabricTransport::listen(listening);
    ASSERT_TRUE(opened) << opened.message();
    carrier_ = std::move(opened).value();
    node_.emplace(*carrier_, node_options());
    PublisherOptions published;
    published.rings.push_back({"cme", source_.get(), ""});
    auto publisher = Publisher::open(*node_, published);
    ASSERT_TRUE(publisher) << publisher.message();
    publisher_ = std::move(publisher).value();
    command_.emplace("fabric://" + carrier_->address() + "/cme", ring_.get(), log());
    until([&] { return ring::Reader::open(ring_.get()).ok(); }, "the ring is there");
    reader_.emplace(ring::Reader::open(ring_.get()).value());
    until([&] { return is_served_at(1); }, "the subscriber is served");
    give_and_expect(30);
  }
  [[nodiscard]] static nic::FabricOptions apart() {
    nic::FabricOptions options;
    options.program = nic::find_fabric_program().value();
    return options;
  }
  [[nodiscard]] static nic::NodeOptions node_options() {
    nic::NodeOptions options;
    options.ports = 32;
    options.link = nic::fabric_link_options();
    options.link.silence_ns = 10 * kSecondNs;
    return options;
  }
  [[nodiscard]] std::string log() const { return files_.path("log"); }
  virtual void step() {
    (void)node_->step(os::monotonic_clock_ns());
    (void)publisher_->step(os::monotonic_clock_ns());
  }
  void until(const std::function<bool()>& happens, const std::string& what) {
    constexpr timespec kPause{0, 200'000};
    for (const std::uint64_t end = os::monotonic_clock_ns() + 60 * kSecondNs; !happens();
         ::nanosleep(&kPause, nullptr)) {
      if (os::monotonic_clock_ns() > end) FAIL() << "never: " << what << "\n" << files_.read("log");
      step();
    }
  }
  [[nodiscard]] bool is_served_at(nic::NodeId node) const {
    const std::vector<SubscriptionStatus> all = publisher_->status();
    return std::any_of(all.begin(), all.end(), [&](const SubscriptionStatus& one) { return one.node == node; });
  }
  void give(std::uint32_t records) {
    for (std::uint32_t i = 0; i < records; ++i) feed_.tick(given_++);
  }
  /// The records, and those that were given before, are in the one ring that the subscriber has made.
  void give_and_expect(std::uint32_t records) {
    give(records);
    until(
        [&] {
          for (Record& record : read_all(*reader_)) read_.push_back(std::move(record));
          return read_.size() >= given_;
        },
        "all records");
    ring::Reader source = ring::Reader::open(source_.get()).value();
    EXPECT_EQ(read_, read_all(source)) << "no record twice, none missing";
  }
  /// Ends it, and returns what it has said.
  std::string end() {
    // Its last words are what it saw when it looked last, some milliseconds ago.
    const std::uint64_t looked = os::monotonic_clock_ns() + kSecondNs / 4;
    until([&] { return os::monotonic_clock_ns() > looked; }, "a moment");
    command_->terminate();
    std::optional<int> status;
    until([&] { return (status = command_->status()).has_value(); }, "its end");
    EXPECT_EQ(status, 0);
    return files_.read("log");
  }

  /// Of what it has said: all records came, those that were given meanwhile by a fetch in another session. On a busy
  /// machine there may be more sessions, if one side takes the other for silent.
  static void expect_whole(const std::string& said) {
    std::smatch found;
    const std::regex summary(": 60 records, ([0-9]+) of them fetched, 0 lost, ([0-9]+) sessions\n");
    ASSERT_TRUE(std::regex_search(said, found, summary)) << said;
    EXPECT_GE(std::stoi(found[1]), 20) << said;
    EXPECT_GE(std::stoi(found[2]), 2) << said;
  }

  const std::uint64_t lease_ns_;
  testing::Scratch files_;
  RingName source_;
  RingName ring_;
  Feed feed_{source_.get()};
  std::unique_ptr<nic::FabricTransport> carrier_;
  std::optional<nic::Node> node_;
  std::unique_ptr<Publisher> publisher_;
  std::optional<Command> command_;
  std::optional<ring::Reader> reader_;
  std::vector<Record> read_;
  std::uint32_t given_ = 0;
};

TEST_F(Subscribing, goes_on_when_nobody_starts_its_processes_of_libfabric_any_more) {
  const std::vector<pid_t> supervisors = command_->supervisors();
  ASSERT_EQ(supervisors.size(), 1U);
  const std::vector<pid_t> servers = children_of(supervisors.front());
  ASSERT_EQ(servers.size(), 1U);
  ASSERT_EQ(::kill(supervisors.front(), SIGKILL), 0);
  // Until it has ended, too, it goes on bringing records.
  until([&] { return is_gone(servers.front()); }, "the end of the server");
  give(20);
  until([&] { return is_served_at(2); }, "the subscriber is served at another place");
  give_and_expect(10);
  const std::string said = end();
  EXPECT_NE(said.find(": rejoining the network: the supervisor of the libfabric processes died\n"), std::string::npos)
      << said;
  expect_whole(said);
}

/// Beside another node, which has a process of libfabric of its own, too. All have the lease of the
/// command: node 0 would reconnect again and again to a node whose signs of life are rarer than it expects.
class SubscribingBesideAnother : public Subscribing {
 protected:
  SubscribingBesideAnother() : Subscribing(nic::FabricOptions().lease_ns) {}
  void step() override {
    Subscribing::step();
    if (other_node_) {
      (void)other_node_->step(os::monotonic_clock_ns());
    } else if (other_) {
      other_->progress();
    }
  }
  /// Returns when it has that place.
  void join_as(std::unique_ptr<nic::FabricTransport> carrier) {
    other_ = std::move(carrier);
    until([&] { return other_->is_joined(); }, "another node has the place");
    // Node 0 goes on sending to that place, and what is not taken of it would hold up what keeps the place.
    other_node_.emplace(*other_, node_options());
  }

  std::unique_ptr<nic::FabricTransport> other_;
  std::optional<nic::Node> other_node_;
};

TEST_F(SubscribingBesideAnother, goes_on_at_another_place_when_its_own_is_another_nodes) {
  nic::FabricOptions wants = apart();
  wants.node = 1;
  auto other = nic::FabricTransport::start(wants, carrier_->address());
  ASSERT_TRUE(other) << other.message();
  command_->signal(SIGSTOP);
  const std::uint64_t stopped = os::monotonic_clock_ns();
  join_as(std::move(other).value());
  give(20);
  // After its own lease it asks at once, and takes no for an answer after four seconds.
  until([&] { return os::monotonic_clock_ns() - stopped > lease_ns_; }, "the lease is over");
  command_->signal(SIGCONT);
  until([&] { return is_served_at(2); }, "the subscriber is served at another place");
  give_and_expect(10);
  EXPECT_TRUE(other_->is_joined());
  const std::string said = end();
  EXPECT_NE(said.find(": rejoining the network: node 0 refuses: the node has already joined\n"), std::string::npos)
      << said;
  EXPECT_NE(said.find(": rejoined the network as node 2\n"), std::string::npos) << said;
  expect_whole(said);
}

}  // namespace stopbit::remote::subscribe_test
