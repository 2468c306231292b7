// The carrier fabric between processes, over tcp: on one host, and through a cable between two network namespaces.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/fabric/frame.hpp"
#include "host/nic/transport/fabric/pool.hpp"
#include "host/os/clock.hpp"
#include "tests/nic/host.hpp"

namespace stopbit::nic::fabric_process_test {

constexpr std::uint64_t kPatienceNs = 60'000'000'000;  // of a machine that is busy
constexpr std::size_t kBytes = 100'000;

FabricOptions options() {
  FabricOptions result;
  result.network = "processes";
  result.nodes = 4;
  result.lease_ns = 1'000'000'000;
  result.patience_ns = kPatienceNs;
  return result;
}

/// A process that says lines; killed at the end.
class Process {
 public:
  /// `work` says lines through its argument; the process ends with it.
  explicit Process(const std::function<void(const std::function<void(const std::string&)>&)>& work) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      work([&](const std::string& line) {
        const std::string whole = line + "\n";
        if (::write(ends[1], whole.data(), whole.size()) < 0) ::_exit(1);
      });
      ::_exit(0);
    }
    ::close(ends[1]);
    lines_ = ends[0];
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    kill();
    ::close(lines_);
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// The next line; what there is if none comes.
  [[nodiscard]] std::string line() {
    std::string result;
    for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs; os::monotonic_clock_ns() < end;) {
      pollfd polled{lines_, POLLIN, 0};
      if (::poll(&polled, 1, 100) <= 0) continue;
      char letter = 0;
      if (::read(lines_, &letter, 1) != 1) return result + " (it ended)";
      if (letter == '\n') return result;
      result += letter;
    }
    return result + " (it says nothing)";
  }

 private:
  pid_t pid_ = 0;
  int lines_ = -1;
};

using Say = std::function<void(const std::string&)>;

void run(const std::string& command) {
  if (std::system(command.c_str()) != 0) ::_exit(3);
}

/// Steps until it is so; false after a long time.
bool until(Host& host, const std::function<bool()>& is_so) {
  for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs; !is_so();) {
    if (os::monotonic_clock_ns() > end) return false;
    host.step(os::monotonic_clock_ns());
  }
  return true;
}

/// Node 0: port 1 has a window, and tells whoever sends it a message its name.
void serve(const std::string& address, const Say& say) {
  FabricOptions how = options();
  how.listen = address;
  auto transport = FabricTransport::listen(how);
  if (!transport) return say(transport.message());
  Host host(*transport.value(), fabric_link_options());
  HostPort& port = host.open(1);
  const auto memory = host.add_memory(1, kBytes / kPageBytes + 1, Access::ReadWrite);
  const auto window = host.rma.open_window(1, memory->nla, kBytes, Access::ReadWrite);
  if (!window) return say("no window");
  say(transport.value()->address());
  std::array<std::byte, kMaxMessageBytes> into{};
  for (;;) {
    host.step(os::monotonic_clock_ns());
    const auto head = port.low.poll(into);
    if (!head) continue;
    say("heard " + std::to_string(head->node));
    MessageUnit::Message message;
    message.node = head->node;
    message.target = head->vpid;
    (void)until(host, [&] {
      return host.messages.send(1, message, std::as_bytes(std::span(&*window, 1)), os::monotonic_clock_ns()).outcome !=
             MessageUnit::Outcome::Busy;
    });
  }
}

/// Another node: asks for the window, fills it, and reads it back.
void use(const std::string& address, NodeId node, const Say& say) {
  FabricOptions how = options();
  how.node = node;
  auto transport = FabricTransport::join(how, address);
  if (!transport) return say(transport.message());
  Host host(*transport.value(), fabric_link_options());
  HostPort& port = host.open(2);
  const std::size_t pages = kBytes / kPageBytes + 1;
  const auto from = host.add_memory(2, pages, Access::ReadWrite);
  const auto back = host.add_memory(2, pages, Access::ReadWrite);
  for (std::size_t i = 0; i < kBytes; ++i) from->bytes()[i] = static_cast<std::byte>(i * 7 + i / 256);
  MessageUnit::Message message;
  message.target = 1;
  const std::byte hello{1};
  if (!until(host, [&] {
        return host.messages.send(2, message, {&hello, 1}, os::monotonic_clock_ns()).outcome !=
               MessageUnit::Outcome::Busy;
      })) {
    return say("cannot send");
  }
  std::array<std::byte, kMaxMessageBytes> into{};
  if (!until(host, [&] { return port.low.poll(into).has_value(); })) return say("no answer");
  WindowName window;
  std::memcpy(&window, into.data(), sizeof(window));
  for (const Operation operation : {Operation::Put, Operation::Get}) {
    Command command;
    command.operation = operation;
    command.modifiers = operation == Operation::Put ? kAcknowledge : kNotifyCompleter;
    command.target_vpid = 1;
    command.window = window.id;
    command.capability = window.capability;
    command.address = operation == Operation::Put ? from->nla : back->nla;
    command.length = kBytes;
    if (port.queue.insert({&command, 1}).reply != Reply::NoError) return say("not taken");
    Notification told;
    if (!until(host, [&] { return port.notifications.take(told); })) return say("not told");
    if (told.error != Error::None) return say(to_name(told.error));
  }
  const bool is_same = std::memcmp(from->bytes().data(), back->bytes().data(), kBytes) == 0;
  say(std::string(is_same ? "same" : "OTHER") + " bytes at node " + std::to_string(transport.value()->node()));
  for (;;) host.step(os::monotonic_clock_ns());
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
