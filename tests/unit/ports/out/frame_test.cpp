#include "host/ports/out/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "host/feed/packet/byte_order.hpp"
#include "tests/lib/frames.hpp"

namespace stopbit::egress::frame_test {

using net::testing::bytes;
using net::testing::operator+;
using net::testing::ByteVector;

constexpr net::Endpoint kSource = {0x0A010203, 20'000};
constexpr net::Endpoint kGroup = {0xEFFF1F01, 10'001};
constexpr std::size_t kIpAt = 14;
constexpr std::size_t kUdpAt = 34;

/// The sum of all words, which a right checksum among them makes 0xFFFF (RFC 1071).
std::uint32_t folded_sum(const ByteVector& words) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    sum += std::to_integer<std::uint32_t>(words[i]) << 8;
    if (i + 1 < words.size()) sum += std::to_integer<std::uint32_t>(words[i + 1]);
  }
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum;
}

ByteVector part(std::span<const std::byte> frame, std::size_t at, std::size_t count) {
  const auto piece = frame.subspan(at, count);
  return {piece.begin(), piece.end()};
}

void expect_right_checksums(std::span<const std::byte> frame) {
  EXPECT_EQ(folded_sum(part(frame, kIpAt, 20)), 0xFFFFU);
  const ByteVector udp = part(frame, kUdpAt, frame.size() - kUdpAt);
  const ByteVector pseudo_header = part(frame, kIpAt + 12, 8) + bytes({0, 17}) + net::testing::be16(udp.size());
  EXPECT_EQ(folded_sum(pseudo_header + udp), 0xFFFFU);
}

TEST(Frame, holds_the_datagram_for_the_group) {
  FrameBuilder builder(kSource, kGroup);
  const ByteVector payload = bytes("FAST data");
  const auto frame = builder.build(payload);
  net::Datagram datagram;
  ASSERT_EQ(net::parse_frame(net::LinkType::Ethernet, frame, frame.size(), datagram), net::Verdict::Accepted);
  EXPECT_EQ(datagram.source, kSource);
  EXPECT_EQ(datagram.destination, kGroup);
  EXPECT_EQ(datagram.ignored_bytes, 0U);
  EXPECT_TRUE(std::equal(datagram.payload.begin(), datagram.payload.end(), payload.begin(), payload.end()));
}

TEST(Frame, goes_to_the_mac_address_of_the_group) {
  FrameBuilder builder(kSource, kGroup);
  EXPECT_EQ(part(builder.build({}), 0, 6), bytes({0x01, 0x00, 0x5E, 0x7F, 0x1F, 0x01}));
}

TEST(Frame, has_right_checksums_whatever_its_length) {
  FrameBuilder builder(kSource, kGroup);
  ByteVector payload;
  for (int i = 0; i < 600; ++i) {
    expect_right_checksums(builder.build(payload));
    payload.push_back(static_cast<std::byte>(i * 37));
  }
}

TEST(Frame, never_writes_the_udp_checksum_that_means_none) {
  FrameBuilder builder(kSource, kGroup);
  bool was_all_ones = false;
  for (unsigned i = 0; i < 0x10000; ++i) {
    const ByteVector payload = net::testing::be16(i);
    const auto checksum = net::load_be<std::uint16_t>(&builder.build(payload)[kUdpAt + 6]);
    ASSERT_NE(checksum, 0U);
    was_all_ones = was_all_ones || checksum == 0xFFFF;
  }
  EXPECT_TRUE(was_all_ones);
}

TEST(Frame, of_the_largest_datagram_is_accepted) {
  FrameBuilder builder(kSource, kGroup);
  const ByteVector payload(kMaxPayloadBytes, std::byte{0xA5});
  const auto frame = builder.build(payload);
  net::Datagram datagram;
  ASSERT_EQ(net::parse_frame(net::LinkType::Ethernet, frame, frame.size(), datagram), net::Verdict::Accepted);
  EXPECT_EQ(datagram.payload.size(), kMaxPayloadBytes);
  expect_right_checksums(frame);
}

TEST(Frame, counts_its_identification) {
  FrameBuilder builder(kSource, kGroup);
  const auto first = net::load_be<std::uint16_t>(&builder.build({})[kIpAt + 4]);
  const auto second = net::load_be<std::uint16_t>(&builder.build({})[kIpAt + 4]);
  EXPECT_EQ(second, first + 1);
}

}  // namespace stopbit::egress::frame_test
