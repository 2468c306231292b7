#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

/// Builds capture files in memory, byte by byte.
namespace stopbit::ingest::testing {

/// An open file in memory that holds `content`; the caller or the function it is passed to closes it.
inline int memory_file(std::string_view content) {
  const int descriptor = ::memfd_create("capture", MFD_CLOEXEC);
  if (descriptor < 0) throw std::runtime_error("memfd_create");
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = ::write(descriptor, content.data() + done, content.size() - done);
    if (count <= 0) throw std::runtime_error("write");
    done += static_cast<std::size_t>(count);
  }
  ::lseek(descriptor, 0, SEEK_SET);
  return descriptor;
}

inline std::string gzip(std::string_view content) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(result.size() - stream.avail_out);
  deflateEnd(&stream);
  return result;
}

inline std::string zstd(std::string_view content) {
  std::string result(ZSTD_compressBound(content.size()), '\0');
  result.resize(ZSTD_compress(result.data(), result.size(), content.data(), content.size(), 3));
  return result;
}

/// An integer in the byte order of the file.
template <class T>
std::string integer(T value, bool big_endian = false) {
  std::string text;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    const std::size_t shift = 8 * (big_endian ? sizeof(T) - 1 - i : i);
    text += static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xFF);
  }
  return text;
}
inline std::string u16(std::size_t value, bool big_endian = false) {
  return integer(static_cast<std::uint16_t>(value), big_endian);
}
inline std::string u32(std::size_t value, bool big_endian = false) {
  return integer(static_cast<std::uint32_t>(value), big_endian);
}

struct PcapFormat {
  bool nanoseconds = true;
  bool big_endian = false;
  std::size_t link_type = 1;
  std::size_t snap_length = 65535;
};

inline std::string pcap_header(PcapFormat format = {}) {
  const bool big = format.big_endian;
  return u32(format.nanoseconds ? 0xA1B23C4D : 0xA1B2C3D4, big) + u16(2, big) + u16(4, big) + u32(0, big) +
         u32(0, big) + u32(format.snap_length, big) + u32(format.link_type, big);
}

inline std::string pcap_record(std::size_t seconds, std::size_t fraction, std::string_view frame,
                               std::size_t original_bytes = 0, bool big_endian = false) {
  return u32(seconds, big_endian) + u32(fraction, big_endian) + u32(frame.size(), big_endian) +
         u32(original_bytes == 0 ? frame.size() : original_bytes, big_endian) + std::string(frame);
}

/// A pcapng block around its body.
inline std::string block(std::size_t type, std::string body) {
  body.resize((body.size() + 3) / 4 * 4);
  return u32(type) + u32(body.size() + 12) + body + u32(body.size() + 12);
}
inline std::string section_block() {
  return block(0x0A0D0D0A, u32(0x1A2B3C4D) + u16(1) + u16(0) + integer<std::uint64_t>(~0ULL));
}
/// `resolution` is the exponent of if_tsresol: 6 = microseconds, 9 = nanoseconds.
inline std::string interface_block(std::size_t link_type = 1, std::size_t resolution = 9,
                                   std::size_t snap_length = 65535) {
  return block(1, u16(link_type) + u16(0) + u32(snap_length) + u16(9) + u16(1) + u32(resolution) + u32(0));
}
inline std::string packet_block(std::size_t interface, std::uint64_t time, std::string_view frame,
                                std::size_t original_bytes = 0) {
  return block(6, u32(interface) + u32(time >> 32) + u32(time) + u32(frame.size()) +
                      u32(original_bytes == 0 ? frame.size() : original_bytes) + std::string(frame));
}

}  // namespace stopbit::ingest::testing
