#include "host/os/shm/guard.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <new>

namespace stopbit::os {
namespace {

constexpr std::uintptr_t kPageBytes = 4096;
constexpr std::uintptr_t kTaken = 1;  // a place that is being filled in

/// Places for ranges. Never freed: the handler may be reading them.
struct Block {
  std::array<GuardedRange, 64> ranges{};
  std::atomic<Block*> next{nullptr};
};
Block first_block;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): for a handler of signals

struct sigaction handler_before {};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): as above

GuardedRange* range_of(std::uintptr_t at) noexcept {
  for (Block* block = &first_block; block != nullptr; block = block->next.load(std::memory_order_acquire)) {
    for (GuardedRange& range : block->ranges) {
      const std::uintptr_t begin = range.begin.load(std::memory_order_acquire);
      if (begin > kTaken && at >= begin && at < range.end.load(std::memory_order_relaxed)) return &range;
    }
  }
  return nullptr;
}

/// Zeros from the page of the fault to the end of the range: what follows a missing page is missing, too. Only calls
/// that a handler of signals may make.
bool fill_hole(const siginfo_t& info) noexcept {
  if (info.si_code != BUS_ADRERR) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(info.si_addr);
  GuardedRange* const range = range_of(at);
  if (range == nullptr) return false;
  const std::uintptr_t from = at & ~(kPageBytes - 1);
  const std::uintptr_t to = range->end.load(std::memory_order_relaxed);
  range->is_broken.store(true, std::memory_order_relaxed);  // before any thread can see a zero
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of the fault
  return ::mmap(reinterpret_cast<void*>(from), to - from, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  if (!fill_hole(*info)) {
    if ((handler_before.sa_flags & SA_SIGINFO) != 0) {
      handler_before.sa_sigaction(signal, info, context);
    } else if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN) {
      handler_before.sa_handler(signal);
    } else if (handler_before.sa_handler == SIG_DFL || info->si_code > 0) {
      // The end that it would have been: the faulting instruction runs again; a signal that was sent is sent again.
      struct sigaction plain {};
      plain.sa_handler = SIG_DFL;
      // A confined thread may make neither call: the trap ends the process all the same.
      if (::sigaction(signal, &plain, nullptr) != 0) __builtin_trap();
      if (info->si_code <= 0 && ::raise(signal) != 0) __builtin_trap();
    }
  }
  errno = error;
}

bool install() noexcept {
  struct sigaction ours {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigemptyset(&ours.sa_mask);
  return ::sigaction(SIGBUS, nullptr, &handler_before) == 0 && ::sigaction(SIGBUS, &ours, nullptr) == 0;
}

}  // namespace

GuardedRange* guard(const std::byte* data, std::size_t bytes) noexcept {
  static const bool is_installed = install();
  if (!is_installed) return nullptr;
  for (Block* block = &first_block;;) {
    for (GuardedRange& range : block->ranges) {
      std::uintptr_t none = 0;
      if (!range.begin.compare_exchange_strong(none, kTaken)) continue;
      range.is_broken.store(false, std::memory_order_relaxed);
      const auto begin = reinterpret_cast<std::uintptr_t>(data);
      range.end.store((begin + bytes + kPageBytes - 1) & ~(kPageBytes - 1), std::memory_order_relaxed);
      range.begin.store(begin, std::memory_order_release);
      return &range;
    }
    Block* next = block->next.load(std::memory_order_acquire);
    if (next == nullptr) {
      auto* const made = new (std::nothrow) Block;
      if (made == nullptr) return nullptr;
      if (block->next.compare_exchange_strong(next, made)) {
        next = made;
      } else {
        delete made;
      }
    }
    block = next;
  }
}

void unguard(GuardedRange* range) noexcept {
  if (range != nullptr) range->begin.store(0, std::memory_order_release);
}

}  // namespace stopbit::os
