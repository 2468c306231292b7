#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "host/nic/queue/page.hpp"
#include "host/os/shm/segment.hpp"

namespace stopbit::nic {

/// Memory that processes pass to each other as a descriptor: anonymous, zero at first, and sealed, so that it cannot be
/// truncated under a reader.
class SharedMemory {
 public:
  /// Makes `bytes`, a multiple of the page size. False, with errno.
  [[nodiscard]] bool create(const char* name, std::size_t bytes) noexcept;
  /// Maps what another process made: at least `bytes` of it, and only if it is sealed anonymous memory. False if it is
  /// not, with errno, which is EPERM if it is something else. Pages come in when they are used. The descriptor is
  /// closed: the mapping is enough.
  enum class Use : std::uint8_t { Read, Write };
  [[nodiscard]] bool map(os::Descriptor file, std::size_t bytes, Use use) noexcept;

  /// Of memory that was made here, to pass it; -1 of other.
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  /// The same, for the last time: the mapping is enough.
  [[nodiscard]] os::Descriptor take_descriptor() noexcept { return std::move(file_); }
  [[nodiscard]] std::span<std::byte> span() const noexcept { return {mapping_.data(), mapping_.bytes()}; }
  /// Of memory that is as long as the pages of a port.
  [[nodiscard]] Page page() const noexcept {
    return Page(std::span<std::byte, PageLayout::kBytes>(mapping_.data(), PageLayout::kBytes));
  }

 private:
  os::Descriptor file_;
  os::Mapping mapping_;
};

}  // namespace stopbit::nic
