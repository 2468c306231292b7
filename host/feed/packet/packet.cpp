#include "host/feed/packet/packet.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "host/feed/packet/byte_order.hpp"

namespace stopbit::net {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint16_t kEtherIpv4 = 0x0800;
constexpr std::uint16_t kEtherIpv6 = 0x86DD;
constexpr std::size_t kMaxVlanTags = 4;
constexpr std::size_t kMinIpv4Header = 20;
constexpr std::size_t kUdpHeader = 8;
constexpr std::uint8_t kProtocolUdp = 17;

constexpr bool is_vlan(std::uint16_t ether_type) {
  return ether_type == 0x8100 || ether_type == 0x88A8 || ether_type == 0x9100 || ether_type == 0x9200;
}

/// AF_INET6 differs by system: OpenBSD and NetBSD 24, FreeBSD 28, macOS 30, Linux 10.
constexpr bool is_ipv6_family(std::uint32_t family) {
  return family == 24 || family == 28 || family == 30 || family == 10;
}

/// The captured part of the IP packet and how much more of it was on the wire.
struct IpPacket {
  Bytes bytes;
  std::size_t missing = 0;

  /// The frame ends inside a header: damage, unless the capture cut it there.
  [[nodiscard]] Verdict too_short(Verdict verdict) const { return missing != 0 ? Verdict::SnapCut : verdict; }
};

Verdict parse_ipv4(IpPacket ip, Datagram& datagram) noexcept {
  const Bytes bytes = ip.bytes;
  if (bytes.empty()) return ip.too_short(Verdict::IpHeaderShort);
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  if (first >> 4 != 4) return first >> 4 == 6 ? Verdict::Ipv6 : Verdict::IpVersionBad;
  if (bytes.size() < kMinIpv4Header) return ip.too_short(Verdict::IpHeaderShort);
  const std::size_t header_bytes = (first & 0xFU) * 4U;
  if (header_bytes < kMinIpv4Header) return Verdict::IpHeaderLengthBad;
  datagram.source.address = load_be<std::uint32_t>(&bytes[12]);
  datagram.destination.address = load_be<std::uint32_t>(&bytes[16]);
  const std::size_t total_bytes = load_be<std::uint16_t>(&bytes[2]);
  if (total_bytes < header_bytes || total_bytes > bytes.size() + ip.missing) return Verdict::IpTotalLengthBad;
  if (static_cast<std::uint8_t>(bytes[9]) != kProtocolUdp) return Verdict::NotUdp;
  if ((load_be<std::uint16_t>(&bytes[6]) & 0x3FFF) != 0) return Verdict::Fragment;  // more fragments, or an offset
  if (total_bytes - header_bytes < kUdpHeader) return Verdict::UdpHeaderShort;
  if (bytes.size() < header_bytes + kUdpHeader) return Verdict::SnapCut;

  const std::byte* udp = &bytes[header_bytes];
  datagram.source.port = load_be<std::uint16_t>(udp);
  datagram.destination.port = load_be<std::uint16_t>(udp + 2);
  const std::size_t udp_bytes = load_be<std::uint16_t>(udp + 4);
  if (udp_bytes < kUdpHeader || udp_bytes > total_bytes - header_bytes) return Verdict::UdpLengthBad;
  if (header_bytes + udp_bytes > bytes.size()) return Verdict::SnapCut;
  datagram.payload = bytes.subspan(header_bytes + kUdpHeader, udp_bytes - kUdpHeader);
  datagram.ignored_bytes = total_bytes - header_bytes - udp_bytes;
  return Verdict::Accepted;
}

/// `at` is the position of the EtherType; its payload follows at once, or is at `body` if that is given.
Verdict parse_ether_type(Bytes frame, std::size_t missing, std::size_t at, std::size_t body,
                         Datagram& datagram) noexcept {
  const IpPacket whole{frame, missing};
  if (frame.size() < at + 2) return whole.too_short(Verdict::LinkHeaderShort);
  std::uint16_t ether_type = load_be<std::uint16_t>(&frame[at]);
  for (std::size_t tags = 0; is_vlan(ether_type); ++tags) {
    if (tags == kMaxVlanTags) return Verdict::TooManyVlanTags;
    if (frame.size() < body + 4) return whole.too_short(Verdict::LinkHeaderShort);
    ether_type = load_be<std::uint16_t>(&frame[body + 2]);
    body += 4;
  }
  if (ether_type == kEtherIpv6) return Verdict::Ipv6;
  if (ether_type != kEtherIpv4) return Verdict::NotIp;
  if (frame.size() < body) return whole.too_short(Verdict::LinkHeaderShort);
  return parse_ipv4({frame.subspan(body), missing}, datagram);
}

Verdict parse_loopback(Bytes frame, std::size_t missing, Datagram& datagram) noexcept {
  if (frame.size() < 4) return IpPacket{frame, missing}.too_short(Verdict::LinkHeaderShort);
  // LOOP is big-endian, NULL has the byte order of the capturing machine; a family is a small number in one of them.
  const std::uint32_t family = std::min(load_be<std::uint32_t>(frame.data()), load_le<std::uint32_t>(frame.data()));
  if (is_ipv6_family(family)) return Verdict::Ipv6;
  if (family != 2) return Verdict::NotIp;
  return parse_ipv4({frame.subspan(4), missing}, datagram);
}

constexpr std::array<std::string_view, kVerdicts> kTexts = {
#define STOPBIT_VERDICT(enumerator, verdict_class, text) text,
#include "host/feed/packet/verdict.def"
#undef STOPBIT_VERDICT
};

constexpr std::array<VerdictClass, kVerdicts> kClasses = {
#define STOPBIT_VERDICT(enumerator, verdict_class, text) VerdictClass::verdict_class,
#include "host/feed/packet/verdict.def"
#undef STOPBIT_VERDICT
};

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  const Failure failure{"'" + std::string(text) + "' is not an IPv4 address and a port, like 224.0.31.1:10001"};
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::uint32_t max) -> std::optional<std::uint32_t> {
    std::uint32_t value = 0;
    const char* const begin = at;
    const auto [rest, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || value > max || (*begin == '0' && rest != begin + 1)) return std::nullopt;
    at = rest;
    return value;
  };

  Endpoint endpoint;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto part = number(255);
    if (!part || at == end || *at != (i < 3 ? '.' : ':')) return failure;
    ++at;
    endpoint.address = endpoint.address << 8 | *part;
  }
  const auto port = number(65535);
  const bool has_digits = std::all_of(at, end, [](char c) { return c >= '0' && c <= '9'; });
  if (!port && at != end && has_digits && *at != '0') {
    return Failure{"'" + std::string(text) + "': the port " + std::string(at, end) + " is not from 1 to 65535"};
  }
  if (!port || *port == 0 || at != end) return failure;
  endpoint.port = static_cast<std::uint16_t>(*port);
  return endpoint;
}

