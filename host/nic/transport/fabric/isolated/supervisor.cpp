#include "host/nic/transport/fabric/isolated/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "host/os/clock.hpp"

namespace stopbit::nic {
namespace {

/// The server that runs, if one does.
struct Server {
  pid_t pid = 0;
  int watch = -1;  ///< Can be polled for its end.
};

/// False, with errno: there is none.
bool start(Server& server, int socket, const char* program) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return false;
  if (pid == 0) {
    ::close(socket);
    // It does not outlive the supervisor, whatever ends that.
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) (void)::execl(program, "stopbit-fabric", "serve", nullptr);
    ::_exit(1);
  }
  server.pid = pid;
  server.watch = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  return true;
}

/// Waits for its end.
ServerEnd take_end(Server& server) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(server.pid), &info, WEXITED) != 0 && errno == EINTR) {
  }
  if (server.watch >= 0) ::close(server.watch);
  server = Server();
  return {.code = info.si_code, .status = info.si_status};
}

/// A short file of /proc; empty if it cannot be read.
std::string_view read_of(pid_t pid, const char* name, std::array<char, 512>& into) {
  std::array<char, 64> path{};
  (void)std::snprintf(path.data(), path.size(), "/proc/%d/%s", static_cast<int>(pid), name);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = ::read(file, into.data(), into.size());
  ::close(file);
  return {into.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

ServerFacts look_at(const Server& server) {
  ServerFacts facts;
  facts.at_ns = os::monotonic_clock_ns();
  if (server.pid == 0) return facts;
  std::array<char, 512> text{};
  // "RAN WAITED TIMES", in nanoseconds.
  const std::string_view times = read_of(server.pid, "schedstat", text);
  const auto [after, error] = std::from_chars(times.data(), times.data() + times.size(), facts.ran_ns);
  if (error != std::errc() || after == times.data() + times.size()) return facts;
  if (std::from_chars(after + 1, times.data() + times.size(), facts.waited_ns).ec != std::errc()) return facts;
  // "PID (NAME) STATE ...", and the name may be anything.
  const std::string_view stat = read_of(server.pid, "stat", text);
  const std::size_t name_end = stat.rfind(')');
  if (name_end != std::string_view::npos && name_end + 2 < stat.size()) facts.state = stat[name_end + 2];
  return facts;
}

void end(Server& server) {
  if (server.pid == 0) return;
  ::kill(server.pid, SIGKILL);
  (void)take_end(server);
}

}  // namespace

const char* supervise(int socket, const char* program) {
  Server server;
  for (;;) {
    std::array<pollfd, 2> polled{pollfd{socket, POLLIN, 0}, pollfd{server.watch, POLLIN, 0}};
    if (::poll(polled.data(), polled.size(), -1) < 0) {
      if (errno == EINTR) continue;
      end(server);
      return "cannot poll";
    }
    if (polled[1].revents != 0) {
      const ServerEnd how = take_end(server);
      (void)::send(socket, &how, sizeof(how), MSG_NOSIGNAL);
    }
    if (polled[0].revents == 0) continue;
    char word = 0;
    if (::recv(socket, &word, 1, 0) != 1) {
      end(server);
      return nullptr;
    }
    if (word == static_cast<char>(SupervisorWord::Start) && server.pid == 0) {
      if (!start(server, socket, program) || server.watch < 0) {  // for want of processes, or of descriptors
        const ServerEnd how{.code = CLD_EXITED, .status = errno};
        end(server);
        (void)::send(socket, &how, sizeof(how), MSG_NOSIGNAL);
      }
    } else if (word == static_cast<char>(SupervisorWord::Kill) && server.pid != 0) {
      ::kill(server.pid, SIGKILL);  // its end is reported when it comes
    } else if (word == static_cast<char>(SupervisorWord::Look)) {
      const ServerFacts facts = look_at(server);
      (void)::send(socket, &facts, sizeof(facts), MSG_NOSIGNAL);
    }
  }
}

}  // namespace stopbit::nic
