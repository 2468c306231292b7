#pragma once

#include <cstdint>

/// Words that processes share, for protocols that name each access by its purpose.
namespace stopbit::os {

/// Memory orders that the protocols use.
enum class Order : std::uint8_t { Relaxed, Acquire, Release };

/// Real shared memory: atomic words, each access in the order that the protocol gives its step.
template <class Step, Order (*OrderOf)(Step)>
struct SharedWords {
  template <Step step>
  static std::uint64_t load(const std::uint64_t& word) noexcept {
    return __atomic_load_n(&word, builtin_order(OrderOf(step)));
  }

  template <Step step>
  static void store(std::uint64_t& word, std::uint64_t value) noexcept {
    __atomic_store_n(&word, value, builtin_order(OrderOf(step)));
  }

  /// ThreadSanitizer does not support fences; every access around them is atomic, so it misses nothing.
  template <Step step>
  static void fence() noexcept {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
    __atomic_thread_fence(builtin_order(OrderOf(step)));
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  }

 private:
  static constexpr int builtin_order(Order order) noexcept {
    return order == Order::Acquire ? __ATOMIC_ACQUIRE : order == Order::Release ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;
  }
};

}  // namespace stopbit::os
