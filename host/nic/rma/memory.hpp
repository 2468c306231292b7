#pragma once

#include <cstddef>
#include <cstdint>

#include "host/nic/atu/atu.hpp"
#include "host/nic/netvm/paged_memory.hpp"

namespace stopbit::nic {

/// The page that `memory` lies in: here, page numbers of the translation unit are those of this process. The node must
/// have mapped what it registers, and must keep it mapped until the page is flushed.
[[nodiscard]] inline PageNumber to_page_number(const void* memory) noexcept {
  return reinterpret_cast<std::uintptr_t>(memory) / kPageBytes;
}
[[nodiscard]] inline std::byte* to_memory(PageNumber page) noexcept {
  return reinterpret_cast<std::byte*>(page * kPageBytes);  // NOLINT(performance-no-int-to-ptr): it was one
}

/// How it went with a piece of memory. Absent: it is being fetched, try again later; nothing happened.
enum class Moved : std::uint8_t { Done, Absent, Refused };

/// Calls `use(memory)` with the first byte of the page, which stays here during the call.
template <class Use>
[[nodiscard]] Moved use_page(const Translation& translation, Access access, const Use& use) noexcept {
  if (!translation.ok) return Moved::Refused;
  if (translation.paged == nullptr) {
    use(to_memory(translation.page));
    return Moved::Done;
  }
  const HeldPage held = translation.paged->hold(translation.page);
  if (held.state != HeldPage::State::Here) {
    return held.state == HeldPage::State::Absent ? Moved::Absent : Moved::Refused;
  }
  use(held.memory);
  translation.paged->release(held, access != Access::Read);
  return Moved::Done;
}

}  // namespace stopbit::nic
