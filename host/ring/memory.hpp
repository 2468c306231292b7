#pragma once

#include <cstdint>

#include "host/ring/protocol.hpp"

namespace stopbit::ring {

/// Real shared memory: atomic words with the memory orders of protocol.hpp.
struct SharedMemory {
  template <Step step>
  static std::uint64_t load(const std::uint64_t& word) noexcept {
    return __atomic_load_n(&word, builtin_order(order_of(step)));
  }

  template <Step step>
  static void store(std::uint64_t& word, std::uint64_t value) noexcept {
    __atomic_store_n(&word, value, builtin_order(order_of(step)));
  }

  /// ThreadSanitizer does not support fences; every access around them is atomic, so it misses nothing.
  template <Step step>
  static void fence() noexcept {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
    __atomic_thread_fence(builtin_order(order_of(step)));
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  }

 private:
  static constexpr int builtin_order(Order order) {
    return order == Order::Acquire ? __ATOMIC_ACQUIRE : order == Order::Release ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;
  }
};

/// Prefetches a cache line that will be written soon.
inline void prefetch_to_write(const void* line) noexcept {
#if defined(__x86_64__)
  // The builtin emits it only for processors selected at build time; other processors execute it as a no-op.
  asm volatile("prefetchw (%0)" : : "r"(line));
#else
  __builtin_prefetch(line, 1, 3);
#endif
}

}  // namespace stopbit::ring
