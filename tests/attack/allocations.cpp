#include "tests/attack/allocations.hpp"

#include <atomic>
#include <cstddef>

namespace {

std::atomic<std::uint64_t> count{0};

void add_one() {
  count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STOPBIT_SANITIZER_HOOKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STOPBIT_SANITIZER_HOOKS
#endif
#endif

// operator new calls malloc, so these see every allocation.
#ifdef STOPBIT_SANITIZER_HOOKS

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*, std::size_t),
                                                         void (*free_hook)(const volatile void*));

namespace {

const int installed = __sanitizer_install_malloc_and_free_hooks([](const volatile void*, std::size_t) { add_one(); },
                                                                [](const volatile void*) {});

}  // namespace

#else

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming): the C library's.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)

void* malloc(std::size_t size) {
  add_one();
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
  add_one();
  return __libc_calloc(number, size);
}
void* realloc(void* old, std::size_t size) {
  add_one();
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  add_one();
  return __libc_memalign(alignment, size);
}

}  // extern "C"

#endif

namespace stopbit::attack {

std::uint64_t allocations() noexcept {
  return count.load(std::memory_order_relaxed);
}

}  // namespace stopbit::attack
