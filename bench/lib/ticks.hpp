#pragma once

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/// Time in ticks of the processor's counter: the same on all cores, at a constant rate, read without a system call.
/// On other processors a tick is a nanosecond of the system's clock.
namespace stopbit::bench {

/// For stamps and schedules: cheap, and may be taken a few instructions early or late.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#else
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
#endif
}

/// Before the code that is timed: earlier instructions are done, later ones have not begun.
inline std::uint64_t ticks_begin() noexcept {
#if defined(__x86_64__)
  _mm_lfence();
  const std::uint64_t now = __rdtsc();
  _mm_lfence();
  return now;
#else
  return ticks();
#endif
}

/// After the code that is timed.
inline std::uint64_t ticks_end() noexcept {
#if defined(__x86_64__)
  unsigned processor = 0;
  const std::uint64_t now = __rdtscp(&processor);
  _mm_lfence();
  return now;
#else
  return ticks();
#endif
}

/// Tells the processor that this loop waits for another core.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Measured on construction, which takes tens of milliseconds.
class TickClock {
 public:
  TickClock();

  [[nodiscard]] double ns(double tick_count) const noexcept { return tick_count * ns_per_tick_; }
  [[nodiscard]] double ticks_of(double ns) const noexcept { return ns / ns_per_tick_; }
  [[nodiscard]] double ns_per_tick() const noexcept { return ns_per_tick_; }
  /// What ticks_begin and ticks_end measure with nothing between them. To be subtracted.
  [[nodiscard]] std::uint64_t pair_cost() const noexcept { return pair_cost_; }
  /// Ticks of a timed piece of code, without the cost of timing it.
  [[nodiscard]] std::uint64_t between(std::uint64_t begin, std::uint64_t end) const noexcept {
    return end - begin > pair_cost_ ? end - begin - pair_cost_ : 0;
  }

 private:
  double ns_per_tick_ = 1;
  std::uint64_t pair_cost_ = 0;
};

}  // namespace stopbit::bench
