#include "host/nic/transport/fabric/apart/confine.hpp"

#include <seccomp.h>

#include <array>

#include "host/confine/confine.hpp"

namespace stopbit::nic {

std::string confine_server() {
  // Seen with strace, over tcp. Everything else ends with EPERM.
  constexpr std::array kCalls = {
      // Connections.
      SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(connect), SCMP_SYS(accept),
      SCMP_SYS(accept4), SCMP_SYS(shutdown), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(getsockname),
      SCMP_SYS(getpeername), SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg), SCMP_SYS(poll),
      SCMP_SYS(ppoll), SCMP_SYS(epoll_create), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
      SCMP_SYS(epoll_pwait), SCMP_SYS(eventfd2), SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(read), SCMP_SYS(readv),
      SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(fcntl), SCMP_SYS(ioctl),
      // Memory.
      SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mprotect), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
      // Time, and the end.
      SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep), SCMP_SYS(clock_gettime), SCMP_SYS(futex), SCMP_SYS(sched_yield),
      SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getrandom), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
      SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall), SCMP_SYS(tgkill), SCMP_SYS(exit),
      SCMP_SYS(exit_group)};
  std::string problem = confine::rule_out_privileges();
  if (!problem.empty()) return problem;
  (void)confine::restrict_files({}, {});  // without it the calls for files are still not on the list
  problem = confine::drop_capabilities();
  return problem.empty() ? confine::filter_calls(kCalls) : problem;
}

}  // namespace stopbit::nic
