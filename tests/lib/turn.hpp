#pragma once

#include <cstdint>

#include "microcode/base/now.hpp"

namespace stopbit::testing {

/// Time passes on both clocks.
inline const Now& turn(Now& now, std::uint64_t ns) {
  now.wall_ns += ns;
  now.monotonic_ns += ns;
  return now;
}

}  // namespace stopbit::testing
