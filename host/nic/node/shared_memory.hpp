#pragma once

#include <cstddef>
#include <span>

#include "host/nic/queue/page.hpp"
#include "host/ring/segment.hpp"

namespace stopbit::nic {

/// Memory that processes pass to each other as a descriptor: anonymous, zero at first, and sealed, so that nobody can
/// make it shorter under the one who reads it.
class SharedMemory {
 public:
  /// Makes `bytes`, a multiple of the page size. False, with errno.
  [[nodiscard]] bool create(const char* name, std::size_t bytes) noexcept;
  /// Maps what another process made: at least `bytes` of it, and only if it is sealed anonymous memory. False if it is
  /// not, with errno, which is EPERM if it is something else.
  [[nodiscard]] bool map(ring::Descriptor file, std::size_t bytes, ring::Mapping::Use use) noexcept;

  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  [[nodiscard]] std::span<std::byte> span() const noexcept { return {mapping_.data(), mapping_.bytes()}; }
  /// Of memory that is as long as the pages of a port.
  [[nodiscard]] Page page() const noexcept {
    return Page(std::span<std::byte, PageLayout::kBytes>(mapping_.data(), PageLayout::kBytes));
  }

 private:
  ring::Descriptor file_;
  ring::Mapping mapping_;
};

}  // namespace stopbit::nic
