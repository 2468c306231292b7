#pragma once

#include <cstddef>
#include <cstdint>

#include "host/nic/atu/atu.hpp"

namespace stopbit::nic {

/// The page that `memory` lies in: here, page numbers of the translation unit are those of this process. The node must
/// have mapped what it registers, and must keep it mapped until the page is flushed.
[[nodiscard]] inline PageNumber to_page_number(const void* memory) noexcept {
  return reinterpret_cast<std::uintptr_t>(memory) / kPageBytes;
}
[[nodiscard]] inline std::byte* to_memory(PageNumber page) noexcept {
  return reinterpret_cast<std::byte*>(page * kPageBytes);
}

}  // namespace stopbit::nic
