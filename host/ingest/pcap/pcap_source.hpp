#pragma once

#include <memory>
#include <string>

#include "host/ingest/packet_source.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::ingest {

/// Opens a capture file: pcap or pcapng, micro- or nanoseconds, either byte order, plain or gzip; "-" is standard
/// input.
///
/// libpcap reads it, and sets these bounds: a packet has at most 256 KiB, a pcapng block at most 16 MiB, and all
/// interfaces of a pcapng file must have one link type and one snap length (a file that breaks that is a fault where
/// the other interface is declared). A failure's message begins with the file's name: cannot be opened, no capture, a
/// link type we cannot read.
[[nodiscard]] Result<std::unique_ptr<PacketSource>> open_capture(const std::string& path);

/// The same for an open file, which is taken over and closed. `name` is for messages.
[[nodiscard]] Result<std::unique_ptr<PacketSource>> open_capture(int descriptor, std::string name);

}  // namespace stopbit::ingest
