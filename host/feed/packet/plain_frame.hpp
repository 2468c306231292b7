#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/feed/packet/byte_order.hpp"
#include "host/feed/packet/packet.hpp"

namespace stopbit::net {

/// parse_frame for what nearly every frame of a feed is: Ethernet without tags, IPv4 without options, a whole UDP
/// datagram. False: it is something else, parse_frame knows what. True: `datagram` is what parse_frame makes of it.
///
/// Inline, so that the caller's datagram stays in registers: written to memory field by field and read back whole it
/// costs more than the parsing.
[[nodiscard]] inline bool parse_plain_frame(std::span<const std::byte> frame, Datagram& datagram) noexcept {
  constexpr std::size_t kIp = 14;
  constexpr std::size_t kUdp = kIp + 20;
  constexpr std::size_t kPayload = kUdp + 8;
  if (frame.size() < kPayload) return false;
  const std::byte* const ip = frame.data() + kIp;
  const std::byte* const udp = frame.data() + kUdp;
  const bool is_udp = load_be<std::uint16_t>(ip - 2) == 0x0800 && ip[0] == std::byte{0x45} && ip[9] == std::byte{17} &&
                      (load_be<std::uint16_t>(ip + 6) & 0x3FFF) == 0;  // neither more fragments nor an offset
  const std::size_t ip_bytes = load_be<std::uint16_t>(ip + 2);
  const std::size_t udp_bytes = load_be<std::uint16_t>(udp + 4);
  if (!is_udp || ip_bytes > frame.size() - kIp || udp_bytes < kPayload - kUdp || udp_bytes + (kUdp - kIp) > ip_bytes)
    return false;
  datagram.source = {load_be<std::uint32_t>(ip + 12), load_be<std::uint16_t>(udp)};
  datagram.destination = {load_be<std::uint32_t>(ip + 16), load_be<std::uint16_t>(udp + 2)};
  datagram.payload = frame.subspan(kPayload, udp_bytes - (kPayload - kUdp));
  datagram.ignored_bytes = ip_bytes - (kUdp - kIp) - udp_bytes;
  return true;
}

}  // namespace stopbit::net
