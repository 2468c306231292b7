#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "host/nic/transport/transport.hpp"
#include "host/os/clock.hpp"
#include "microcode/base/result.hpp"
#include "tests/nic/host.hpp"

/// Nodes of a carrier in processes of their own, which say lines about what they do.
namespace stopbit::nic::processes {

constexpr std::uint64_t kPatienceNs = 60'000'000'000;  // of a machine that is busy
constexpr std::size_t kBytes = 100'000;

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

inline void run(const std::string& command) {
  if (std::system(command.c_str()) != 0) ::_exit(3);
}

/// Steps until it is so; false after a long time.
inline bool until(Host& host, const std::function<bool()>& is_so) {
  for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs; !is_so();) {
    if (os::monotonic_clock_ns() > end) return false;
    host.step(os::monotonic_clock_ns());
  }
  return true;
}

/// Node 0 of a carrier: port 1 has a window, and answers each message with the window's name.
template <class Carrier>
void serve(const Result<std::unique_ptr<Carrier>>& transport, const LinkOptions& link, const Say& say) {
  if (!transport) return say(transport.message());
  Host host(*transport.value(), link);
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

/// What another node puts there.
inline std::byte content(std::size_t i) {
  return static_cast<std::byte>(i * 7 + i / 256);
}

/// Another node: asks for the window, fills it, and reads it back.
template <class Carrier>
void use(const Result<std::unique_ptr<Carrier>>& transport, const LinkOptions& link, const Say& say) {
  if (!transport) return say(transport.message());
  Host host(*transport.value(), link);
  HostPort& port = host.open(2);
  const std::size_t pages = kBytes / kPageBytes + 1;
  const auto from = host.add_memory(2, pages, Access::ReadWrite);
  const auto back = host.add_memory(2, pages, Access::ReadWrite);
  for (std::size_t i = 0; i < kBytes; ++i) from->bytes()[i] = content(i);
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

}  // namespace stopbit::nic::processes
