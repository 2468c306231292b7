#pragma once

#include "host/os/shm/shared_words.hpp"
#include "host/ring/protocol.hpp"

namespace stopbit::ring {

/// The ring in real shared memory.
using SharedMemory = os::SharedWords<Step, order_of>;

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
