#include "host/ports/igmp/station.hpp"

#include <algorithm>
#include <cstring>

#include "host/feed/packet/byte_order.hpp"
#include "host/feed/packet/checksum.hpp"

namespace stopbit::ingest {
namespace {

constexpr std::size_t kLinkBytes = 14;
constexpr std::uint16_t kIpv4Type = 0x0800;
constexpr std::uint16_t kArpType = 0x0806;
constexpr std::uint32_t kAllHosts = 0xE0000001;  // 224.0.0.1
constexpr std::size_t kLeastIpBytes = 20;
constexpr std::size_t kVersion2Bytes = 8;
constexpr std::size_t kVersion3Bytes = 12;  // and four per source
constexpr std::uint64_t kTenthNs = 100'000'000;
constexpr std::uint64_t kSecondNs = 1'000'000'000;
// Defaults of RFC 2236, 8 and RFC 3376, 8.
constexpr std::uint64_t kVersion1MostNs = 10 * kSecondNs;
constexpr std::uint64_t kQueryIntervalNs = 125 * kSecondNs;
constexpr std::uint64_t kJoinIntervalNs = kSecondNs;       ///< Between repeated reports, at most: version 3,
constexpr std::uint64_t kVersion2JoinNs = 10 * kSecondNs;  ///< and 2.
constexpr unsigned kMostRobustness = 7;

std::uint8_t byte_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}

MacAddress mac_at(std::span<const std::byte> bytes, std::size_t at) {
  MacAddress mac{};
  for (std::size_t i = 0; i < mac.size(); ++i) mac[i] = byte_at(bytes, at + i);
  return mac;
}

bool is_group(const MacAddress& mac) {
  return (mac[0] & 1) != 0;
}

bool is_zero(const MacAddress& mac) {
  return mac == MacAddress{};
}

/// RFC 3376, 4.1.1.
std::uint64_t version_3_time(std::uint8_t code) {
  if (code < 128) return code * kTenthNs;
  return (((std::uint64_t{code} & 0x0F) | 0x10) << ((code >> 4 & 7) + 3)) * kTenthNs;
}

std::optional<GroupQuery> parse_query(std::span<const std::byte> packet, const StationAddress& own) {
  if (packet.size() < kLeastIpBytes) return std::nullopt;
  const std::size_t header_bytes = (byte_at(packet, 0) & 0x0FU) * 4;
  const std::size_t total = net::load_be<std::uint16_t>(&packet[2]);
  if (byte_at(packet, 0) >> 4 != 4 || header_bytes < kLeastIpBytes || total > packet.size() ||
      total < header_bytes + kVersion2Bytes) {
    return std::nullopt;
  }
  const std::uint16_t fragment = net::load_be<std::uint16_t>(&packet[6]);
  const std::uint32_t to = net::load_be<std::uint32_t>(&packet[16]);
  if (byte_at(packet, 9) != 2 || byte_at(packet, 8) != 1 || (fragment & 0x3FFF) != 0 ||
      net::checksum(net::sum_words(packet.first(header_bytes))) != 0) {
    return std::nullopt;
  }
  const auto message = packet.subspan(header_bytes, total - header_bytes);
  if (byte_at(message, 0) != 0x11 || net::checksum(net::sum_words(message)) != 0) return std::nullopt;
  GroupQuery query;
  query.group = net::load_be<std::uint32_t>(&message[4]);
  const bool is_for_us = to == kAllHosts || (own.address != 0 && to == own.address);
  if (query.group == 0 ? !is_for_us : query.group >> 28 != 0xE || !(is_for_us || to == query.group)) {
    return std::nullopt;
  }
  const std::uint8_t code = byte_at(message, 1);
  if (message.size() == kVersion2Bytes) {
    query.most_ns = code == 0 ? kVersion1MostNs : code * kTenthNs;
    return query;
  }
  if (message.size() < kVersion3Bytes) return std::nullopt;
  const std::size_t sources = net::load_be<std::uint16_t>(&message[10]);
  if (message.size() < kVersion3Bytes + 4 * sources || (query.group == 0 && sources != 0)) return std::nullopt;
  query.version = 3;
  query.most_ns = version_3_time(code);
  query.robustness = byte_at(message, 8) & 7;
  query.sources = message.subspan(kVersion3Bytes, 4 * sources);
  return query;
}

/// RFC 826.
std::optional<ArpRequest> parse_request(std::span<const std::byte> packet, const StationAddress& own) {
  constexpr std::size_t kBytes = kArpBytes - kLinkBytes;
  if (packet.size() < kBytes || own.address == 0) return std::nullopt;
  if (net::load_be<std::uint16_t>(&packet[0]) != 1 || net::load_be<std::uint16_t>(&packet[2]) != kIpv4Type ||
      byte_at(packet, 4) != 6 || byte_at(packet, 5) != 4 || net::load_be<std::uint16_t>(&packet[6]) != 1 ||
      net::load_be<std::uint32_t>(&packet[24]) != own.address) {
    return std::nullopt;
  }
  const ArpRequest request{.mac = mac_at(packet, 8), .address = net::load_be<std::uint32_t>(&packet[14])};
  // What says that it has our address is no question.
  if (is_group(request.mac) || is_zero(request.mac) || request.address == own.address) return std::nullopt;
  return request;
}

}  // namespace

