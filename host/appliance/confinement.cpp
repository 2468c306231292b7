#include "host/appliance/confinement.hpp"

#include <seccomp.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

namespace stopbit::appliance {
namespace {

/// Calls that make memory, which is never to be written and executed at once.
void add_memory(CallList& list, bool executes) {
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
    list.limited.push_back({call, 2, PROT_EXEC, 0});
    if (executes) list.limited.push_back({call, 2, PROT_WRITE | PROT_EXEC, PROT_EXEC});
  }
}

void add(CallList& list, std::initializer_list<int> calls) {
  for (const int call : calls) list.calls.push_back(call);
}

/// What the sanitizers need: they look whether an object's memory exists by way of a pipe. Each new thread asks for its
/// stack, which the C library answers with the thread's processors, too; refused, the process would end.
void add_sanitizers(CallList& list) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  add(list, {SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(readlink), SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(close),
             SCMP_SYS(munmap), SCMP_SYS(sigaltstack), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(rt_sigaction),
             SCMP_SYS(openat), SCMP_SYS(sched_yield), SCMP_SYS(prctl), SCMP_SYS(exit_group), SCMP_SYS(madvise),
             SCMP_SYS(sched_getaffinity)});
  list.limited.push_back({SCMP_SYS(mmap), 2, PROT_EXEC, 0});
  list.limited.push_back({SCMP_SYS(mprotect), 2, PROT_EXEC, 0});
#else
  (void)list;
#endif
}

Status load(const CallList& list, const auto& filter) {
  // A call may be named twice: by a kind of thread, and by the sanitizers.
  std::vector<int> calls = list.calls;
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  std::vector<confine::LimitedCall> limited;
  for (const confine::LimitedCall& call : list.limited) {
    if (!std::binary_search(calls.begin(), calls.end(), call.call)) limited.push_back(call);
  }
  return filter(calls, limited);
}

#ifdef __SANITIZE_ADDRESS__
bool calls_are_filtered = false;
#endif

}  // namespace

std::string_view to_text(ThreadKind kind) noexcept {
  constexpr std::array<std::string_view, kThreadKinds> kTexts = {"agent with sockets",
                                                                 "agent with captures",
                                                                 "agent with both",
                                                                 "agent with lossless rings",
                                                                 "agent with a card",
                                                                 "recorder",
                                                                 "log",
                                                                 "nic",
                                                                 "housekeeper",
                                                                 "readers",
                                                                 "replay"};
  return kTexts[static_cast<std::size_t>(kind)];
}

ThreadKind agent_kind(const Settings& settings, std::size_t agent) {
  if (settings.card) return ThreadKind::CardAgent;
  for (const FeedSettings& feed : settings.feeds) {
    if (feed.agent != agent || !settings.nic) continue;
    for (const feed::Channel& channel : feed.description.channels) {
      const bool has_events = !channel.map.empty() && settings.nic->patience_ns(channel.events).has_value();
      if (has_events || settings.nic->patience_ns(channel.ring)) return ThreadKind::LosslessAgent;
    }
  }
  const auto has = [&](const auto& what) {
    return std::any_of(settings.ports.begin(), settings.ports.end(),
                       [&](const PortSettings& port) { return port.agent == agent && what(*port.source); });
  };
  if (!has([](const ingest::PortSource& source) { return !source.is_live(); })) return ThreadKind::SocketAgent;
  const bool has_sockets = has([](const ingest::PortSource& source) { return source.sockets().has_value(); });
  return has_sockets ? ThreadKind::MixedAgent : ThreadKind::CaptureAgent;
}

std::size_t CallList::size() const {
  std::set<int> names(calls.begin(), calls.end());
  for (const confine::LimitedCall& call : limited) names.insert(call.call);
  return names.size();
}

std::vector<std::string> names_of(const CallList& list) {
  std::set<std::string> names;
  const auto insert = [&](int call) {
    const std::unique_ptr<char, decltype(&std::free)> name(::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call),
                                                           &std::free);
    names.insert(name ? name.get() : std::to_string(call));
  };
  for (const int call : list.calls) insert(call);
  for (const confine::LimitedCall& call : list.limited) insert(call.call);
  return {names.begin(), names.end()};
}

