#pragma once

#include <sys/random.h>

#include <cstdint>

#include "host/os/clock.hpp"

namespace stopbit::os {

/// A word that others cannot predict, for the salt of a hash. Early at boot, when the kernel has no random bytes yet,
/// it comes from the clocks.
[[nodiscard]] inline std::uint64_t random_word() noexcept {
  std::uint64_t word = 0;
  if (::getrandom(&word, sizeof(word), GRND_NONBLOCK) != sizeof(word))
    word = monotonic_clock_ns() ^ wall_clock_ns() << 20;
  return word;
}

}  // namespace stopbit::os
