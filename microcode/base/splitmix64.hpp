#pragma once

#include <cstdint>

namespace stopbit {

/// Next number of a well-mixed pseudo-random sequence, the same on every machine. The period is 2^64; no number repeats
/// within it.
constexpr std::uint64_t splitmix64(std::uint64_t& state) noexcept {
  std::uint64_t mixed = state += 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBU;
  return mixed ^ mixed >> 31;
}

}  // namespace stopbit
