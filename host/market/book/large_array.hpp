#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace stopbit::market {

struct FreeMemory {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
/// An array that keeps its size.
template <class T>
using LargeArray = std::unique_ptr<T[], FreeMemory>;

/// `count` items, each value-initialised. A large array is on huge pages if the system has them: entries of many books
/// and orders touch memory in no order, and each touch of a small page would cost a walk through the page tables.
/// Throws std::bad_alloc.
template <class T>
[[nodiscard]] LargeArray<T> make_large_array(std::size_t count) {
  static_assert(std::is_trivially_destructible_v<T>);
  constexpr std::size_t kHugePage = std::size_t{1} << 21;
  constexpr std::size_t kLine = alignof(T) > 64 ? alignof(T) : 64;
  if (count > (~std::size_t{0} - kHugePage) / sizeof(T)) throw std::bad_alloc();
  const std::size_t bytes = count * sizeof(T);
  void* memory = nullptr;
  if (::posix_memalign(&memory, bytes >= kHugePage ? kHugePage : kLine, bytes == 0 ? 1 : bytes) != 0) {
    throw std::bad_alloc();
  }
  if (bytes >= kHugePage) (void)::madvise(memory, bytes, MADV_HUGEPAGE);  // without them it is only slower
  T* const items = static_cast<T*>(memory);
  std::uninitialized_value_construct_n(items, count);
  return LargeArray<T>(items);
}

}  // namespace stopbit::market