namespace {

/// To wait, to give back memory, to return from a signal and to end. brk: the C library takes a refusal for an address.
void add_life(CallList& list) {
  add(list, {SCMP_SYS(futex), SCMP_SYS(clock_nanosleep), SCMP_SYS(madvise), SCMP_SYS(munmap), SCMP_SYS(brk),
             SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall), SCMP_SYS(exit)});
}

/// The end of the process, and abort() with its signal. The clock is a call only where the kernel does not map it.
void add_service(CallList& list) {
  add(list, {SCMP_SYS(exit_group), SCMP_SYS(rt_sigaction), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(tgkill),
             SCMP_SYS(sched_yield), SCMP_SYS(clock_gettime), SCMP_SYS(getrandom), SCMP_SYS(geteuid)});
}

/// Clients at sockets that are open.
void add_clients(CallList& list) {
  add(list, {SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(getsockopt),
             SCMP_SYS(setsockopt), SCMP_SYS(shutdown), SCMP_SYS(poll), SCMP_SYS(ioctl), SCMP_SYS(fcntl)});
}

/// Rings are made, named and taken away; settings and images are read.
void add_files(CallList& list) {
  add(list, {SCMP_SYS(openat),    SCMP_SYS(close),      SCMP_SYS(read),    SCMP_SYS(pread64), SCMP_SYS(write),
             SCMP_SYS(writev),    SCMP_SYS(lseek),      SCMP_SYS(fstat),   SCMP_SYS(fstatfs), SCMP_SYS(newfstatat),
             SCMP_SYS(access),    SCMP_SYS(getdents64), SCMP_SYS(unlink),  SCMP_SYS(rmdir),   SCMP_SYS(linkat),
             SCMP_SYS(rename),    SCMP_SYS(mkdir),      SCMP_SYS(mkdirat), SCMP_SYS(fchmod),  SCMP_SYS(ftruncate),
             SCMP_SYS(fallocate), SCMP_SYS(mremap)});
}

/// A thread is made, and gets its core and the memory of its node.
void add_threads(CallList& list) {
  add(list, {SCMP_SYS(clone3), SCMP_SYS(clone), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(prctl)});
}

/// Of code that is not of this repository: drivers of a card, libfabric in this process.
CallList calls_of_foreign(const Confinement& confinement) {
  CallList list;
  add_life(list);
  add_service(list);
  add_clients(list);
  add_files(list);
  add_threads(list);
  add_memory(list, true);
  add(list,
      {SCMP_SYS(recvmmsg),
       SCMP_SYS(pwrite64),  // into the configuration of a card that VFIO opened: it may, or may not, write to memory
       SCMP_SYS(accept),
       SCMP_SYS(accept4),
       SCMP_SYS(getsockname),
       SCMP_SYS(getpeername),
       SCMP_SYS(ppoll),
       SCMP_SYS(epoll_ctl),
       SCMP_SYS(epoll_wait),
       SCMP_SYS(epoll_pwait),
       SCMP_SYS(eventfd2),
       SCMP_SYS(timerfd_settime),
       SCMP_SYS(readv),
       SCMP_SYS(stat),
       SCMP_SYS(lstat),
       SCMP_SYS(statx),
       SCMP_SYS(faccessat),
       SCMP_SYS(faccessat2),
       SCMP_SYS(unlinkat),
       SCMP_SYS(link),
       SCMP_SYS(renameat),
       SCMP_SYS(renameat2),
       SCMP_SYS(set_mempolicy),
       SCMP_SYS(get_mempolicy),
       SCMP_SYS(memfd_create),
       SCMP_SYS(clock_getres),
       SCMP_SYS(clock_adjtime),
       SCMP_SYS(adjtimex),
       SCMP_SYS(nanosleep),
       SCMP_SYS(getuid),
       SCMP_SYS(sigaltstack),
       SCMP_SYS(sched_setaffinity),
       SCMP_SYS(sched_getaffinity)});
  if (confinement.makes_connections) {
    add(list, {SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(connect),
               SCMP_SYS(epoll_create1), SCMP_SYS(epoll_create), SCMP_SYS(pipe), SCMP_SYS(pipe2)});
  }
  return list;
}

