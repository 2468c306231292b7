#include "host/appliance/confinement.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <set>
#include <thread>

#include "host/nic/netvm/paged_memory.hpp"
#include "host/os/shm/guard.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::appliance::confine_test {

/// Runs `check` in a process of its own; its result is the exit status.
template <class Check>
int apart(Check check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

/// The same, confined.
template <class Check>
int confined(const Confinement& confinement, Check check) {
  return apart([&] {
    const std::vector<std::string> problems = confine(confinement);
    const bool ok = std::all_of(problems.begin(), problems.end(), [](const std::string& problem) {
      return problem.find("no Landlock") != std::string::npos;
    });
    return ok ? check(problems.empty()) : 100;
  });
}

std::string status_line(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return line.substr(key.size() + 1);
  }
  return {};
}

TEST(Confinement, takes_all_capabilities_and_what_could_bring_them_back) {
  EXPECT_EQ(confined({.written = {}, .read = {"/proc"}, .filters_calls = true},
                     [](bool) {
                       if (status_line("CapEff:") != "0000000000000000") return 1;
                       if (status_line("CapPrm:") != "0000000000000000") return 2;
                       if (status_line("CapInh:") != "0000000000000000") return 3;
                       if (status_line("NoNewPrivs:") != "1") return 4;
                       return status_line("Seccomp:") == "2" ? 0 : 5;
                     }),
            0);
}

TEST(Confinement, forbids_programs_new_sockets_and_more) {
  EXPECT_EQ(confined({},
                     [](bool) {
                       char* arguments[] = {nullptr};
                       if (::execve("/bin/true", arguments, arguments) != -1 || errno != EPERM) return 1;
                       if (::socket(AF_INET, SOCK_STREAM, 0) != -1 || errno != EPERM) return 2;
                       if (::setuid(0) != -1 || errno != EPERM) return 3;
                       return ::chroot("/") == -1 && errno == EPERM ? 0 : 4;
                     }),
            0);
}

TEST(Confinement, leaves_the_folders_that_are_named_and_no_others) {
  const testing::Scratch folder;
  folder.write("read", "x");
  const testing::Scratch other;
  other.write("secret", "x");
  EXPECT_EQ(confined({.written = {folder.path()}, .read = {}, .filters_calls = true},
                     [&](bool has_landlock) {
                       const int file = ::open(folder.path("made").c_str(), O_WRONLY | O_CREAT, 0644);
                       if (file < 0 || ::write(file, "x", 1) != 1) return 1;
                       if (::unlink(folder.path("made").c_str()) != 0) return 2;
                       if (!has_landlock) return 0;
                       return ::open(other.path("secret").c_str(), O_RDONLY) == -1 && errno == EACCES ? 0 : 3;
                     }),
            0);
}

TEST(Confinement, lets_threads_run_and_end) {
  EXPECT_EQ(confined({},
                     [](bool) {
                       int done = 0;
                       std::thread thread([&] {
                         std::this_thread::sleep_for(std::chrono::milliseconds(1));
                         done = 1;
                       });
                       thread.join();
                       return done == 1 ? 0 : 1;
                     }),
            0);
}

TEST(Confinement, an_appliance_starts_with_locked_memory_under_a_limit) {
  for (const bool is_privileged : {true, false}) {
    EXPECT_EQ(apart([&] {
                constexpr rlim_t kLimit = 1 << 20;
                const rlimit limit{.rlim_cur = kLimit, .rlim_max = kLimit};
                if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 1;
                __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
                const __user_cap_data_struct none[2] = {};
                if (!is_privileged && ::syscall(SYS_capset, &header, none) != 0) return 2;
                test::OneChannel one("", "lock_memory = true\n");
                if (!one.made) return 3;
                (void)confine({.written = {"/dev/shm"}, .read = {}, .filters_calls = true});
                one.port("left").ends = one.port("right").ends = true;
                if (!one.made->start()) return 4;
                one.made->stop();
                return 0;
              }),
              0)
        << is_privileged;
  }
}

/// What a thread of a kind sees. `check` runs in it and gives an exit status. Confines this process.
template <class Check>
int in_thread_here(ThreadKind kind, const Confinement& confinement, Check check) {
  ThreadFilters filters;
  if (!filters.make(confinement)) return 101;
  (void)confine(confinement);
  int status = 102;
  std::thread thread([&] {
    filters.apply(kind);
    status = filters.error() == 0 ? check() : 103;
  });
  thread.join();
  return status;
}

/// The same in a process of its own.
template <class Check>
int in_thread(ThreadKind kind, const Confinement& confinement, Check check) {
  return apart([&] { return in_thread_here(kind, confinement, check); });
}

constexpr std::array kAllKinds = {ThreadKind::SocketAgent,   ThreadKind::CaptureAgent, ThreadKind::MixedAgent,
                                  ThreadKind::LosslessAgent, ThreadKind::CardAgent,    ThreadKind::Recorder,
                                  ThreadKind::Log,           ThreadKind::Nic,          ThreadKind::Housekeeper,
                                  ThreadKind::Readers};

