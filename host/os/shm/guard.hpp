#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// Protection against truncation of mapped files. An access to a page beyond the end of a truncated file raises SIGBUS.
/// The handler installed here replaces the missing pages by zeros and marks the mapping as broken, so that truncation
/// is an error and does not end the process.
namespace stopbit::os {

/// A guarded range of addresses. Entries of removed ranges are reused.
struct GuardedRange {
  std::atomic<std::uintptr_t> begin{0};  ///< 0: free.
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> is_broken{false};
};

/// Guards the range. Any thread. The first call installs a handler of SIGBUS for the whole process; it passes every
/// fault outside guarded ranges to the previous handler. Null if memory is short.
[[nodiscard]] GuardedRange* guard(const std::byte* data, std::size_t bytes) noexcept;
/// Removes the guard; call it before unmapping the range.
void unguard(GuardedRange* range) noexcept;

}  // namespace stopbit::os