/// Serves other processes and hosts: their rings, and cleaning up after those that died.
CallList calls_of_nic(const Confinement& confinement) {
  CallList list;
  if (confinement.makes_connections) {
    list = calls_of_foreign(confinement);
    list.limited.clear();
  } else {
    add_life(list);
    add_service(list);
    add_clients(list);
    add_files(list);
    add(list, {SCMP_SYS(memfd_create)});
  }
  add_memory(list, false);
  // Both sockets of the carrier udp are open; members come by connections that it accepts.
  if (confinement.has_udp) add(list, {SCMP_SYS(recvmmsg), SCMP_SYS(sendmmsg), SCMP_SYS(accept4)});
  if (!confinement.shares_memory) return list;
  // A broker accepts clients, and makes threads for the memory that they share.
  add_threads(list);
  add(list, {SCMP_SYS(accept4), SCMP_SYS(eventfd2), SCMP_SYS(userfaultfd), SCMP_SYS(pwrite64), SCMP_SYS(munlock)});
  return list;
}

/// Control, HTTP, gaps, images. All threads have started; another process passes the sockets. Native code is compiled
/// here.
CallList calls_of_housekeeper() {
  CallList list;
  add_life(list);
  add_service(list);
  add_clients(list);
  add_files(list);
  add_memory(list, true);
  add(list, {SCMP_SYS(accept), SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
             SCMP_SYS(timerfd_settime), SCMP_SYS(clock_adjtime), SCMP_SYS(set_mempolicy), SCMP_SYS(get_mempolicy)});
  return list;
}

bool has_foreign_code(const Confinement& confinement) {
  return confinement.has_card || confinement.makes_connections;
}

void add(CallList& list, const CallList& others) {
  list.calls.insert(list.calls.end(), others.calls.begin(), others.calls.end());
  list.limited.insert(list.limited.end(), others.limited.begin(), others.limited.end());
}

/// A call and its limits once each.
void remove_repeated(CallList& list) {
  std::sort(list.calls.begin(), list.calls.end());
  list.calls.erase(std::unique(list.calls.begin(), list.calls.end()), list.calls.end());
  const auto fields = [](const confine::LimitedCall& call) {
    return std::tuple(call.call, call.argument, call.mask, call.value);
  };
  std::sort(list.limited.begin(), list.limited.end(),
            [&](const auto& left, const auto& right) { return fields(left) < fields(right); });
  list.limited.erase(std::unique(list.limited.begin(), list.limited.end(),
                                 [&](const auto& left, const auto& right) { return fields(left) == fields(right); }),
                     list.limited.end());
}

}  // namespace

CallList calls_of(const Confinement& confinement) {
  CallList list;
  if (has_foreign_code(confinement)) list = calls_of_foreign(confinement);
  for (std::size_t i = 0; i < kThreadKinds; ++i) {
    const auto kind = static_cast<ThreadKind>(i);
    if (kind == ThreadKind::Nic && !confinement.has_nic && !confinement.shares_memory) continue;
    if (kind == ThreadKind::Replay && !confinement.has_connections) continue;
    if (kind != ThreadKind::CardAgent) add(list, calls_of(kind, confinement));
  }
  add_threads(list);
  add(list, {SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_getaffinity)});
  remove_repeated(list);
  return list;
}

