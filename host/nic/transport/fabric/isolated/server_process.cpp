#include "host/nic/transport/fabric/isolated/server_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/fabric/isolated/supervisor.hpp"

namespace stopbit::nic {
namespace {

/// What the new process has: the two descriptors, nothing on its input and output, no signals of a terminal, and none
/// that are held back.
class Spawning {
 public:
  Spawning() {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;
  ~Spawning() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  /// An error number, or 0. The descriptors are above those that the process gets.
  [[nodiscard]] int run(const std::string& program, int memory, int socket, pid_t& pid) {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    std::array<char*, 2> arguments{const_cast<char*>(kFabricProgram), nullptr};
    for (const int error :
         {::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
          ::posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0),
          ::posix_spawn_file_actions_adddup2(&files_, memory, kServerMemory),
          ::posix_spawn_file_actions_adddup2(&files_, socket, kServerSocket),
          ::posix_spawn_file_actions_addclosefrom_np(&files_, kServerSocket + 1),
          ::posix_spawnattr_setsigmask(&attributes_, &none), ::posix_spawnattr_setsigdefault(&attributes_, &all),
          ::posix_spawnattr_setflags(&attributes_,
                                     POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)}) {
      if (error != 0) return error;
    }
    return ::posix_spawn(&pid, program.c_str(), &files_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

/// Duplicates the file to a number that the new process does not use otherwise.
os::Descriptor above(int file) {
  return os::Descriptor(::fcntl(file, F_DUPFD_CLOEXEC, kServerSocket + 1));
}

std::string to_text(const ServerEnd& end) {
  if (end.code == CLD_EXITED) return "it ended with status " + std::to_string(end.status);
  const char* const name = ::sigabbrev_np(end.status);
  return std::string("it died of SIG") + (name != nullptr ? name : std::to_string(end.status));
}

}  // namespace

Result<std::unique_ptr<ServerProcess>> SupervisedProcess::spawn(const std::string& program, int memory) {
  const auto failed = [&](int error) {
    return Failure{"cannot start '" + program + "', the process for libfabric: " + std::strerror(error)};
  };
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return failed(errno);
  os::Descriptor own(ends[0]);
  const os::Descriptor other(ends[1]);
  const os::Descriptor high_memory = above(memory);
  const os::Descriptor high_socket = above(other.get());
  if (!high_memory.ok() || !high_socket.ok()) return failed(errno);
  pid_t pid = 0;
  const int error = Spawning().run(program, high_memory.get(), high_socket.get(), pid);
  if (error != 0) return failed(error);
  return std::unique_ptr<ServerProcess>(new SupervisedProcess(std::move(own), pid));
}

SupervisedProcess::~SupervisedProcess() {
  socket_ = os::Descriptor();  // it ends when it sees this
  constexpr timespec kPause{0, 1'000'000};
  constexpr int kPatience = 1'000;
  for (int i = 0; i <= kPatience; ++i, ::nanosleep(&kPause, nullptr)) {
    if (i == kPatience) ::kill(supervisor_, SIGKILL);
    const pid_t ended = ::waitpid(supervisor_, nullptr, i == kPatience ? 0 : WNOHANG);
    // A confined process may not wait; the system does it then.
    if (ended == supervisor_ || (ended < 0 && errno != EINTR)) return;
  }
}

void SupervisedProcess::say(SupervisorWord word) noexcept {
  // If it has exited, ended() says so.
  (void)::send(socket_.get(), &word, sizeof(word), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void SupervisedProcess::start() {
  has_ended_ = false;
  say(SupervisorWord::Start);
}
void SupervisedProcess::kill() {
  say(SupervisorWord::Kill);
}

bool SupervisedProcess::look() {
  say(SupervisorWord::Look);
  return true;
}

bool hangs(const ServerFacts& first, const ServerFacts& last, std::uint64_t patience_ns) noexcept {
  const std::uint64_t passed_ns = last.at_ns - first.at_ns;
  if (last.state == '?') return passed_ns >= patience_ns;  // nothing but the clock is known
  const std::uint64_t ran_ns = last.ran_ns - first.ran_ns;
  // The wait of a runnable process has not ended, so no counter has it yet: only its running time is certain.
  if (last.state == 'R') return ran_ns >= patience_ns;
  const std::uint64_t waited_ns = last.waited_ns - first.waited_ns;
  return passed_ns >= waited_ns && passed_ns - waited_ns >= patience_ns;
}

std::optional<std::string> SupervisedProcess::ended() {
  if (has_ended_) return std::nullopt;
  std::array<std::byte, std::max(sizeof(ServerEnd), sizeof(ServerFacts))> message;
  const ssize_t length = ::recv(socket_.get(), message.data(), message.size(), MSG_DONTWAIT);
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (length == sizeof(ServerFacts)) {
    std::memcpy(&facts_.emplace(), message.data(), sizeof(ServerFacts));
    return std::nullopt;
  }
  ServerEnd end;
  has_ended_ = true;
  is_gone_ = length != sizeof(end);
  if (!is_gone_) std::memcpy(&end, message.data(), sizeof(end));
  return is_gone_ ? "its supervisor died, so it cannot be restarted" : to_text(end);
}

}  // namespace stopbit::nic
