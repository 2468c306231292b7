#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// The parts that several kernels of the index share: what is shorter than a vector.
///
/// A datagram of W to 2W bytes is its first W bytes and its last W bytes; where they overlap they say the same. So no
/// length needs a loop over bytes, and nothing outside is read.
namespace stopbit::wire::kernels {

static_assert(std::endian::native == std::endian::little, "the first byte is the lowest one of a word");

template <class Word>
[[nodiscard]] inline Word load(const std::uint8_t* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

inline void store(std::uint8_t* to, std::uint64_t word) noexcept {
  std::memcpy(to, &word, sizeof(word));
}

/// Bit i: the top bit of byte i. The product moves bit 8i to 56 + i; no two of its other terms meet.
[[nodiscard]] inline std::uint64_t tops(std::uint64_t word) noexcept {
  return ((word >> 7 & 0x0101010101010101U) * 0x0102040810204080U) >> 56;
}

/// Up to 7 bytes, the rest zeros.
[[nodiscard]] inline std::uint64_t load_below_8(const std::uint8_t* from, std::size_t size) noexcept {
  if (size >= 4) {
    return load<std::uint32_t>(from) | static_cast<std::uint64_t>(load<std::uint32_t>(from + size - 4))
                                           << 8 * (size - 4);
  }
  if (size == 0) return 0;
  const std::size_t middle = size / 2;
  const std::size_t last = size - 1;
  return from[0] | static_cast<std::uint64_t>(from[middle]) << 8 * middle |
         static_cast<std::uint64_t>(from[last]) << 8 * last;
}

/// Copies up to 15 bytes; what it stores is in `to`'s first 16. Returns their stop bits.
[[nodiscard]] inline std::uint64_t copy_below_16(const std::uint8_t* from, std::size_t size,
                                                 std::uint8_t* to) noexcept {
  if (size < 8) {
    const std::uint64_t word = load_below_8(from, size);
    store(to, word);
    return tops(word);
  }
  const auto front = load<std::uint64_t>(from);
  const auto back = load<std::uint64_t>(from + size - 8);
  store(to, front);
  store(to + size - 8, back);
  return tops(front) | tops(back) << (size - 8);
}

}  // namespace stopbit::wire::kernels