const Confinement kWithOpener = {.written = {}, .read = {}, .filters_calls = true, .has_opener = true};

/// An agent that only receives, or only reads captures, and the thread that records have 15 system calls at most.
TEST(ThreadFilters, have_these_numbers_of_calls) {
  const Confinement with_broker = {
      .written = {}, .read = {}, .shares_memory = true, .filters_calls = true, .has_opener = true};
  constexpr std::array<std::size_t, kThreadKinds> kMost = {15, 14, 17, 24, 90, 15, 13, 55, 62, 20, 31};
  constexpr std::size_t kMostOfData = 15;
  const Confinement with_foreign = {
      .written = {}, .read = {}, .filters_calls = true, .has_opener = true, .has_card = true};
  std::printf("process: %zu; with a broker %zu; with a card %zu\n", calls_of(kWithOpener).size(),
              calls_of(with_broker).size(), calls_of(with_foreign).size());
  EXPECT_LE(calls_of(kWithOpener).size(), 72U);
  EXPECT_LE(calls_of(with_broker).size(), 78U);
  for (const ThreadKind kind : kAllKinds) {
    const std::size_t calls = calls_of(kind, kWithOpener).size();
    std::printf("%-28s %zu", std::string(to_text(kind)).c_str(), calls);
    if (kind == ThreadKind::Nic) std::printf("; with a broker %zu", calls_of(kind, with_broker).size());
    std::printf("\n");
    EXPECT_LE(calls, kMost[static_cast<std::size_t>(kind)]) << to_text(kind);
  }
  for (const ThreadKind kind : {ThreadKind::SocketAgent, ThreadKind::CaptureAgent, ThreadKind::Recorder}) {
    EXPECT_LE(calls_of(kind, kWithOpener).size(), kMostOfData) << to_text(kind);
  }
  for (const ThreadKind kind : kAllKinds) {
    std::printf("%s:", std::string(to_text(kind)).c_str());
    for (const std::string& name : names_of(calls_of(kind, kWithOpener))) std::printf(" %s", name.c_str());
    std::printf("\n");
  }
}

/// The carrier udp has its sockets when it is confined: it accepts connections, and makes none.
TEST(ThreadFilters, let_the_carrier_udp_make_no_socket) {
  const Confinement with_udp = {
      .written = {}, .read = {}, .filters_calls = true, .has_opener = true, .has_nic = true, .has_udp = true};
  Confinement without = with_udp;
  without.has_udp = false;
  const CallList nic = calls_of(ThreadKind::Nic, with_udp);
  EXPECT_EQ(nic.size(), calls_of(ThreadKind::Nic, without).size() + 3);
  for (const int call : {SYS_socket, SYS_bind, SYS_listen, SYS_connect}) {
    EXPECT_EQ(std::count(nic.calls.begin(), nic.calls.end(), call), 0) << call;
  }
}

TEST(ThreadFilters, give_agents_no_call_that_opens_connects_starts_or_traces) {
  for (const ThreadKind kind : {ThreadKind::SocketAgent, ThreadKind::CaptureAgent, ThreadKind::MixedAgent}) {
    const CallList list = calls_of(kind, kWithOpener);
    for (const int call :
         {SYS_open,    SYS_openat, SYS_openat2, SYS_socket,         SYS_connect, SYS_execve, SYS_execveat,
          SYS_ptrace,  SYS_clone,  SYS_clone3,  SYS_fork,           SYS_vfork,   SYS_prctl,  SYS_seccomp,
          SYS_sendmsg, SYS_unlink, SYS_rename,  SYS_io_uring_setup, SYS_bpf,     SYS_kill,   SYS_tgkill}) {
      EXPECT_EQ(std::count(list.calls.begin(), list.calls.end(), call), 0) << to_text(kind) << ' ' << call;
    }
  }
}

