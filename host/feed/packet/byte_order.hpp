#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Integers at any address, of either byte order. The caller must have checked the length.
namespace stopbit::net {

/// The other byte order of an unsigned integer.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T swap_bytes(T value) noexcept {
  if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else if constexpr (sizeof(T) == 8) {
    return __builtin_bswap64(value);
  } else {
    return value;
  }
}

// Through memcpy, not byte by byte: of shifts, compilers make one load for 16 bits, but many for 32 and 64.

template <std::unsigned_integral T>
[[nodiscard]] T load_le(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return std::endian::native == std::endian::little ? value : swap_bytes(value);
}

template <std::unsigned_integral T>
[[nodiscard]] T load_be(const std::byte* from) noexcept {
  return swap_bytes(load_le<T>(from));
}

template <std::unsigned_integral T>
void store_le(std::byte* to, T value) noexcept {
  if constexpr (std::endian::native != std::endian::little) value = swap_bytes(value);
  std::memcpy(to, &value, sizeof(T));
}

template <std::unsigned_integral T>
void store_be(std::byte* to, T value) noexcept {
  store_le(to, swap_bytes(value));
}

}  // namespace stopbit::net
