#include "host/nic/transport/fabric/isolated/confine_server.hpp"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "host/os/confine/restrictions.hpp"

namespace stopbit::nic {

Status confine_server() {
  // Seen with strace, over tcp. Everything else ends with EPERM.
  constexpr std::array kCalls = {
      // Connections.
      SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(connect), SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(shutdown),
      SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(sendto),
      SCMP_SYS(sendmsg), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(epoll_create),
      SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(eventfd2),
      SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev),
      SCMP_SYS(close),
      // Memory.
      SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mprotect), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
      // Time, and the end.
      SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep), SCMP_SYS(clock_gettime), SCMP_SYS(futex), SCMP_SYS(sched_yield),
      SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getrandom), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
      SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group)};
  // It runs as the user of the process it serves, and may be taken over: no sockets of this host's other programs,
  // which trust that user, and no signals to them, also not by way of F_SETOWN and F_SETSIG.
  constexpr std::uint64_t kInt = 0xFFFF'FFFF;
  constexpr std::uint64_t kSocketType = 0xF;
  const std::array limited = {
      confine::LimitedCall{SCMP_SYS(socket), 0, kInt, AF_INET},
      confine::LimitedCall{SCMP_SYS(socket), 0, kInt, AF_INET6},
      confine::LimitedCall{SCMP_SYS(socketpair), 1, kSocketType, SOCK_STREAM},  // a pair of datagrams can go elsewhere
      confine::LimitedCall{SCMP_SYS(fcntl), 1, kInt, F_GETFL},
      confine::LimitedCall{SCMP_SYS(fcntl), 1, kInt, F_SETFL},
      confine::LimitedCall{SCMP_SYS(fcntl), 1, kInt, F_GETFD},
      confine::LimitedCall{SCMP_SYS(fcntl), 1, kInt, F_SETFD},
      confine::LimitedCall{SCMP_SYS(ioctl), 1, kInt, FIONBIO},
      confine::LimitedCall{SCMP_SYS(ioctl), 1, kInt, FIONREAD},
      confine::LimitedCall{SCMP_SYS(tgkill), 0, kInt, static_cast<std::uint64_t>(::getpid())},  // abort
  };
  if (Status done = confine::rule_out_privileges(); !done) return done;
  (void)confine::restrict_files({}, {});  // without it the calls for files are still not on the list
  if (Status done = confine::drop_capabilities(); !done) return done;
  return confine::filter_calls(kCalls, limited);
}

}  // namespace stopbit::nic
