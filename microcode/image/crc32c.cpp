#include "microcode/image/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

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

#if defined(__x86_64__)
/// The processor has an instruction for eight bytes of it.
__attribute__((target("sse4.2"))) std::uint32_t with_instruction(std::span<const std::byte> bytes,
                                                                 std::uint32_t so_far) noexcept {
  std::uint64_t crc = ~so_far;
  for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    crc = _mm_crc32_u64(crc, word);
  }
  for (const std::byte b : bytes) crc = _mm_crc32_u8(static_cast<std::uint32_t>(crc), static_cast<std::uint8_t>(b));
  return ~static_cast<std::uint32_t>(crc);
}
bool has_instruction() noexcept {
  return __builtin_cpu_supports("sse4.2") != 0;
}
#else
std::uint32_t with_instruction(std::span<const std::byte>, std::uint32_t) noexcept {
  return 0;
}
bool has_instruction() noexcept {
  return false;
}
#endif
const bool kHasInstruction = has_instruction();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t so_far) noexcept {
  if (kHasInstruction) return with_instruction(bytes, so_far);
  std::uint32_t crc = ~so_far;
  for (const std::byte b : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<std::uint32_t>(b)) & 0xFF];
  return ~crc;
}

}  // namespace stopbit::image
