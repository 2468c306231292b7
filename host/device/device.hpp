#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "microcode/base/result.hpp"

namespace stopbit::device {

/// Memory of the host that the device can read and write. Zeroed. Lives on after its device, but then nothing writes to
/// it.
class HostBuffer {
 public:
  virtual ~HostBuffer() = default;
  [[nodiscard]] virtual std::byte* data() noexcept = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  /// Of its first byte, for the device; a multiple of 4096.
  [[nodiscard]] virtual std::uint64_t address() const noexcept = 0;
};

/// A kernel somewhere: its registers, and memory that it shares with the host. One leaf folder for each way to get at
/// one.
///
/// One thread at a time. A register access takes microseconds.
class Device {
 public:
  virtual ~Device() = default;
  /// A register of 32 bits; `offset` in bytes, inside the kernel's window (registers.hpp).
  [[nodiscard]] virtual Result<std::uint32_t> read(std::uint32_t offset) = 0;
  [[nodiscard]] virtual Status write(std::uint32_t offset, std::uint32_t value) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<HostBuffer>> allocate(std::size_t bytes) = 0;
  /// Brings hardware that does not answer into the state after it was opened, by calls that a confined process may
  /// make. Memory keeps its addresses. After a failure it is as it was, or fails everything.
  [[nodiscard]] virtual Status reset() { return Failure{"it cannot be reset"}; }

  /// Keeps memory that the kernel may still write to, until it is known to rest.
  void keep(std::unique_ptr<HostBuffer> memory) { kept_.push_back(std::move(memory)); }
  /// The kernel rests.
  void free_kept() noexcept { kept_.clear(); }
  /// For another device of the same kernel, in place of this one.
  [[nodiscard]] std::vector<std::unique_ptr<HostBuffer>> take_kept() noexcept { return std::exchange(kept_, {}); }

 private:
  std::vector<std::unique_ptr<HostBuffer>> kept_;
};

}  // namespace stopbit::device
