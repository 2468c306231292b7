#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>

#include "host/feed/packet/packet.hpp"

namespace stopbit::dissector {

/// Writes a pcap file of UDP datagrams. The IPv4 identification is the number of the packet, from 1.
class CaptureWriter {
 public:
  /// What an IPv4 packet can carry.
  static constexpr std::size_t kMaxPayloadBytes = 65'507;

  explicit CaptureWriter(const std::filesystem::path& path);

  void add(net::Endpoint group, std::span<const std::byte> payload) { add_cut(group, payload, payload.size()); }
  /// Bytes of the payload that the capture keeps.
  void add_cut(net::Endpoint group, std::span<const std::byte> payload, std::size_t kept);
  [[nodiscard]] std::uint64_t packets() const noexcept { return packets_; }
  void close();

 private:
  std::ofstream file_;
  std::uint64_t packets_ = 0;
};

}  // namespace stopbit::dissector
