#include "host/appliance/confine.hpp"

#include <seccomp.h>

#include <array>
#include <utility>

#include "host/confine/confine.hpp"

namespace stopbit::appliance {
namespace {

/// System calls, by what for.
std::vector<int> calls_of(const Confinement& confinement) {
  constexpr std::array kAllowed = {
      // Receive; clients of the doors that are open.
      SCMP_SYS(recvmmsg), SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(accept),
      SCMP_SYS(accept4), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername),
      SCMP_SYS(shutdown), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
      SCMP_SYS(epoll_pwait), SCMP_SYS(eventfd2), SCMP_SYS(timerfd_settime), SCMP_SYS(ioctl), SCMP_SYS(fcntl),
      // Files: captures, images, gaps, rings.
      SCMP_SYS(openat), SCMP_SYS(close), SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write),
      SCMP_SYS(writev), SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(stat), SCMP_SYS(lstat),
      SCMP_SYS(statx), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(getdents64),
      SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(link), SCMP_SYS(linkat), SCMP_SYS(rename), SCMP_SYS(renameat),
      SCMP_SYS(renameat2), SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(rmdir), SCMP_SYS(ftruncate),
      SCMP_SYS(fallocate),
      // Memory: rings, native code, pages of ports, and what their clients share.
      SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mprotect), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
      SCMP_SYS(set_mempolicy), SCMP_SYS(get_mempolicy), SCMP_SYS(memfd_create), SCMP_SYS(fstatfs),
      // Threads, time, the end.
      SCMP_SYS(clone3), SCMP_SYS(clone), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(futex),
      SCMP_SYS(sched_yield), SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_getaffinity), SCMP_SYS(prctl),
      SCMP_SYS(clock_nanosleep), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_adjtime),
      SCMP_SYS(adjtimex), SCMP_SYS(nanosleep), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(geteuid), SCMP_SYS(getuid),
      SCMP_SYS(getrandom), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
      SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall),
#ifdef __SANITIZE_ADDRESS__
      // The sanitizers ask through a pipe whether an object's memory is there.
      SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(readlink),
#endif
      SCMP_SYS(tgkill), SCMP_SYS(exit), SCMP_SYS(exit_group)};
  std::vector<int> allowed(kAllowed.begin(), kAllowed.end());
  constexpr std::array kOfConnections = {SCMP_SYS(socket),       SCMP_SYS(socketpair), SCMP_SYS(bind),
                                         SCMP_SYS(listen),       SCMP_SYS(connect),    SCMP_SYS(epoll_create1),
                                         SCMP_SYS(epoll_create), SCMP_SYS(pipe),       SCMP_SYS(pipe2)};
  constexpr std::array kOfSharing = {SCMP_SYS(userfaultfd), SCMP_SYS(pwrite64), SCMP_SYS(munlock)};
  if (confinement.makes_connections) allowed.insert(allowed.end(), kOfConnections.begin(), kOfConnections.end());
  if (confinement.shares_memory) allowed.insert(allowed.end(), kOfSharing.begin(), kOfSharing.end());
  return allowed;
}

#ifdef __SANITIZE_ADDRESS__
bool calls_are_filtered = false;
#endif

}  // namespace

std::vector<std::string> confine(const Confinement& confinement) {
  std::vector<std::string> problems;
  const auto note = [&](std::string problem) {
    if (!problem.empty()) problems.push_back(std::move(problem));
  };
  note(confine::rule_out_privileges());
  note(confine::restrict_files(confinement.written, confinement.read));
  note(confine::drop_capabilities());
  if (confinement.filters_calls) note(confine::filter_calls(calls_of(confinement)));
#ifdef __SANITIZE_ADDRESS__
  calls_are_filtered = confinement.filters_calls;
#endif
  return problems;
}

}  // namespace stopbit::appliance

#ifdef __SANITIZE_ADDRESS__
/// The search for leaks at the end stops the process from outside, which a filtered one does not let happen: it would
/// wait for ever. The sanitizer, a library of its own, asks here first.
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off();  // NOLINT(bugprone-reserved-identifier)
extern "C" int __lsan_is_turned_off() {
  return stopbit::appliance::calls_are_filtered ? 1 : 0;
}
#endif
