#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// Mapped files that become shorter. An access to a page that the file no longer has raises SIGBUS, whoever truncated
/// it. A handler of this process puts pages of zeros in the place of the missing ones and marks the mapping as broken,
/// so that such a file is an error of its user and not the end of the process.
namespace stopbit::os {

/// A guarded range of addresses. The places of ranges that are gone are used again.
struct GuardedRange {
  std::atomic<std::uintptr_t> begin{0};  ///< 0: free.
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> is_broken{false};
};

/// Guards the range; from any thread. The first call installs the handler of SIGBUS, for the whole process: it hands
/// every fault outside of guarded ranges to the handler that was there before. Null without memory.
[[nodiscard]] GuardedRange* guard(const std::byte* data, std::size_t bytes) noexcept;
/// Before the range is unmapped.
void unguard(GuardedRange* range) noexcept;

}  // namespace stopbit::os
