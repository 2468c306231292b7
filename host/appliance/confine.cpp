#include "host/appliance/confine.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "host/ring/segment.hpp"

namespace stopbit::appliance {
namespace {

std::string failed(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

/// Empty on success, as all of these.
std::string drop_capabilities() {
  // Those of the bounding set come back when a program is executed by root; only who has CAP_SETPCAP can drop them.
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability) != 0 && errno != EPERM) return failed("capabilities are not bounded");
  }
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return failed("capabilities are not dropped");
  return {};
}

std::string restrict_files(const Confinement& confinement) {
  constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  constexpr std::uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                   LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                   LANDLOCK_ACCESS_FS_MAKE_DIR;
  constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
  landlock_ruleset_attr attributes{};
  // All that the first version of Landlock knows: what no rule allows is forbidden.
  attributes.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  const ring::Descriptor rules(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0)));
  if (!rules.ok()) return failed("the kernel has no Landlock, files are not restricted");
  const auto allow = [&](const std::string& path, std::uint64_t access) -> std::string {
    const ring::Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status {};
    if (!place.ok() || ::fstat(place.get(), &status) != 0) return {};  // what is not there needs no permission
    landlock_path_beneath_attr rule{};
    rule.allowed_access = S_ISDIR(status.st_mode) ? access : access & kOfFiles;
    rule.parent_fd = place.get();
    if (::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
      return failed("files are not restricted");
    }
    return {};
  };
  for (const std::string& path : confinement.written) {
    if (std::string problem = allow(path, kRead | kWrite); !problem.empty()) return problem;
  }
  for (const std::string& path : confinement.read) {
    if (std::string problem = allow(path, kRead); !problem.empty()) return problem;
  }
  if (::syscall(SYS_landlock_restrict_self, rules.get(), 0) != 0) return failed("files are not restricted");
  return {};
}

std::string filter_calls(const Confinement& confinement) {
  // By what for. Everything else ends with EPERM.
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
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)),
                                                                ::seccomp_release);
  if (!filter) return "system calls are not filtered: no memory";
  std::vector<int> allowed(kAllowed.begin(), kAllowed.end());
  constexpr std::array kOfConnections = {SCMP_SYS(socket),       SCMP_SYS(socketpair), SCMP_SYS(bind),
                                         SCMP_SYS(listen),       SCMP_SYS(connect),    SCMP_SYS(epoll_create1),
                                         SCMP_SYS(epoll_create), SCMP_SYS(pipe),       SCMP_SYS(pipe2)};
  constexpr std::array kOfSharing = {SCMP_SYS(userfaultfd), SCMP_SYS(pwrite64), SCMP_SYS(munlock)};
  if (confinement.makes_connections) allowed.insert(allowed.end(), kOfConnections.begin(), kOfConnections.end());
  if (confinement.shares_memory) allowed.insert(allowed.end(), kOfSharing.begin(), kOfSharing.end());
  for (const int call : allowed) {
    const int error = ::seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0);
    if (error != 0) return std::string("system calls are not filtered: ") + std::strerror(-error);
  }
  const int error = ::seccomp_load(filter.get());
  if (error != 0) return std::string("system calls are not filtered: ") + std::strerror(-error);
  return {};
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
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) note(failed("new privileges are not ruled out"));
  note(restrict_files(confinement));
  note(drop_capabilities());
  if (confinement.filters_calls) note(filter_calls(confinement));
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
