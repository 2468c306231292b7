#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/feed/packet/packet.hpp"

/// The way back: datagrams into frames and capture files.
namespace stopbit::egress {

/// Bytes of Ethernet, IPv4 and UDP headers before a datagram's payload.
inline constexpr std::size_t kFrameHeaderBytes = 14 + 20 + 8;
/// Longest payload whose lengths fit IPv4.
inline constexpr std::size_t kMaxPayloadBytes = 65'535 - 20 - 8;

/// Builds Ethernet frames with an IPv4 UDP datagram to a multicast group. Checksums are right, the identification
/// counts, nothing is fragmented: a payload beyond the usual 1472 bytes makes a jumbo frame.
class FrameBuilder {
 public:
  FrameBuilder(net::Endpoint source, net::Endpoint group) : source_(source), group_(group) {}

  /// Other addresses from here on.
  void set(net::Endpoint source, net::Endpoint group) noexcept {
    source_ = source;
    group_ = group;
  }

  /// `payload` may have kMaxPayloadBytes. The frame is valid until the next call.
  [[nodiscard]] std::span<const std::byte> build(std::span<const std::byte> payload);

 private:
  net::Endpoint source_;
  net::Endpoint group_;
  std::uint16_t identification_ = 0;
  std::vector<std::byte> frame_;
};

}  // namespace stopbit::egress
