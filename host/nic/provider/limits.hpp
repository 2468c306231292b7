#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "host/nic/link/links.hpp"
#include "host/nic/provider/wire.hpp"

/// Sizes that depend on the carrier.
namespace stopbit::nic::provider {

/// What travels in one packet, at most. A message of 8 KiB in one frame saves two system calls and a wait, for a second
/// copy of so little.
inline constexpr std::size_t kMostEager = 8192;
inline constexpr std::size_t kInject = 1024;
inline constexpr std::size_t kHeadBytes = sizeof(Head) + sizeof(RemoteBody);
inline constexpr std::size_t kMemoryFrameBytes = kMostEager + kHeadBytes + kLinkBytes;
/// An inject fits into a packet.
inline constexpr std::size_t kLeastFrameBytes = 1200;
inline constexpr std::size_t kMostFrameBytes = 65'000;
static_assert(kLeastFrameBytes >= kInject + kHeadBytes + kLinkBytes);

/// Bytes of a message, a write, a read that travel with their head. `packet_bytes`: of the links.
[[nodiscard]] constexpr std::size_t eager_bytes(std::size_t packet_bytes) noexcept {
  const std::size_t room = packet_bytes - kHeadBytes;
  return room < kMostEager ? room : kMostEager;
}
/// Of one atomic operation: operands and values to compare with travel together.
[[nodiscard]] constexpr std::size_t atomic_bytes(std::size_t packet_bytes) noexcept {
  constexpr std::size_t kMost = 2048;
  const std::size_t half = eager_bytes(packet_bytes) / 2;
  return half < kMost ? half : kMost;
}

[[nodiscard]] inline std::uint64_t hash_of(const std::string& text) noexcept {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3U;
  return hash;
}

}  // namespace stopbit::nic::provider
