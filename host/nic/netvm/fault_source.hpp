#pragma once

#include <cstddef>
#include <cstdint>

#include "host/os/shm/segment.hpp"

namespace stopbit::nic {

/// What the kernel says about memory that it does not fill itself.
struct FaultEvent {
  enum class Kind : std::uint8_t {
    Missing,  ///< A thread waits for the page at `address`.
    Write,    ///< A thread waits to write to the page at `address`, which was protected.
    Removed,  ///< From `address` to `end` the pages are about to be thrown away.
    Unmapped,
    Moved,  ///< From `address`, `end - address` bytes to `target`.
  };
  Kind kind = Kind::Missing;
  std::uintptr_t address = 0;
  std::uintptr_t end = 0;
  std::uintptr_t target = 0;
};

/// A userfaultfd: the process that registers memory with it supplies the pages of that memory, and receives events of
/// changes to it. A thread that touches a missing page waits until it is supplied; a system call that touches one fails
/// with EFAULT, so no privilege is needed.
class FaultSource {
 public:
  enum class Given : std::uint8_t { Yes, WasThere, Again, Failed };

  /// False, with errno: the kernel has none, or not for shared anonymous memory.
  [[nodiscard]] bool open() noexcept;
  /// Page-aligned shared anonymous memory. `protects`: protect() will be used on it. False, with errno.
  [[nodiscard]] bool watch(std::byte* memory, std::size_t bytes, bool protects) noexcept;
  /// The page at `to` becomes a copy of the one at `from`, for all threads at once. Again: read events first.
  [[nodiscard]] Given give(std::byte* to, const std::byte* from) noexcept;
  /// From now on, or no longer, who writes to the page has to wait; it need not be here yet. Failed: nothing is mapped
  /// there.
  Given protect(std::uintptr_t page, bool on) noexcept;
  /// Lets go who waits for the page, to try again.
  void wake(std::uintptr_t page) noexcept;
  /// False: there is none now.
  [[nodiscard]] bool read(FaultEvent& event) noexcept;
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }

 private:
  os::Descriptor file_;
};

}  // namespace stopbit::nic
