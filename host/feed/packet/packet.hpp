#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "microcode/base/result.hpp"

/// From a captured frame to the UDP datagram inside, and what framing an exchange puts around FAST messages.
/// Nothing here allocates, waits or keeps state except where a class says so.
namespace stopbit::net {

/// An IPv4 address and a port, in the machine's byte order.
struct Endpoint {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

/// "224.0.31.1:10001". Every number in decimal without leading zeros, port 1 to 65535, nothing around it.
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text);
[[nodiscard]] std::string to_text(Endpoint endpoint);
/// "224.0.31.1"
[[nodiscard]] std::string address_text(std::uint32_t address);

/// Link layer of a frame. The values are our own; link_type_from_dlt translates those of capture files.
enum class LinkType : std::uint8_t {
  Ethernet,   ///< Ethernet II, up to four VLAN tags (802.1Q, 802.1ad, 0x9100, 0x9200).
  LinuxSll,   ///< Linux "cooked" capture, 16 bytes.
  LinuxSll2,  ///< Linux "cooked" capture version 2, 20 bytes.
  RawIp,      ///< The IP header comes first.
  Loopback,   ///< BSD loopback (NULL and LOOP): an address family in either byte order, then IP.
  Unknown,    ///< None that we can read: counts as not IP.
};

/// The link type for libpcap's DLT_ (and the file formats' LINKTYPE_) number; nothing if we cannot read it.
[[nodiscard]] std::optional<LinkType> link_type_from_dlt(int dlt) noexcept;

/// Outcome of a frame; the list with its texts is verdict.def.
enum class Verdict : std::uint8_t {
#define STOPBIT_VERDICT(enumerator, verdict_class, text) enumerator,
#include "host/feed/packet/verdict.def"
#undef STOPBIT_VERDICT
};
enum class VerdictClass : std::uint8_t { Taken, Other, Damaged, Cut };

inline constexpr std::size_t kVerdicts = 0
#define STOPBIT_VERDICT(enumerator, verdict_class, text) +1
#include "host/feed/packet/verdict.def"
#undef STOPBIT_VERDICT
    ;

[[nodiscard]] std::string_view verdict_text(Verdict verdict) noexcept;
[[nodiscard]] VerdictClass verdict_class(Verdict verdict) noexcept;

/// A UDP datagram inside a frame.
struct Datagram {
  std::span<const std::byte>
      payload;  ///< Points into the frame. As long as the UDP length says: no trailer, padding or FCS.
  Endpoint source;
  Endpoint destination;
  std::size_t ignored_bytes = 0;  ///< Bytes of the IPv4 packet after the end given by the UDP length; normally none.
};

/// Finds the UDP datagram in a frame.
///
/// `frame` is what was captured, `original_bytes` what was on the wire (at least frame.size(); less is read as equal).
/// Lengths come from the IPv4 and UDP headers, never from the frame, which may carry trailers, padding and an FCS.
/// `datagram` is set for Accepted. For others its endpoints are set as far as they could be read; a port or address of
/// 0 says that it could not. Checksums are not looked at: captures of a sending host hold unfinished ones, and a
/// receiving card has dropped the bad ones.
[[nodiscard]] Verdict parse_frame(LinkType link, std::span<const std::byte> frame, std::size_t original_bytes,
                                  Datagram& datagram) noexcept;

}  // namespace stopbit::net