std::string address_text(std::uint32_t address) {
  std::string text = std::to_string(address >> 24);
  for (int shift = 16; shift >= 0; shift -= 8) text += '.' + std::to_string(address >> shift & 0xFF);
  return text;
}

std::string to_text(Endpoint endpoint) {
  return address_text(endpoint.address) + ':' + std::to_string(endpoint.port);
}

std::optional<LinkType> link_type_from_dlt(int dlt) noexcept {
  switch (dlt) {
    case 0:    // NULL
    case 108:  // LOOP
      return LinkType::Loopback;
    case 1: return LinkType::Ethernet;
    case 12:   // DLT_RAW on Linux
    case 14:   // DLT_RAW on OpenBSD
    case 101:  // LINKTYPE_RAW
    case 228:  // IPv4 only
      return LinkType::RawIp;
    case 113: return LinkType::LinuxSll;
    case 276: return LinkType::LinuxSll2;
    default: return std::nullopt;
  }
}

std::string_view verdict_text(Verdict verdict) noexcept {
  const auto index = static_cast<std::size_t>(verdict);
  return index < kVerdicts ? kTexts[index] : std::string_view();
}

VerdictClass verdict_class(Verdict verdict) noexcept {
  const auto index = static_cast<std::size_t>(verdict);
  return index < kVerdicts ? kClasses[index] : VerdictClass::Damaged;
}

Verdict parse_frame(LinkType link, Bytes frame, std::size_t original_bytes, Datagram& datagram) noexcept {
  const std::size_t missing = original_bytes > frame.size() ? original_bytes - frame.size() : 0;
  datagram = {};
  switch (link) {
    case LinkType::Ethernet: return parse_ether_type(frame, missing, 12, 14, datagram);
    case LinkType::LinuxSll: return parse_ether_type(frame, missing, 14, 16, datagram);
    case LinkType::LinuxSll2: return parse_ether_type(frame, missing, 0, 20, datagram);
    case LinkType::RawIp: return parse_ipv4({frame, missing}, datagram);
    case LinkType::Loopback: return parse_loopback(frame, missing, datagram);
    case LinkType::Unknown: break;
  }
  return Verdict::NotIp;
}

}  // namespace stopbit::net
