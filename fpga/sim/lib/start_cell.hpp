#pragma once

#include <cstddef>
#include <cstdint>

/// The first cell of a packet, as switch and network ports see it (fpga/rtl/pkg/stopbit_link_pkg.sv).
namespace stopbit::sim {

inline constexpr std::size_t kClasses = 4;
inline constexpr std::size_t kVcs = 3;
inline constexpr std::size_t kChannels = kClasses * kVcs;
inline constexpr std::size_t kMaxPayload = 32;

/// CRC-16 of a start cell, bit by bit as the page says.
inline std::uint64_t start_crc(std::uint64_t data) {
  std::uint16_t crc = 0xFFFF;
  for (int bit = 47; bit >= 0; --bit) {
    const bool turn = ((crc >> 15) ^ (data >> bit)) & 1;
    crc = static_cast<std::uint16_t>(crc << 1);
    if (turn) crc = static_cast<std::uint16_t>(crc ^ 0x1021);
  }
  return crc;
}
inline std::uint64_t with_crc(std::uint64_t data) {
  data &= 0xFFFF'FFFF'FFFF;
  return data | start_crc(data) << 48;
}

struct Start {
  std::uint64_t vpid = 0;
  std::uint64_t node = 0;
  std::uint64_t unit = 0;
  std::uint64_t traffic_class = 0;
  std::uint64_t vc = 0;
  bool is_multicast = false;
  std::uint64_t marker = 0;  ///< The lowest eight bits count hops.

  [[nodiscard]] std::uint64_t data() const {
    return with_crc(vpid << 38 | node << 22 | unit << 19 | traffic_class << 17 | vc << 15 |
                    std::uint64_t{is_multicast} << 14 | marker);
  }
  [[nodiscard]] std::size_t channel() const { return traffic_class * kVcs + vc; }
  [[nodiscard]] static Start of(std::uint64_t data) {
    return {data >> 38 & 0x3FF, data >> 22 & 0xFFFF,   data >> 19 & 7, data >> 17 & 3,
            data >> 15 & 3,     (data >> 14 & 1) != 0, data & 0x3FFF};
  }
};

}  // namespace stopbit::sim
