#pragma once

#include <cstdint>

#include "host/feed/framing/framing.hpp"

namespace stopbit::sim {

/// stopbit_front_pkg::framing_t.
inline std::uint64_t framing_bits(const net::Framing& framing) {
  const auto field = [](net::PreambleField from) -> std::uint64_t {
    return std::uint64_t{from.big_endian} << 10 | std::uint64_t{from.bytes} << 6 | (from.offset & 0x3F);
  };
  return static_cast<std::uint64_t>(framing.kind) << 33 | std::uint64_t{framing.skip & 0x7FF} << 22 |
         field(framing.sequence) << 11 | field(framing.length);
}

}  // namespace stopbit::sim
