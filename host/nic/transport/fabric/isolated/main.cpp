// stopbit-fabric: runs libfabric for another process, isolated from it. Data from the network reaches libfabric's
// code, which trusts it; so this process holds nothing of value, and may die.
//
// The one who starts it gives it two descriptors: the memory of frames (memory.hpp), and the socket of its supervisor.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "host/nic/node/shared_memory.hpp"
#include "host/nic/transport/fabric/isolated/confine_server.hpp"
#include "host/nic/transport/fabric/isolated/server.hpp"
#include "host/nic/transport/fabric/isolated/supervisor.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STOPBIT_SANITIZED
#endif

namespace {

using namespace stopbit;

constexpr rlim_t kDataBytes = rlim_t{1} << 30;
constexpr std::size_t kSpins = 2'000;
constexpr auto kNap = std::chrono::microseconds(50);
constexpr std::size_t kNaps = 10'000;  ///< About a second.
constexpr auto kLongNap = std::chrono::milliseconds(5);

int failed(const char* what) {
  (void)std::fprintf(stderr, "stopbit-fabric: %s\n", what);
  return 1;
}

/// Limits the memory that a peer can make libfabric allocate; no core dump, which would disclose its contents.
void limit() {
#ifndef STOPBIT_SANITIZED  // a sanitizer has a map of all memory
  const rlimit data{kDataBytes, kDataBytes};
  (void)::setrlimit(RLIMIT_DATA, &data);
#endif
  const rlimit none{0, 0};
  (void)::setrlimit(RLIMIT_CORE, &none);
  (void)::prctl(PR_SET_DUMPABLE, 0);
  (void)::prctl(PR_SET_TIMERSLACK, 1'000);
}

int serve() {
  struct stat status {};
  nic::SharedMemory memory;
  if (::fstat(nic::kServerMemory, &status) != 0 ||
      !memory.map(os::Descriptor(nic::kServerMemory), static_cast<std::size_t>(status.st_size),
                  nic::SharedMemory::Use::Write)) {
    return failed("its shared memory is invalid");
  }
  limit();
  nic::FabricServer server(memory.span());
  if (!server.open()) return 1;  // the other process says it
  if (const Status done = nic::confine_server(); !done) return failed(done.message().c_str());
  ::close(STDERR_FILENO);  // the log of the process that it serves
  server.begin();
  for (std::size_t quiet = 0;; ++quiet) {
    if (server.step() != 0) {
      quiet = 0;
    } else if (quiet > kSpins) {
      server.doze(quiet > kSpins + kNaps && !server.is_waiting() ? kLongNap : kNap);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "serve") return serve();
  struct stat memory {};
  struct stat socket {};
  if (::fstat(nic::kServerMemory, &memory) != 0 || !S_ISREG(memory.st_mode) ||
      ::fstat(nic::kServerSocket, &socket) != 0 || !S_ISSOCK(socket.st_mode)) {
    (void)std::fputs("stopbit-fabric runs libfabric for stopbit; only stopbit can start it\n", stderr);
    return 2;
  }
  // It ends with the one who started it, not before: there are goodbyes to send.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) (void)::signal(signal, SIG_IGN);  // servers, too
  const char* const problem = nic::supervise(nic::kServerSocket, "/proc/self/exe");
  return problem == nullptr ? 0 : failed(problem);
}
