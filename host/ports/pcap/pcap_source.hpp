#pragma once

#include <memory>
#include <string>

#include "host/ports/packet_source.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::ingest {

/// Opens a capture file: pcap or pcapng, micro- or nanoseconds, either byte order, plain, gzip or zstd; "-" is standard
/// input.
///
/// pcap is read by libpcap, where a packet has at most 256 KiB; pcapng by open_pcapng. A failure's message begins with
/// the file's name: cannot be opened, no capture, a link type we cannot read.
[[nodiscard]] Result<std::unique_ptr<PacketSource>> open_capture(const std::string& path);

/// The same for an open file, which is taken over and closed. `name` is for messages.
[[nodiscard]] Result<std::unique_ptr<PacketSource>> open_capture(int descriptor, std::string name);

}  // namespace stopbit::ingest
