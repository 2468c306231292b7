#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "host/nic/queue/page.hpp"

namespace stopbit::nic {

/// The shared memory of a port, zeroed, in this process.
class PageMemory {
 public:
  [[nodiscard]] std::span<std::byte, PageLayout::kBytes> span() noexcept {
    return std::span<std::byte, PageLayout::kBytes>(storage_->bytes, PageLayout::kBytes);
  }
  [[nodiscard]] Page page() noexcept { return Page(span()); }
  void set_state(PortState state) noexcept { page().word(PageWord::State).store(static_cast<std::uint64_t>(state)); }

 private:
  struct alignas(kPageBytes) Storage {
    std::byte bytes[PageLayout::kBytes] = {};
  };
  std::unique_ptr<Storage> storage_ = std::make_unique<Storage>();
};

}  // namespace stopbit::nic
