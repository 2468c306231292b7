#pragma once

#include <cstdint>

namespace stopbit::nic {

/// What a process and the supervisor of its servers say to each other, over a socket that keeps messages apart.
enum class SupervisorWord : char {
  Start = 's',  ///< To it: there is none, make one.
  Kill = 'k',   ///< To it: end the one that there is, if there is one.
  Look = 'l',   ///< To it: say how the one that there is fares; the answer is a ServerFacts.
};
/// From it: what the kernel says of the server's main thread.
struct ServerFacts {
  std::uint64_t at_ns = 0;      ///< Monotonic clock, ns.
  std::uint64_t ran_ns = 0;     ///< Time on a processor, ns.
  std::uint64_t waited_ns = 0;  ///< Time that it was runnable and had none, ns, without the wait that goes on.
  char state = '?';             ///< As in /proc/PID/stat; '?': unknown, or there is no server.
  char reserved[7] = {};
};
/// From the supervisor: the server has ended.
struct ServerEnd {
  std::int32_t code = 0;    ///< As waitid says it: CLD_EXITED and so on,
  std::int32_t status = 0;  ///< and the exit status, or the signal.
};

/// Where the program finds what is its own.
inline constexpr int kServerMemory = 3;
inline constexpr int kServerSocket = 4;

/// Starts and ends servers on request, until the other end of `socket` is closed. It has one thread and never talks to
/// peers. A server is a process of `program` with the argument "serve" and the memory; each has its own address layout,
/// so knowing one process's layout does not help to attack the next. @returns why it cannot go on, or null.
[[nodiscard]] const char* supervise(int socket, const char* program);

}  // namespace stopbit::nic
