#pragma once

#include <cstdint>

namespace stopbit::attack {

/// Allocations of this program so far, by whatever function.
[[nodiscard]] std::uint64_t allocations() noexcept;

}  // namespace stopbit::attack
