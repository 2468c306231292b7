#include "tests/system/dissector/capture_writer.hpp"

#include <stdexcept>
#include <string>

namespace stopbit::dissector {
namespace {

std::string little(std::uint32_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 0xFF);
  return out;
}

std::string big(std::uint32_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> 8 * i & 0xFF);
  return out;
}

}  // namespace

CaptureWriter::CaptureWriter(const std::filesystem::path& path) : file_(path, std::ios::binary) {
  file_ << little(0xA1B2'3C4D, 4) << little(2, 2) << little(4, 2) << little(0, 4) << little(0, 4) << little(65'535, 4)
        << little(1, 4);
}

void CaptureWriter::add_cut(net::Endpoint group, std::span<const std::byte> payload, std::size_t kept) {
  if (payload.size() > kMaxPayloadBytes) throw std::runtime_error("the datagram is too long for a packet");
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  const std::string ethernet = std::string("\x01\x00\x5e\x00\x00\x01\x02\x00\x00\x00\x00\x01", 12) + big(0x0800, 2);
  const auto identification = static_cast<std::uint32_t>((packets_ + 1) & 0xFFFF);
  const std::string ip = big(0x4500, 2) + big(bytes + 28, 2) + big(identification, 2) + big(0, 2) + big(0x1011, 2) +
                         big(0, 2) + big(0x0A00'0001, 4) + big(group.address, 4);
  const std::string udp = big(30'000, 2) + big(group.port, 2) + big(bytes + 8, 2) + big(0, 2);
  const auto frame_bytes = static_cast<std::uint32_t>(ethernet.size() + ip.size() + udp.size() + bytes);
  const auto captured_bytes = static_cast<std::uint32_t>(frame_bytes - bytes + kept);
  ++packets_;
  file_ << little(static_cast<std::uint32_t>(packets_), 4) << little(0, 4) << little(captured_bytes, 4)
        << little(frame_bytes, 4) << ethernet << ip << udp;
  file_.write(reinterpret_cast<const char*>(payload.data()), static_cast<std::streamsize>(kept));
}

void CaptureWriter::close() {
  file_.close();
  if (!file_) throw std::runtime_error("the capture cannot be written");
}

}  // namespace stopbit::dissector
