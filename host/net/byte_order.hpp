#pragma once

#include <cstddef>
#include <cstdint>

/// Integers at any address, of either byte order. The caller has checked that the bytes are there.
namespace stopbit::net {

template <class T>
[[nodiscard]] constexpr T load_be(const std::byte* from) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = value << 8 | static_cast<std::uint64_t>(from[i]);
  return static_cast<T>(value);
}

template <class T>
[[nodiscard]] constexpr T load_le(const std::byte* from) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = sizeof(T); i > 0; --i) value = value << 8 | static_cast<std::uint64_t>(from[i - 1]);
  return static_cast<T>(value);
}

template <class T>
constexpr void store_be(std::byte* to, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> 8 * (sizeof(T) - 1 - i) & 0xFF);
}

template <class T>
constexpr void store_le(std::byte* to, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> 8 * i & 0xFF);
}

}  // namespace stopbit::net
