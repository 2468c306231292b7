#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// FNV-1a, 64 bits. Not for secrets.
namespace stopbit {

inline constexpr std::uint64_t kFnv1aBegin = 0xCBF29CE484222325U;

/// The hash after one more value: a byte, or a whole word if no other program needs the same hash.
constexpr std::uint64_t fnv1a(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value) * 0x100000001B3U;
}
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = kFnv1aBegin) noexcept {
  for (const char c : text) hash = fnv1a(hash, static_cast<unsigned char>(c));
  return hash;
}
constexpr std::uint64_t fnv1a(std::span<const std::byte> bytes) noexcept {
  std::uint64_t hash = kFnv1aBegin;
  for (const std::byte byte : bytes) hash = fnv1a(hash, static_cast<std::uint64_t>(byte));
  return hash;
}

}  // namespace stopbit
