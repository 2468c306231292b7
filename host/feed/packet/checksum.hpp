#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/feed/packet/byte_order.hpp"

/// The checksum of IPv4, UDP and IGMP (RFC 1071).
namespace stopbit::net {

/// Sum of 16-bit words, not yet folded; an odd byte is the upper half of a word. Sums add up.
[[nodiscard]] inline std::uint32_t sum_words(std::span<const std::byte> bytes) noexcept {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += load_be<std::uint16_t>(&bytes[i]);
  if (bytes.size() % 2 != 0) sum += std::to_integer<std::uint32_t>(bytes.back()) << 8;
  return sum;
}

[[nodiscard]] constexpr std::uint16_t checksum(std::uint32_t sum) noexcept {
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace stopbit::net