CallList calls_of(ThreadKind kind, const Confinement& confinement) {
  if (kind == ThreadKind::CardAgent) return calls_of(confinement);
  if (kind == ThreadKind::Nic) return calls_of_nic(confinement);
  // A card's images and publications are changed by the housekeeper, too.
  if (kind == ThreadKind::Housekeeper)
    return has_foreign_code(confinement) ? calls_of_foreign(confinement) : calls_of_housekeeper();
  CallList list;
  add_life(list);
  if (kind == ThreadKind::Readers) {
    // It looks at the signs that readers have left, and takes away those of the dead.
    add(list, {SCMP_SYS(openat), SCMP_SYS(close), SCMP_SYS(newfstatat), SCMP_SYS(getdents64), SCMP_SYS(pread64),
               SCMP_SYS(fcntl), SCMP_SYS(unlink), SCMP_SYS(geteuid), SCMP_SYS(clock_gettime)});
    add_memory(list, false);
    return list;
  }
  if (kind == ThreadKind::Log) {
    add(list, {SCMP_SYS(write), SCMP_SYS(clock_gettime)});
    add_memory(list, false);
    return list;
  }
  if (kind == ThreadKind::Replay) {
    // Connections come from the opener; the quota is in a file that is open.
    add_clients(list);
    add(list, {SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(readv), SCMP_SYS(close), SCMP_SYS(epoll_ctl),
               SCMP_SYS(epoll_wait), SCMP_SYS(timerfd_settime), SCMP_SYS(pwrite64), SCMP_SYS(fdatasync),
               SCMP_SYS(clock_gettime)});
    add_memory(list, false);
    return list;
  }
  if (kind == ThreadKind::Recorder) {
    add(list, {SCMP_SYS(write), SCMP_SYS(close), SCMP_SYS(sendmsg), SCMP_SYS(recvmsg)});
    add_memory(list, false);
    if (!confinement.has_opener) {
      add(list, {SCMP_SYS(openat), SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(rmdir), SCMP_SYS(rename)});
    }
    return list;
  }
  // The clock is a call only where the kernel does not map it.
  add(list, {SCMP_SYS(sched_yield), SCMP_SYS(clock_gettime)});
  if (kind == ThreadKind::SocketAgent || kind == ThreadKind::MixedAgent) {
    add(list, {SCMP_SYS(recvmmsg), SCMP_SYS(epoll_wait), SCMP_SYS(getsockopt)});
  }
  // Zeros in place of what another process has cut from a ring: the handler of SIGBUS runs on this thread.
  if (kind == ThreadKind::SocketAgent) list.limited.push_back({SCMP_SYS(mmap), 2, PROT_EXEC, 0});
  if (kind != ThreadKind::SocketAgent) {
    add(list, {SCMP_SYS(read)});  // decompression takes memory
    add_memory(list, false);
  }
  if (kind == ThreadKind::LosslessAgent) {
    // It looks into the folder in which readers ask for a seat.
    add(list, {SCMP_SYS(openat), SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(getdents64),
               SCMP_SYS(fcntl), SCMP_SYS(unlink), SCMP_SYS(mkdir), SCMP_SYS(geteuid), SCMP_SYS(access)});
  }
  return list;
}

std::vector<std::string> confine(const Confinement& confinement) {
  std::vector<std::string> problems;
  const auto note = [&](const Status& done) {
    if (!done) problems.push_back(done.message());
  };
  note(confine::rule_out_privileges());
  note(confine::restrict_files(confinement.written, confinement.read));
  note(confine::drop_capabilities());
  if (confinement.filters_calls) {
    CallList list = calls_of(confinement);
    add_sanitizers(list);
    note(load(list, [](const auto& calls, const auto& limited) { return confine::filter_calls(calls, limited); }));
  }
#ifdef __SANITIZE_ADDRESS__
  calls_are_filtered = confinement.filters_calls;
#endif
  return problems;
}

Status ThreadFilters::make(const Confinement& confinement) {
  if (!confinement.filters_calls) return Done{};
  for (std::size_t i = 0; i < kThreadKinds; ++i) {
    const auto kind = static_cast<ThreadKind>(i);
    if (kind == ThreadKind::CardAgent) continue;
    CallList list = calls_of(kind, confinement);
    add_sanitizers(list);
    confine::ThreadFilter& filter = filters_[i].emplace();
    Status done = load(list, [&filter](const auto& calls, const auto& limited) { return filter.make(calls, limited); });
    if (done) continue;
    filters_ = {};
    return done;
  }
  return Done{};
}

void ThreadFilters::apply(ThreadKind kind) noexcept {
  // A thread that has no share of the heap yet gets none later, if it may not map memory.
  void* volatile share = std::malloc(1);
  std::free(share);
  const auto& filter = filters_[static_cast<std::size_t>(kind)];
  const int error = filter ? filter->apply() : 0;
  if (error != 0) error_.store(error, std::memory_order_relaxed);
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
