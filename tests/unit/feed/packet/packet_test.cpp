#include "host/feed/packet/packet.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>

#include "host/feed/packet/plain_frame.hpp"
#include "tests/lib/frames.hpp"

namespace stopbit::net::packet_test {

using testing::be16;
using testing::be32;
using testing::bytes;
using testing::ByteVector;
using testing::ethernet;
using testing::ipv4;
using testing::udp;
using testing::operator+;

const ByteVector kPayload = bytes("market data");

/// Parses a copy on the heap that ends where the frame ends, so that AddressSanitizer sees every byte read too far.
Verdict parse(LinkType link, const ByteVector& frame, Datagram* out = nullptr, std::size_t original_bytes = 0) {
  const std::unique_ptr<std::byte[]> exact(new std::byte[frame.size()]);
  std::copy(frame.begin(), frame.end(), exact.get());
  Datagram datagram;
  const Verdict verdict =
      parse_frame(link, {exact.get(), frame.size()}, std::max(original_bytes, frame.size()), datagram);
  if (verdict == Verdict::Accepted) {
    EXPECT_GE(datagram.payload.data(), exact.get());
    EXPECT_LE(datagram.payload.data() + datagram.payload.size(), exact.get() + frame.size());
  }
  if (Datagram plain;
      link == LinkType::Ethernet && parse_plain_frame({exact.get(), frame.size()}, plain)) {  // the short way
    EXPECT_EQ(verdict, Verdict::Accepted);
    EXPECT_EQ(plain.payload.data(), datagram.payload.data());
    EXPECT_EQ(plain.payload.size(), datagram.payload.size());
    EXPECT_EQ(plain.source, datagram.source);
    EXPECT_EQ(plain.destination, datagram.destination);
    EXPECT_EQ(plain.ignored_bytes, datagram.ignored_bytes);
  }
  if (out != nullptr) {
    const std::size_t offset =
        datagram.payload.empty() ? 0 : static_cast<std::size_t>(datagram.payload.data() - exact.get());
    *out = datagram;
    out->payload = std::span(frame).subspan(offset, datagram.payload.size());
  }
  return verdict;
}

void expect_payload(LinkType link, const ByteVector& frame) {
  Datagram datagram;
  ASSERT_EQ(parse(link, frame, &datagram), Verdict::Accepted);
  EXPECT_EQ(ByteVector(datagram.payload.begin(), datagram.payload.end()), kPayload);
  EXPECT_EQ(to_text(datagram.destination), "224.0.31.1:10001");
  EXPECT_EQ(to_text(datagram.source), "10.1.2.3:20000");
}

TEST(ParseFrame, finds_the_payload_behind_every_link_header) {
  const ByteVector ip = ipv4(udp(kPayload));
  expect_payload(LinkType::Ethernet, ethernet(ip));
  expect_payload(LinkType::LinuxSll, be16(0) + be16(1) + be16(6) + be32(0) + be32(0) + be16(0x0800) + ip);
  expect_payload(LinkType::LinuxSll2,
                 be16(0x0800) + be16(0) + be32(3) + be16(1) + bytes({0, 6}) + be32(0) + be32(0) + ip);
  expect_payload(LinkType::RawIp, ip);
  expect_payload(LinkType::Loopback, bytes({2, 0, 0, 0}) + ip);
  expect_payload(LinkType::Loopback, bytes({0, 0, 0, 2}) + ip);
}

TEST(ParseFrame, takes_the_short_way_with_plain_frames_only) {
  Datagram datagram;
  EXPECT_TRUE(parse_plain_frame(ethernet(ipv4(udp(kPayload))), datagram));
  EXPECT_TRUE(parse_plain_frame(ethernet(ipv4(udp(kPayload))) + bytes("FCS"), datagram));
  EXPECT_FALSE(parse_plain_frame(ethernet(ipv4(udp(kPayload), bytes({1, 1, 1, 1}))), datagram));
  EXPECT_FALSE(parse_plain_frame(ethernet(ipv4(udp(kPayload)), be16(0x8100) + be16(1) + be16(0x0800)), datagram));
}

TEST(ParseFrame, takes_up_to_four_vlan_tags) {
  const ByteVector ip = ipv4(udp(kPayload));
  ByteVector tags;
  for (const std::size_t type : {0x88A8UL, 0x8100UL, 0x9100UL, 0x9200UL}) {
    tags = tags + be16(type) + be16(0x2064);
    expect_payload(LinkType::Ethernet, ethernet(ip, tags + be16(0x0800)));
  }
  const ByteVector five = tags + be16(0x8100) + be16(1) + be16(0x0800);
  EXPECT_EQ(parse(LinkType::Ethernet, ethernet(ip, five)), Verdict::TooManyVlanTags);
  EXPECT_EQ(parse(LinkType::Ethernet, ethernet({}, be16(0x8100) + be16(1))), Verdict::LinkHeaderShort);
}

TEST(ParseFrame, skips_ip_options) {
  expect_payload(LinkType::RawIp, ipv4(udp(kPayload), bytes({0x94, 4, 0, 0})));
  expect_payload(LinkType::RawIp, ipv4(udp(kPayload), ByteVector(40, std::byte{1})));
}

TEST(ParseFrame, ignores_trailers_padding_and_frame_check_sequence) {
  expect_payload(LinkType::Ethernet, ethernet(ipv4(udp(kPayload))) + bytes("switch time stamp and FCS"));
  Datagram datagram;
  const ByteVector padded_ip = ipv4(udp(kPayload) + bytes("padding"));
  expect_payload(LinkType::RawIp, padded_ip);
  ASSERT_EQ(parse(LinkType::RawIp, padded_ip, &datagram), Verdict::Accepted);
  EXPECT_EQ(datagram.ignored_bytes, 7U);
}

TEST(ParseFrame, accepts_an_empty_datagram) {
  Datagram datagram;
  ASSERT_EQ(parse(LinkType::RawIp, ipv4(udp({})), &datagram), Verdict::Accepted);
  EXPECT_TRUE(datagram.payload.empty());
}

TEST(ParseFrame, tells_other_traffic_from_damage) {
  EXPECT_EQ(parse(LinkType::Ethernet, ethernet(bytes("arp"), be16(0x0806))), Verdict::NotIp);
  EXPECT_EQ(parse(LinkType::Ethernet, ethernet(bytes("llc"), be16(100))), Verdict::NotIp);
  EXPECT_EQ(parse(LinkType::Ethernet, ethernet(bytes("6"), be16(0x86DD))), Verdict::Ipv6);
  EXPECT_EQ(parse(LinkType::RawIp, bytes({0x60, 0, 0, 0})), Verdict::Ipv6);
  EXPECT_EQ(parse(LinkType::Loopback, bytes({30, 0, 0, 0, 0x60})), Verdict::Ipv6);
  EXPECT_EQ(parse(LinkType::Loopback, bytes({7, 0, 0, 0, 0x60})), Verdict::NotIp);
  EXPECT_EQ(parse(LinkType::RawIp, ipv4(udp(kPayload), {}, 6)), Verdict::NotUdp);
  EXPECT_EQ(parse(LinkType::RawIp, bytes({0x50, 0, 0, 0})), Verdict::IpVersionBad);
}

TEST(ParseFrame, refuses_fragments) {
  EXPECT_EQ(parse(LinkType::RawIp, ipv4(udp(kPayload), {}, 17, 0x2000)), Verdict::Fragment);
  EXPECT_EQ(parse(LinkType::RawIp, ipv4(udp(kPayload), {}, 17, 0x0001)), Verdict::Fragment);
}

TEST(ParseFrame, refuses_lengths_that_cannot_be) {
  const ByteVector good = ipv4(udp(kPayload));
  const auto spoiled = [&](std::size_t at, std::size_t value) {
    ByteVector frame = good;
    frame[at] = static_cast<std::byte>(value >> 8);
    frame[at + 1] = static_cast<std::byte>(value);
    return parse(LinkType::RawIp, frame);
  };
  constexpr std::size_t kTotalLength = 2;
  constexpr std::size_t kUdpLength = 24;
  EXPECT_EQ(spoiled(kTotalLength, 0), Verdict::IpTotalLengthBad);
  EXPECT_EQ(spoiled(kTotalLength, 19), Verdict::IpTotalLengthBad);
  EXPECT_EQ(spoiled(kTotalLength, 20), Verdict::UdpHeaderShort);
  EXPECT_EQ(spoiled(kTotalLength, 27), Verdict::UdpHeaderShort);
  EXPECT_EQ(spoiled(kTotalLength, 28), Verdict::UdpLengthBad);
  EXPECT_EQ(spoiled(kTotalLength, good.size() + 1), Verdict::IpTotalLengthBad);
  EXPECT_EQ(spoiled(kTotalLength, 0xFFFF), Verdict::IpTotalLengthBad);
  EXPECT_EQ(spoiled(kUdpLength, 0), Verdict::UdpLengthBad);
  EXPECT_EQ(spoiled(kUdpLength, 7), Verdict::UdpLengthBad);
  EXPECT_EQ(spoiled(kUdpLength, 8 + kPayload.size() + 1), Verdict::UdpLengthBad);
  EXPECT_EQ(spoiled(kUdpLength, 8 + kPayload.size() - 1), Verdict::Accepted);
  ByteVector short_header = good;
  short_header[0] = std::byte{0x44};
  EXPECT_EQ(parse(LinkType::RawIp, short_header), Verdict::IpHeaderLengthBad);
}

TEST(ParseFrame, never_accepts_a_cut_frame_and_calls_a_snap_cut_by_its_name) {
  for (const ByteVector& tags : {ByteVector(), be16(0x8100) + be16(5)}) {
    const ByteVector frame = ethernet(ipv4(udp(kPayload), bytes({1, 1, 1, 1})), tags + be16(0x0800));
    for (std::size_t size = 0; size < frame.size(); ++size) {
      const ByteVector cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(parse(LinkType::Ethernet, cut, nullptr, frame.size()), Verdict::SnapCut) << size;
      EXPECT_EQ(verdict_class(parse(LinkType::Ethernet, cut)), VerdictClass::Damaged) << size;
    }
  }
}

TEST(ParseFrame, a_snap_length_that_cuts_only_the_trailer_does_no_harm) {
  const ByteVector frame = ethernet(ipv4(udp(kPayload)));
  Datagram datagram;
  EXPECT_EQ(parse(LinkType::Ethernet, frame, &datagram, frame.size() + 4), Verdict::Accepted);
}

TEST(ParseFrame, names_the_group_of_a_snap_cut_datagram) {
  ByteVector frame = ethernet(ipv4(udp(kPayload)));
  const std::size_t original = frame.size();
  frame.pop_back();
  Datagram datagram;
  ASSERT_EQ(parse(LinkType::Ethernet, frame, &datagram, original), Verdict::SnapCut);
  EXPECT_EQ(to_text(datagram.destination), "224.0.31.1:10001");
  frame.resize(30);
  ASSERT_EQ(parse(LinkType::Ethernet, frame, &datagram, original), Verdict::SnapCut);
  EXPECT_EQ(datagram.destination.port, 0);
}

TEST(ParseFrame, survives_any_bytes) {
  std::mt19937 random(1);
  const ByteVector good = ethernet(ipv4(udp(kPayload)), be16(0x8100) + be16(5) + be16(0x0800));
  std::array<int, kVerdicts> seen{};
  for (int i = 0; i < 200'000; ++i) {
    ByteVector frame = good;
    frame.resize(random() % (good.size() + 4));
    for (std::size_t flips = random() % 6; flips > 0 && !frame.empty(); --flips) {
      frame[random() % frame.size()] = static_cast<std::byte>(random());
    }
    const auto link = static_cast<LinkType>(random() % 5);
    ++seen.at(static_cast<std::size_t>(parse(link, frame, nullptr, frame.size() + random() % 3)));
  }
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    const auto verdict = static_cast<Verdict>(i);
    if (verdict == Verdict::TooManyVlanTags) continue;  // more than chance puts one after another
    EXPECT_GT(seen[i], 0) << verdict_text(verdict);
  }
}

