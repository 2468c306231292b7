#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace stopbit::os {

/// Lets one thread sleep until another has work for it. The word may be in memory that two processes share.
///
///     publish(...); bell.ring();                                              // any thread
///     bell.lie_down(); if (nothing to do) bell.sleep(10ms); bell.get_up();    // the one that sleeps
///
/// Work that was published before a ring is seen after lie_down, or the ring ends the sleep: none is overslept. Ringing
/// for a thread that is awake is one atomic operation; only for one that sleeps is it a system call.
class Doorbell {
 public:
  /// Over a word that is 0 in the beginning and outlives the bell.
  explicit Doorbell(std::uint32_t& asleep) noexcept : asleep_(&asleep) {}

  void ring() noexcept {
    if (word().exchange(0, std::memory_order_acq_rel) == 0) return;
    (void)::syscall(SYS_futex, asleep_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }

  void lie_down() noexcept { (void)word().exchange(1, std::memory_order_acq_rel); }
  /// Returns after a ring since lie_down, after this time, or for no reason.
  void sleep(std::chrono::nanoseconds longest) noexcept {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    const timespec time{seconds.count(), (longest - seconds).count()};
    (void)::syscall(SYS_futex, asleep_, FUTEX_WAIT, 1, &time, nullptr, 0);
  }
  void get_up() noexcept { word().store(0, std::memory_order_relaxed); }

 private:
  [[nodiscard]] std::atomic_ref<std::uint32_t> word() const noexcept {
    return std::atomic_ref<std::uint32_t>(*asleep_);
  }

  std::uint32_t* asleep_;
};

}  // namespace stopbit::os