std::optional<MacAddress> parse_mac(std::string_view text) noexcept {
  constexpr std::size_t kBytes = 17;
  if (text.size() != kBytes) return std::nullopt;
  MacAddress mac{};
  for (std::size_t i = 0; i < kBytes; ++i) {
    const char c = text[i];
    if (i % 3 == 2) {
      if (c != ':') return std::nullopt;
      continue;
    }
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    mac[i / 3] = static_cast<std::uint8_t>(mac[i / 3] << 4 | digit);
  }
  if (is_group(mac) || is_zero(mac)) return std::nullopt;
  return mac;
}

StationFrame parse_station_frame(std::span<const std::byte> frame, const StationAddress& own) noexcept {
  StationFrame out;
  if (frame.size() < kLinkBytes) return out;
  const std::uint16_t type = net::load_be<std::uint16_t>(&frame[12]);
  if (type == kIpv4Type) out.query = parse_query(frame.subspan(kLinkBytes), own);
  if (type == kArpType) out.request = parse_request(frame.subspan(kLinkBytes), own);
  return out;
}

std::array<std::byte, kArpBytes> arp_reply(const ArpRequest& to, const StationAddress& own) noexcept {
  std::array<std::byte, kArpBytes> frame{};
  const auto put_mac = [&](std::size_t at, const MacAddress& mac) {
    std::transform(mac.begin(), mac.end(), &frame[at], [](std::uint8_t byte) { return std::byte{byte}; });
  };
  put_mac(0, to.mac);
  put_mac(6, own.mac);
  net::store_be(&frame[12], kArpType);
  net::store_be(&frame[14], std::uint16_t{1});
  net::store_be(&frame[16], kIpv4Type);
  net::store_be(&frame[18], std::uint16_t{0x0604});  // bytes of the addresses
  net::store_be(&frame[20], std::uint16_t{2});
  put_mac(22, own.mac);
  net::store_be(&frame[28], own.address);
  put_mac(32, to.mac);
  net::store_be(&frame[38], to.address);
  return frame;
}

Station::Station(std::span<const Membership> memberships, const StationAddress& own, std::mt19937_64 random)
    : own_(own), random_(random) {
  for (const Membership& membership : memberships) {
    const std::uint32_t address = membership.group.address;
    if (address >> 28 != 0xE) continue;
    const auto is_known = [address](const Group& group) { return group.address == address; };
    if (std::any_of(groups_.begin(), groups_.end(), is_known)) continue;
    Group& group = groups_.emplace_back();
    group.address = address;
    std::vector<Membership> of_group;
    bool is_from_any = false;
    for (const Membership& other : memberships) {
      if (other.group.address != address) continue;
      of_group.push_back(other);
      is_from_any = is_from_any || !other.source;
      if (other.source) group.sources.push_back(*other.source);
    }
    if (is_from_any) group.sources.clear();
    group.reports = igmp_reports(GroupReport::Current, of_group, own.mac, own.address);
    version_2_reports_.push_back(igmp_v2_report(GroupReport::Current, address, own.mac, own.address));
    version_2_leaves_.push_back(igmp_v2_report(GroupReport::Leave, address, own.mac, own.address));
  }
  joins_ = igmp_reports(GroupReport::Join, memberships, own.mac, own.address);
  reports_ = igmp_reports(GroupReport::Current, memberships, own.mac, own.address);
  leaves_ = igmp_reports(GroupReport::Leave, memberships, own.mac, own.address);
}

void Station::join(std::uint64_t now_ns) noexcept {
  state_ = State::Joined;
  bursts_left_ = robustness_;
  next_join_ns_ = now_ns;
  next_repeat_ns_ = now_ns + kRepeatNs;
}

void Station::leave(std::uint64_t now_ns) noexcept {
  if (state_ != State::Joined) return;
  state_ = State::Leaving;
  bursts_left_ = robustness_;
  next_frame_ns_ = now_ns;
  burst_at_ = burst_end_ = 0;
  request_.reset();
}

