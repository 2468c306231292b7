// libstopbit_clock_shim.so: preloaded (LD_PRELOAD) into one process, steps the wall clock of that process alone. The
// machine's clock stays as it is. As after a real step, time stamps that the kernel makes later have the new time, and
// those that it made before have the old one.
//
// $STOPBIT_SOAK_CLOCK names a file of a `Plan`, which whoever steps the clock has mapped, too.

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kMostSteps = 4'000;

/// From this time of the machine's clock on, the process's clock is ahead of it by this much.
struct Step {
  std::int64_t from_ns;
  std::int64_t ahead_ns;
};
/// Steps are only added: the step is written before the count that includes it.
struct Plan {
  std::atomic<std::uint64_t> steps;
  std::atomic<std::uint64_t> is_unsynchronised;  ///< What adjtimex says: 1 = no daemon disciplines the clock.
  Step step[kMostSteps];
};

const Plan* open_plan() {
  const char* const path = std::getenv("STOPBIT_SOAK_CLOCK");
  if (path == nullptr) return nullptr;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) std::abort();  // a soak without steps would show nothing
  void* const memory = ::mmap(nullptr, sizeof(Plan), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<const Plan*>(memory);
}

/// Before main, and before the process gives up the right to open files.
const Plan* const kPlan = open_plan();

std::int64_t ns_of(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * kSecond + time.tv_nsec;
}
timespec time_of(std::int64_t ns) {
  return {.tv_sec = static_cast<time_t>(ns / kSecond), .tv_nsec = static_cast<long>(ns % kSecond)};
}

/// A time of the machine's clock as this process would have read it then.
timespec stepped(const timespec& machine) {
  if (kPlan == nullptr) return machine;
  const std::int64_t ns = ns_of(machine);
  for (std::uint64_t i = kPlan->steps.load(std::memory_order_acquire); i > 0; --i) {
    const Step& step = kPlan->step[i - 1];
    if (ns >= step.from_ns) return time_of(ns + step.ahead_ns);
  }
  return machine;
}

void step_stamps(msghdr& header) {
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET) continue;
    const bool is_three = item->cmsg_type == SCM_TIMESTAMPING;
    if (!is_three && item->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec time{};  // of the kernel's; a card has a clock of its own
    std::memcpy(&time, CMSG_DATA(item), sizeof(time));
    if (time.tv_sec == 0 && time.tv_nsec == 0) continue;
    time = stepped(time);
    std::memcpy(CMSG_DATA(item), &time, sizeof(time));
  }
}

template <class Function>
Function next(const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function>(found);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int status = real(clock, time);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) *time = stepped(*time);
  return status;
}

int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  timespec now{};
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1'000};
  return 0;
}

time_t time(time_t* to) noexcept {
  timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  if (to != nullptr) *to = now.tv_sec;
  return now.tv_sec;
}

int adjtimex(timex* asked) noexcept {
  static const auto real = next<int (*)(timex*)>("adjtimex");
  const int state = real(asked);
  if (kPlan == nullptr || state < 0) return state;
  // The machine of a test often has no daemon that disciplines its clock; this one has, or not, as the plan says.
  const bool is_unsynchronised = kPlan->is_unsynchronised.load(std::memory_order_relaxed) != 0;
  asked->status = is_unsynchronised ? asked->status | STA_UNSYNC : asked->status & ~STA_UNSYNC;
  return is_unsynchronised ? TIME_ERROR : TIME_OK;
}

int recvmmsg(int socket, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  static const auto real = next<int (*)(int, mmsghdr*, unsigned, int, timespec*)>("recvmmsg");
  const int received = real(socket, messages, count, flags, timeout);
  for (int i = 0; i < received; ++i) step_stamps(messages[i].msg_hdr);
  return received;
}

ssize_t recvmsg(int socket, msghdr* message, int flags) {
  static const auto real = next<ssize_t (*)(int, msghdr*, int)>("recvmsg");
  const ssize_t received = real(socket, message, flags);
  if (received >= 0) step_stamps(*message);
  return received;
}

}  // extern "C"
