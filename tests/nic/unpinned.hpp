#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "host/nic/netvm/paged_memory.hpp"

namespace stopbit::nic {

/// Unpinned memory of a script: 16 pages of it are resident at once, and its pager is awake or asleep as the script
/// says.
class Unpinned {
 public:
  static constexpr std::size_t kFrames = 16;

  /// False: the kernel has no userfaultfd for us.
  [[nodiscard]] static bool can_be() noexcept { return FaultSource().open(); }
  /// Null: the kernel gives no memory for it.
  [[nodiscard]] static std::unique_ptr<Unpinned> make(std::size_t pages, Access access) {
    auto made = std::unique_ptr<Unpinned>(new Unpinned);
    made->file_ = os::Descriptor(::memfd_create("unpinned", MFD_CLOEXEC));
    if (!made->file_.ok() || ::ftruncate(made->file_.get(), static_cast<off_t>(pages * kPageBytes)) != 0)
      return nullptr;
    PagedOptions options;
    options.frames = kFrames;
    options.access = access;
    options.has_thread = false;
    auto memory = PagedMemory::open(os::Descriptor(::dup(made->file_.get())), 0, options);
    if (!memory) return nullptr;
    made->memory_ = std::move(memory.value());
    return made;
  }
  [[nodiscard]] PagedMemory& memory() noexcept { return *memory_; }
  /// The bytes as they are now. False: they are not there.
  [[nodiscard]] bool read(std::uint64_t at, std::span<std::byte> into) {
    return memory_->flush().empty() &&
           ::pread(file_.get(), into.data(), into.size(), static_cast<off_t>(at)) == static_cast<ssize_t>(into.size());
  }
  /// Into the file: of pages that are not here yet.
  [[nodiscard]] bool write(std::uint64_t at, std::span<const std::byte> bytes) const {
    return ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)) ==
           static_cast<ssize_t>(bytes.size());
  }
  void step() {
    if (!is_asleep) (void)memory_->step();
  }
  bool is_asleep = false;

 private:
  Unpinned() = default;
  os::Descriptor file_;
  std::unique_ptr<PagedMemory> memory_;
};

}  // namespace stopbit::nic
