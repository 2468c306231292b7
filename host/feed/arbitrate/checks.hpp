#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "microcode/base/hash.hpp"

/// How copies of a packet are recognised by their bytes.
namespace stopbit::arbitrate {

/// How the bytes of a packet compare with those of its number in the present run.
enum class Match : std::uint8_t { Unknown, Same, Other };

/// Two copies of a packet have the same one; two packets hardly ever. Never 0.
inline std::uint64_t hash_of(std::span<const std::byte> bytes) noexcept {
  return fnv1a(bytes) | 1;
}

/// Tells copies of a packet from others, but for one in 65,536. Two lanes, so that a long datagram costs a
/// multiplication for 16 bytes.
inline std::uint16_t check_of(std::span<const std::byte> bytes) noexcept {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
  std::uint64_t left = bytes.size();
  std::uint64_t right = kFactor;
  const auto mix = [](std::uint64_t lane, std::uint64_t word) { return std::rotl((lane ^ word) * kFactor, 29); };
  const std::byte* at = bytes.data();
  std::size_t rest = bytes.size();
  for (; rest >= 16; rest -= 16, at += 16) {
    std::uint64_t words[2];
    std::memcpy(words, at, sizeof(words));
    left = mix(left, words[0]);
    right = mix(right, words[1]);
  }
  std::uint64_t words[2] = {};
  if (rest != 0) std::memcpy(words, at, rest);
  const std::uint64_t sum = mix(mix(left, words[0]), right) ^ mix(right, words[1]);
  return static_cast<std::uint16_t>(sum ^ sum >> 16 ^ sum >> 32 ^ sum >> 48);
}

}  // namespace stopbit::arbitrate
