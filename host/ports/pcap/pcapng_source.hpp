#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "host/ports/byte_stream.hpp"
#include "host/ports/packet_source.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::ingest {

/// How a pcapng file begins.
inline constexpr std::array<std::byte, 4> kPcapngMagic = {std::byte{0x0A}, std::byte{0x0D}, std::byte{0x0D},
                                                          std::byte{0x0A}};

/// Reads pcapng (draft-ietf-opsawg-pcapng): any number of sections of either byte order, interfaces of different link
/// types, snap lengths and time resolutions, enhanced, simple and old packet blocks; other blocks are skipped. libpcap
/// refuses files whose interfaces differ. Bounds: a block has at most 16 MiB, a section 4,096 interfaces.
///
/// `stream` is at its beginning. A failure says why it is no capture, or that none of its interfaces has a link type
/// that we can read; frames of such an interface beside others count as not IP.
[[nodiscard]] Result<std::unique_ptr<PacketSource>> open_pcapng(std::unique_ptr<ByteStream> stream);

}  // namespace stopbit::ingest
