#pragma once

#include <cstddef>
#include <span>

namespace stopbit::cases {

/// Memory between two protected pages, so that any access outside it ends with a signal: native code too, which
/// no sanitizer watches.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t max_bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// The last `size` bytes in front of the second guard.
  [[nodiscard]] std::span<std::byte> back(std::size_t size) const noexcept { return {end_ - size, size}; }
  /// A copy of `bytes` there. Valid until the next call.
  std::span<const std::byte> place(std::span<const std::byte> bytes) const noexcept;

 private:
  std::byte* map_ = nullptr;
  std::byte* end_ = nullptr;
  std::size_t map_bytes_ = 0;
};

}  // namespace stopbit::cases