void Station::take(std::span<const std::byte> frame, std::uint64_t now_ns) noexcept {
  const StationFrame parsed = parse_station_frame(frame, own_);
  if (parsed.query) {
    ++counts_.queries;
    if (state_ == State::Joined) take_query(*parsed.query, now_ns);
  } else if (parsed.request) {
    ++counts_.requests;
    if (state_ == State::Leaving) return;
    request_ = parsed.request;
    plan(reply_, 0, now_ns);
  } else {
    ++counts_.refused;
  }
}

void Station::take_query(const GroupQuery& query, std::uint64_t now_ns) noexcept {
  if (query.version == 2 && query.group == 0) {
    version_2_until_ns_ = now_ns + robustness_ * kQueryIntervalNs + query.most_ns;
  }
  if (query.robustness != 0) robustness_ = std::min<unsigned>(query.robustness, kMostRobustness);
  if (query.group == 0 && !is_version_2(now_ns)) return plan(all_, query.most_ns, now_ns);
  for (Group& group : groups_) {
    if (query.group == 0 || wants(group, query)) plan(group.answer, query.most_ns, now_ns);
  }
}

/// An answer that is due earlier serves this query as well.
void Station::plan(Answer& answer, std::uint64_t most_ns, std::uint64_t now_ns) noexcept {
  std::uint64_t due = now_ns + random_below(most_ns);
  if (answer.was_given) due = std::max(due, answer.last_ns + kLeastGapNs);
  answer.due_ns = std::min(answer.due_ns, due);
}

bool Station::wants(const Group& group, const GroupQuery& query) noexcept {
  if (group.address != query.group) return false;
  if (group.sources.empty() || query.sources.empty()) return true;
  for (std::size_t at = 0; at < query.sources.size(); at += 4) {
    const std::uint32_t source = net::load_be<std::uint32_t>(&query.sources[at]);
    if (std::find(group.sources.begin(), group.sources.end(), source) != group.sources.end()) return true;
  }
  return false;
}

bool Station::is_due(Answer& answer, std::uint64_t now_ns) noexcept {
  if (now_ns < answer.due_ns) return false;
  answer = {.due_ns = kNever, .last_ns = now_ns, .was_given = true};
  return true;
}

void Station::begin_burst(const Frames& frames) noexcept {
  burst_ = &frames;
  burst_at_ = 0;
  burst_end_ = frames.size();
}

void Station::begin_what_is_due(std::uint64_t now_ns) noexcept {
  const bool is_2 = is_version_2(now_ns);
  if (state_ == State::Leaving) {
    if (bursts_left_ == 0) return;
    --bursts_left_;
    return begin_burst(is_2 ? version_2_leaves_ : leaves_);
  }
  if (state_ != State::Joined) return;
  if (bursts_left_ != 0 && now_ns >= next_join_ns_) {
    --bursts_left_;
    next_join_ns_ = now_ns + 1 + random_below(is_2 ? kVersion2JoinNs : kJoinIntervalNs);
    return begin_burst(is_2 ? version_2_reports_ : joins_);
  }
  if (now_ns >= next_repeat_ns_) {
    next_repeat_ns_ = now_ns + kRepeatNs;
    return begin_burst(is_2 ? version_2_reports_ : reports_);
  }
  if (is_due(all_, now_ns)) return begin_burst(is_2 ? version_2_reports_ : reports_);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::size_t at = (turn_ + i) % groups_.size();
    if (!is_due(groups_[at].answer, now_ns)) continue;
    turn_ = at + 1;
    begin_burst(is_2 ? version_2_reports_ : groups_[at].reports);
    if (!is_2) return;
    burst_at_ = at;
    burst_end_ = at + 1;
    return;
  }
}

std::span<const std::byte> Station::sent(std::span<const std::byte> frame, std::uint64_t& count,
                                         std::uint64_t now_ns) noexcept {
  ++count;
  next_frame_ns_ = state_ == State::Leaving ? now_ns : now_ns + kPaceNs;
  return frame;
}

std::span<const std::byte> Station::next(std::uint64_t now_ns) noexcept {
  if (now_ns < next_frame_ns_) return {};
  if (request_ && is_due(reply_, now_ns)) {
    reply_frame_ = arp_reply(*request_, own_);
    request_.reset();
    return sent(reply_frame_, counts_.replies, now_ns);
  }
  if (burst_at_ == burst_end_) begin_what_is_due(now_ns);
  if (burst_at_ == burst_end_) return {};
  return sent((*burst_)[burst_at_++], counts_.reports, now_ns);
}

}  // namespace stopbit::ingest
