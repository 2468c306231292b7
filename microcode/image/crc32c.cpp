#include "microcode/image/crc32c.hpp"

#include <array>

namespace stopbit::image {
namespace {

constexpr auto kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0x82F63B78U : value >> 1;
    table[i] = value;
  }
  return table;
}();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t so_far) noexcept {
  std::uint32_t crc = ~so_far;
  for (const std::byte b : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<std::uint32_t>(b)) & 0xFF];
  return ~crc;
}

}  // namespace stopbit::image
