#include "host/ports/igmp/igmp.hpp"

#include <algorithm>

#include "host/feed/packet/byte_order.hpp"
#include "host/feed/packet/checksum.hpp"

namespace stopbit::ingest {
namespace {

constexpr std::uint32_t kAllRouters = 0xE0000002;    // 224.0.0.2
constexpr std::uint32_t kAllRoutersV3 = 0xE0000016;  // 224.0.0.22: all that understand IGMPv3
constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kIpBytes = 24;  ///< With the router alert option.
constexpr std::size_t kMessageAt = kEthernetBytes + kIpBytes;
constexpr std::size_t kReportBytes = 8;
constexpr std::size_t kRecordBytes = 8;  ///< And four per source.
constexpr std::size_t kMaxIpPacket = 1500;
constexpr std::size_t kMaxSources = 300;  ///< Of a record; so it fits a packet.
constexpr std::byte kIgmp{2};
constexpr std::byte kQuery{0x11};

enum class RecordType : std::uint8_t {
  IsInclude = 1,
  IsExclude = 2,
  ToInclude = 3,
  ToExclude = 4,
  AllowSources = 5,
  BlockSources = 6,
};

/// A group and its sources; none means all.
struct Record {
  std::uint32_t group = 0;
  std::vector<std::uint32_t> sources;

  [[nodiscard]] std::size_t bytes() const { return kRecordBytes + 4 * sources.size(); }
};

std::vector<Record> to_records(std::span<const Membership> memberships) {
  std::vector<Record> records;
  for (const Membership& membership : memberships) {
    const std::uint32_t group = membership.group.address;
    if (group >> 28 != 0xE) continue;
    const bool from_any = std::any_of(memberships.begin(), memberships.end(), [group](const Membership& other) {
      return other.group.address == group && !other.source;
    });
    const auto known =
        std::find_if(records.rbegin(), records.rend(), [group](const Record& record) { return record.group == group; });
    if (from_any) {
      if (known == records.rend()) records.push_back({group, {}});
      continue;
    }
    if (known == records.rend() || known->sources.size() == kMaxSources) {
      records.push_back({group, {*membership.source}});
    } else if (std::find(known->sources.begin(), known->sources.end(), *membership.source) == known->sources.end()) {
      known->sources.push_back(*membership.source);
    }
  }
  return records;
}

RecordType type_of(GroupReport what, const Record& record) {
  const bool from_any = record.sources.empty();
  if (what == GroupReport::Leave) return from_any ? RecordType::ToInclude : RecordType::BlockSources;
  if (what == GroupReport::Join) return from_any ? RecordType::ToExclude : RecordType::AllowSources;
  return from_any ? RecordType::IsExclude : RecordType::IsInclude;
}

/// A frame with a message of IGMP, which is left empty after its type.
std::vector<std::byte> make_frame(std::uint8_t type, std::size_t body_bytes, std::uint32_t to, const MacAddress& mac,
                                  std::uint32_t address) {
  std::vector<std::byte> frame(kEthernetBytes + kIpBytes + body_bytes);
  const auto put8 = [&](std::size_t at, std::uint8_t value) { frame[at] = std::byte{value}; };
  const auto put16 = [&](std::size_t at, std::size_t value) {
    net::store_be(&frame[at], static_cast<std::uint16_t>(value));
  };
  const auto put32 = [&](std::size_t at, std::uint32_t value) { net::store_be(&frame[at], value); };

  const MacAddress to_mac = multicast_mac(to);
  for (std::size_t i = 0; i < mac.size(); ++i) {
    put8(i, to_mac[i]);
    put8(6 + i, mac[i]);
  }
  put16(12, 0x0800);

  const std::size_t ip = kEthernetBytes;
  put8(ip, 0x46);
  put8(ip + 1, 0xC0);  // internetwork control
  put16(ip + 2, kIpBytes + body_bytes);
  put16(ip + 6, 0x4000);
  put8(ip + 8, 1);  // never beyond the next router
  frame[ip + 9] = kIgmp;
  put32(ip + 12, address);
  put32(ip + 16, to);
  put32(ip + 20, 0x94040000);  // router alert (RFC 2113)
  put16(ip + 10, net::checksum(net::sum_words(std::span(frame).subspan(ip, kIpBytes))));
  put8(kMessageAt, type);
  return frame;
}

void put_checksum(std::vector<std::byte>& frame) {
  net::store_be(&frame[kMessageAt + 2], net::checksum(net::sum_words(std::span(frame).subspan(kMessageAt))));
}

std::vector<std::byte> build(GroupReport what, std::span<const Record> records, const MacAddress& mac,
                             std::uint32_t address) {
  std::size_t body_bytes = kReportBytes;
  for (const Record& record : records) body_bytes += record.bytes();
  std::vector<std::byte> frame = make_frame(0x22, body_bytes, kAllRoutersV3, mac, address);
  net::store_be(&frame[kMessageAt + 6], static_cast<std::uint16_t>(records.size()));
  std::size_t at = kMessageAt + kReportBytes;
  for (const Record& record : records) {
    frame[at] = static_cast<std::byte>(type_of(what, record));
    net::store_be(&frame[at + 2], static_cast<std::uint16_t>(record.sources.size()));
    net::store_be(&frame[at + 4], record.group);
    at += kRecordBytes;
    for (const std::uint32_t source : record.sources) {
      net::store_be(&frame[at], source);
      at += 4;
    }
  }
  put_checksum(frame);
  return frame;
}

}  // namespace

std::vector<std::byte> igmp_v2_report(GroupReport what, std::uint32_t group, const MacAddress& mac,
                                      std::uint32_t address) {
  constexpr std::size_t kV2Bytes = 8;
  const bool leaves = what == GroupReport::Leave;
  std::vector<std::byte> frame = make_frame(leaves ? 0x17 : 0x16, kV2Bytes, leaves ? kAllRouters : group, mac, address);
  net::store_be(&frame[kMessageAt + 4], group);
  put_checksum(frame);
  return frame;
}

std::vector<std::vector<std::byte>> igmp_reports(GroupReport what, std::span<const Membership> memberships,
                                                 const MacAddress& mac, std::uint32_t address) {
  const std::vector<Record> records = to_records(memberships);
  std::vector<std::vector<std::byte>> frames;
  for (std::size_t begin = 0; begin < records.size();) {
    std::size_t end = begin;
    std::size_t bytes = kIpBytes + kReportBytes;
    while (end < records.size() && bytes + records[end].bytes() <= kMaxIpPacket) bytes += records[end++].bytes();
    frames.push_back(build(what, std::span(records).subspan(begin, end - begin), mac, address));
    begin = end;
  }
  return frames;
}

bool is_igmp_query(std::span<const std::byte> frame) noexcept {
  if (frame.size() < kEthernetBytes + 20 || net::load_be<std::uint16_t>(&frame[12]) != 0x0800) return false;
  const auto packet = frame.subspan(kEthernetBytes);
  const std::size_t header_bytes = std::to_integer<std::size_t>(packet[0] & std::byte{0x0F}) * 4;
  return (packet[0] >> 4) == std::byte{4} && header_bytes >= 20 && packet[9] == kIgmp &&
         packet.size() >= header_bytes + 8 && packet[header_bytes] == kQuery;
}

MacAddress multicast_mac(std::uint32_t group) noexcept {
  return {0x01,
          0x00,
          0x5E,
          static_cast<std::uint8_t>(group >> 16 & 0x7F),
          static_cast<std::uint8_t>(group >> 8 & 0xFF),
          static_cast<std::uint8_t>(group & 0xFF)};
}

}  // namespace stopbit::ingest
