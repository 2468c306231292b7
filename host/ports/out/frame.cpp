#include "host/ports/out/frame.hpp"

#include <algorithm>
#include <array>

#include "host/feed/packet/byte_order.hpp"
#include "host/feed/packet/checksum.hpp"

namespace stopbit::egress {
namespace {

constexpr std::size_t kIpAt = 14;
constexpr std::size_t kUdpAt = kIpAt + 20;
constexpr std::uint8_t kUdpProtocol = 17;
constexpr std::uint8_t kTimeToLive = 16;
constexpr std::array<std::uint8_t, 6> kSourceMac = {0x02, 0, 0, 0, 0, 0x01};  // locally administered

}  // namespace

std::span<const std::byte> FrameBuilder::build(std::span<const std::byte> payload) {
  frame_.assign(kFrameHeaderBytes + payload.size(), std::byte{0});
  const auto byte = [this](std::size_t at, std::uint32_t value) { frame_[at] = static_cast<std::byte>(value & 0xFF); };
  const auto put16 = [this](std::size_t at, std::size_t value) {
    net::store_be(&frame_[at], static_cast<std::uint16_t>(value));
  };

  // Ethernet: the group's address in a multicast MAC (RFC 1112).
  byte(0, 0x01);
  byte(1, 0x00);
  byte(2, 0x5E);
  byte(3, group_.address >> 16 & 0x7F);
  byte(4, group_.address >> 8);
  byte(5, group_.address);
  for (std::size_t i = 0; i < kSourceMac.size(); ++i) byte(6 + i, kSourceMac[i]);
  put16(12, 0x0800);

  // IPv4, header of five words, do not fragment.
  byte(kIpAt, 0x45);
  put16(kIpAt + 2, frame_.size() - kIpAt);
  put16(kIpAt + 4, identification_++);
  put16(kIpAt + 6, 0x4000);
  byte(kIpAt + 8, kTimeToLive);
  byte(kIpAt + 9, kUdpProtocol);
  net::store_be(&frame_[kIpAt + 12], source_.address);
  net::store_be(&frame_[kIpAt + 16], group_.address);
  put16(kIpAt + 10, net::checksum(net::sum_words(std::span(frame_).subspan(kIpAt, kUdpAt - kIpAt))));

  // UDP; its checksum covers the addresses, the protocol and the length, too, and 0 would mean that there is none.
  const std::size_t udp_bytes = frame_.size() - kUdpAt;
  put16(kUdpAt, source_.port);
  put16(kUdpAt + 2, group_.port);
  put16(kUdpAt + 4, udp_bytes);
  std::copy(payload.begin(), payload.end(), frame_.begin() + kFrameHeaderBytes);
  const std::uint32_t pseudo_header =
      net::sum_words(std::span(frame_).subspan(kIpAt + 12, 8)) + kUdpProtocol + static_cast<std::uint32_t>(udp_bytes);
  const std::uint16_t udp_checksum = net::checksum(pseudo_header + net::sum_words(std::span(frame_).subspan(kUdpAt)));
  put16(kUdpAt + 6, udp_checksum == 0 ? 0xFFFF : udp_checksum);
  return frame_;
}

}  // namespace stopbit::egress
