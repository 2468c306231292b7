#pragma once

#include <cstdint>

namespace stopbit {

inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

}  // namespace stopbit
