#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace stopbit::jit {

/// Memory for machine code: first writable, then executable, never both. An inaccessible page lies before and after
/// it.
class CodeMemory {
 public:
  /// Room for `bytes`, writable; data() is null if the system has none. Pages that are never written take no memory.
  explicit CodeMemory(std::size_t bytes) noexcept;
  ~CodeMemory();
  CodeMemory(CodeMemory&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  CodeMemory& operator=(CodeMemory&&) = delete;

  [[nodiscard]] std::uint8_t* data() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;
  /// Makes the first `bytes` executable and gives the rest back; false if the system refuses.
  [[nodiscard]] bool seal(std::size_t bytes) noexcept;

 private:
  std::uint8_t* begin_ = nullptr;  ///< Of the mapping, guard pages included.
  std::size_t bytes_ = 0;
};

}  // namespace stopbit::jit
