#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/nic/names.hpp"

namespace stopbit::nic {

/// Datagrams of the carrier udp (doc/nic-protocols.md): a head, a frame of Links, and, if sealed, a tag. Little-endian.
inline constexpr std::uint16_t kUdpMagic = 0x5553;  // "SU"
inline constexpr std::uint8_t kUdpVersion = 1;
inline constexpr std::uint8_t kUdpSealed = 1;  ///< In `flags`.
inline constexpr std::size_t kUdpTagBytes = 16;

struct UdpHead {
  std::uint16_t magic = kUdpMagic;
  std::uint8_t version = kUdpVersion;
  std::uint8_t flags = 0;
  NodeId from = 0;
  NodeId to = 0;
  std::uint32_t session = 0;   ///< Of the sender's membership; never 0.
  std::uint32_t epoch = 0;     ///< Of the key; 0 if it is not sealed.
  std::uint64_t sequence = 0;  ///< Counts the datagrams under one key, from 1; 0 if it is not sealed.
};
static_assert(sizeof(UdpHead) == 24);
/// Of a datagram, besides its frame.
inline constexpr std::size_t kUdpExtraBytes = sizeof(UdpHead) + kUdpTagBytes;

enum class UdpFault : std::uint8_t { None, Malformed, Version };

struct UdpRead {
  UdpFault fault = UdpFault::Malformed;
  UdpHead head;
  std::span<std::byte> body;  ///< After the head: the frame, and its tag if it is sealed.
};
/// Looks at the form only: nothing of it is to be believed yet.
[[nodiscard]] UdpRead read_datagram(std::span<std::byte> datagram) noexcept;

}  // namespace stopbit::nic
