#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/feed/packet/byte_order.hpp"
#include "host/feed/packet/checksum.hpp"
#include "host/ports/igmp/igmp.hpp"
#include "tests/lib/frames.hpp"

/// Frames of queriers, and of those who ask by ARP, and what is in the answers.
namespace stopbit::test {

using net::testing::ByteVector;

struct QueryFrame {
  std::uint32_t group = 0;  ///< 0: about all.
  std::uint8_t code = 100;  ///< Of the time within which answers come.
  bool is_version_3 = false;
  std::uint8_t robustness = 2;
  std::vector<std::uint32_t> sources = {};
  std::uint32_t from = 0x0A000001;
  std::uint32_t to = 0;  ///< 0: the group, or 224.0.0.1.
  std::uint8_t time_to_live = 1;
  std::uint16_t fragment = 0;
  bool has_router_alert = true;
};

/// As on the wire, FCS apart: at least 60 bytes.
[[nodiscard]] inline ByteVector query_frame(const QueryFrame& query) {
  using namespace net::testing;
  ByteVector message = bytes({0x11, query.code, 0, 0}) + be32(query.group);
  if (query.is_version_3) {
    message = message + bytes({query.robustness, 125}) + be16(query.sources.size());
    for (const std::uint32_t source : query.sources) message = message + be32(source);
  }
  net::store_be(&message[2], net::checksum(net::sum_words(message)));
  const std::uint32_t to = query.to != 0 ? query.to : query.group != 0 ? query.group : 0xE0000001;
  const std::size_t header_bytes = query.has_router_alert ? 24 : 20;
  ByteVector ip = bytes({static_cast<int>(0x40 + header_bytes / 4), 0xC0}) + be16(header_bytes + message.size()) +
                  be16(0) + be16(query.fragment) + bytes({query.time_to_live, 2}) + be16(0) + be32(query.from) +
                  be32(to);
  if (query.has_router_alert) ip = ip + be32(0x94040000);
  net::store_be(&ip[10], net::checksum(net::sum_words(ip)));
  ByteVector frame;
  for (const std::uint8_t byte : ingest::multicast_mac(to)) frame.push_back(std::byte{byte});
  frame = frame + bytes({2, 0, 0, 0, 0, 1}) + be16(0x0800) + ip + message;
  if (frame.size() < 60) frame.resize(60);
  return frame;
}

/// A request for the Ethernet address of `wanted`.
[[nodiscard]] inline ByteVector arp_request(std::uint32_t wanted, std::uint32_t from = 0x0A000001) {
  using namespace net::testing;
  ByteVector frame = bytes({255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1}) + be16(0x0806) + be16(1) + be16(0x0800) +
                     bytes({6, 4}) + be16(1) + bytes({2, 0, 0, 0, 0, 1}) + be32(from) + bytes({0, 0, 0, 0, 0, 0}) +
                     be32(wanted);
  frame.resize(60);
  return frame;
}

/// A group in a report or a leave; of version 2, with its message's type as `type`.
struct Reported {
  std::uint8_t type = 0;  ///< Of the record; of version 2, of the message.
  std::uint32_t group = 0;
  std::vector<std::uint32_t> sources = {};
  friend bool operator==(const Reported&, const Reported&) = default;
};

/// The groups of a frame with a message of IGMP; empty if it is none that a switch would read.
[[nodiscard]] inline std::vector<Reported> reported(std::span<const std::byte> frame) {
  std::vector<Reported> out;
  constexpr std::size_t kIp = 14;
  if (frame.size() < kIp + 28 || net::load_be<std::uint16_t>(&frame[12]) != 0x0800) return out;
  const std::size_t header = (std::to_integer<std::size_t>(frame[kIp]) & 0xF) * 4;
  const std::size_t total = net::load_be<std::uint16_t>(&frame[kIp + 2]);
  if (frame[kIp + 9] != std::byte{2} || frame[kIp + 8] != std::byte{1} || kIp + total > frame.size() ||
      total < header + 8 || net::checksum(net::sum_words(frame.subspan(kIp, header))) != 0) {
    return out;
  }
  const auto message = frame.subspan(kIp + header, total - header);
  if (net::checksum(net::sum_words(message)) != 0) return out;
  const auto type = std::to_integer<std::uint8_t>(message[0]);
  if (type == 0x16 || type == 0x17) {
    out.push_back({type, net::load_be<std::uint32_t>(&message[4]), {}});
  } else if (type == 0x22) {
    std::size_t at = 8;
    for (unsigned records = net::load_be<std::uint16_t>(&message[6]); records > 0; --records) {
      Reported record{std::to_integer<std::uint8_t>(message[at]), net::load_be<std::uint32_t>(&message[at + 4]), {}};
      const std::size_t sources = net::load_be<std::uint16_t>(&message[at + 2]);
      at += 8;
      for (std::size_t i = 0; i < sources; ++i, at += 4) {
        record.sources.push_back(net::load_be<std::uint32_t>(&message[at]));
      }
      out.push_back(std::move(record));
    }
  }
  return out;
}

}  // namespace stopbit::test
