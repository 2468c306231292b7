#pragma once

#include <cstdint>

namespace stopbit {

/// The next number of a sequence that is well mixed and the same on every machine. Each state gives another number,
/// and the sequence comes again after 2^64 of them.
constexpr std::uint64_t splitmix64(std::uint64_t& state) noexcept {
  std::uint64_t mixed = state += 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBU;
  return mixed ^ mixed >> 31;
}

}  // namespace stopbit
