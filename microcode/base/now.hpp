#pragma once

#include <cstdint>

namespace stopbit {

/// Both clocks, read at about the same time, ns. Ages and deadlines are by the monotonic one; the wall clock, since
/// 1970, is for records, logs and people, as it may be stepped.
struct Now {
  std::uint64_t wall_ns = 0;
  std::uint64_t monotonic_ns = 0;
};

}  // namespace stopbit