TEST(Verdict, has_a_text_and_a_class_for_every_value) {
  for (std::size_t i = 0; i < kVerdicts; ++i) EXPECT_FALSE(verdict_text(static_cast<Verdict>(i)).empty());
  EXPECT_EQ(verdict_class(Verdict::Accepted), VerdictClass::Taken);
  EXPECT_EQ(verdict_class(Verdict::SnapCut), VerdictClass::Cut);
  EXPECT_TRUE(verdict_text(static_cast<Verdict>(kVerdicts)).empty());
}

TEST(Endpoint, reads_an_address_and_a_port) {
  const auto endpoint = parse_endpoint("239.195.1.29:16029");
  ASSERT_TRUE(endpoint.ok());
  EXPECT_EQ(endpoint.value().address, 0xEFC3011DU);
  EXPECT_EQ(endpoint.value().port, 16029);
  EXPECT_EQ(to_text(endpoint.value()), "239.195.1.29:16029");
  EXPECT_TRUE(parse_endpoint("0.0.0.0:65535").ok());
}

TEST(Endpoint, refuses_everything_else) {
  for (const char* text : {"", ":", "1.2.3.4", "1.2.3.4:", "1.2.3.4:0", "1.2.3.4:65536", "1.2.3:5", "1.2.3.4.5:6",
                           "256.1.1.1:1", "01.2.3.4:5", "1.2.3.4:05", " 1.2.3.4:5", "1.2.3.4:5 ", "1.2.3.4:+5",
                           "-1.2.3.4:5", "a.b.c.d:e", "1.2.3.4:5:6", "1..3.4:5", "4294967297.1.1.1:1"}) {
    EXPECT_FALSE(parse_endpoint(text).ok()) << text;
  }
}

TEST(LinkType, knows_the_usual_numbers) {
  EXPECT_EQ(link_type_from_dlt(1), LinkType::Ethernet);
  EXPECT_EQ(link_type_from_dlt(113), LinkType::LinuxSll);
  EXPECT_EQ(link_type_from_dlt(276), LinkType::LinuxSll2);
  EXPECT_EQ(link_type_from_dlt(0), LinkType::Loopback);
  EXPECT_EQ(link_type_from_dlt(12), LinkType::RawIp);
  EXPECT_EQ(link_type_from_dlt(127), std::nullopt);
}

}  // namespace stopbit::net::packet_test