#ifndef __SANITIZE_ADDRESS__  // whose runtime needs calls of its own
/// A thread of packets may not set the handling of a signal: the fault would come up again without end.
TEST(ThreadFilters, let_a_fault_end_the_process) {
  const testing::Scratch folder;  // of this process: the other one removes nothing when it is killed
  int status = 0;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    (void)::sigaction(SIGBUS, &plain, nullptr);
    const os::Descriptor file(::open(folder.write("cut", std::string(4'096, 'x')).c_str(), O_RDONLY));
    void* const page = ::mmap(nullptr, 4'096, PROT_READ, MAP_SHARED, file.get(), 0);
    std::byte guarded{};
    const bool is_ready =
        page != MAP_FAILED && os::guard(&guarded, 1) != nullptr && ::truncate(folder.path("cut").c_str(), 0) == 0;
    if (is_ready) {
      (void)in_thread_here(ThreadKind::SocketAgent, kWithOpener, [&] { return *static_cast<volatile char*>(page); });
    }
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_TRUE(WTERMSIG(status) == SIGBUS || WTERMSIG(status) == SIGILL) << WTERMSIG(status);
}

/// Every call that this kernel may have.
TEST(ThreadFilters, refuse_every_other_call_in_an_agent) {
  for (const ThreadKind kind : {ThreadKind::SocketAgent, ThreadKind::CaptureAgent, ThreadKind::Recorder}) {
    const CallList list = calls_of(kind, kWithOpener);
    std::set<int> allowed(list.calls.begin(), list.calls.end());
    for (const confine::LimitedCall& call : list.limited) allowed.insert(call.call);
    EXPECT_EQ(in_thread(kind, kWithOpener,
                        [&] {
                          constexpr int kNewest = 480;
                          for (int call = 0; call < kNewest; ++call) {
                            // Of the kernel's own probes: from anywhere else they end the process.
                            constexpr int kUretprobe = 335, kUprobe = 336;
                            if (allowed.contains(call) || call == kUretprobe || call == kUprobe) continue;
                            if (::syscall(call, 0, 0, 0, 0, 0, 0) == -1 && errno == EPERM) continue;
                            std::fprintf(stderr, "call %d\n", call);
                            return 1;
                          }
                          return 0;
                        }),
              0)
        << to_text(kind);
  }
}
#endif

int map(int protection) {
  void* const page = ::mmap(nullptr, 4'096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? errno : 0;
}

TEST(ThreadFilters, let_only_the_housekeeper_make_code_and_nobody_memory_to_write_and_execute) {
  constexpr int kWrite = PROT_READ | PROT_WRITE;
  constexpr int kExecute = PROT_READ | PROT_EXEC;
  EXPECT_EQ(in_thread(ThreadKind::Housekeeper, kWithOpener,
                      [] {
                        if (map(kWrite) != 0 || map(kExecute) != 0) return 1;
                        return map(kWrite | PROT_EXEC) == EPERM ? 0 : 2;
                      }),
            0);
  for (const ThreadKind kind : {ThreadKind::Nic, ThreadKind::CaptureAgent, ThreadKind::Recorder}) {
    EXPECT_EQ(in_thread(kind, kWithOpener,
                        [] {
                          if (map(kWrite) != 0) return 1;
                          return map(kExecute) == EPERM && map(kWrite | PROT_EXEC) == EPERM ? 0 : 2;
                        }),
              0)
        << to_text(kind);
  }
}

TEST(ThreadFilters, hold_for_the_threads_of_an_appliance_that_receives_records_and_ends) {
  EXPECT_EQ(apart([&] {
              test::OneChannel one;
              if (!one.made) return 1;
              const Confinement confinement = {
                  .written = {"/dev/shm"}, .read = {"/proc"}, .filters_calls = true, .has_opener = true};
              ThreadFilters filters;
              if (!filters.make(confinement)) return 2;
              (void)confine(confinement);
              for (std::uint32_t i = 1; i <= 100; ++i) one.give(0, test::tick(i, i));
              one.port("left").ends = one.port("right").ends = true;
              if (!one.made->start(&filters)) return 3;
              filters.apply(ThreadKind::Housekeeper);
              for (int i = 0; i < 10'000 && !one.made->ended(); ++i) ::usleep(1'000);
              if (!one.made->ended()) return 4;
              one.made->stop();
              const auto seen = one.seen();
              const auto records =
                  std::count_if(seen.begin(), seen.end(), [](const auto& record) { return !record.is_event; });
              return filters.error() == 0 && records == 100 ? 0 : 5;
            }),
            0);
}

TEST(Confinement, lets_only_those_with_a_broker_have_files_as_memory) {
  if (nic::FaultSource faults; !faults.open()) GTEST_SKIP() << "this kernel gives no userfaultfd";
  const auto page = [](bool) {
    nic::FaultSource faults;
    if (!faults.open()) return errno == EPERM ? 1 : 2;
    // The memory owns it and lives to the end; duplicating it is not allowed here.
    const int file = ::memfd_create("paged", MFD_CLOEXEC);
    const std::string bytes(64 * nic::kPageBytes, 'b');
    if (::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return 3;
    auto memory = nic::PagedMemory::open(os::Descriptor(file), 0, {.frames = 16, .access = nic::Access::ReadWrite});
    if (!memory) {
      std::fprintf(stderr, "%s\n", memory.message().c_str());
      return 4;
    }
    for (std::uint64_t i = 0; i < memory.value()->pages(); ++i) {
      nic::HeldPage held;
      for (int tried = 0; tried < 20'000 && held.state == nic::HeldPage::State::Absent; ++tried) {
        held = memory.value()->hold(i);
        if (held.state == nic::HeldPage::State::Absent) ::usleep(1'000);
      }
      if (held.state != nic::HeldPage::State::Here || held.memory[7] != std::byte{'b'}) return 5;
      held.memory[7] = std::byte{'c'};
      memory.value()->release(held, true);
    }
    if (!memory.value()->flush().empty()) return 6;
    char changed = 0;
    return ::pread(file, &changed, 1, 7) == 1 && changed == 'c' ? 0 : 7;
  };
  EXPECT_EQ(confined({.written = {}, .read = {}, .filters_calls = true}, page), 1);
  EXPECT_EQ(confined({.written = {}, .read = {}, .shares_memory = true, .filters_calls = true}, page), 0);
}

}  // namespace stopbit::appliance::confine_test
