#include "host/ports/igmp/igmp.hpp"

#include <gtest/gtest.h>

#include "host/feed/packet/byte_order.hpp"
#include "host/feed/packet/checksum.hpp"
#include "tests/lib/frames.hpp"

namespace stopbit::ingest::igmp_test {

using net::testing::be32;
using net::testing::bytes;
using net::testing::ByteVector;
using net::testing::ethernet;
using net::testing::ipv4;
using net::testing::operator+;

constexpr MacAddress kMac = {2, 0, 0, 0, 0, 9};
constexpr std::uint32_t kAddress = 0x0A090002;

Membership from(std::uint32_t group, std::optional<std::uint32_t> source) {
  return {{group, 30'001}, source};
}

/// The group records of a report; everything before them is checked.
ByteVector records_of(const std::vector<std::byte>& frame) {
  EXPECT_EQ(ByteVector(frame.begin(), frame.begin() + 14),
            bytes({0x01, 0x00, 0x5E, 0x00, 0x00, 0x16, 2, 0, 0, 0, 0, 9, 0x08, 0x00}));
  const auto ip = std::span(frame).subspan(14, 24);
  EXPECT_EQ(ip[0], std::byte{0x46});
  EXPECT_EQ(net::load_be<std::uint16_t>(&ip[2]), frame.size() - 14);
  EXPECT_EQ(ip[8], std::byte{1}) << "time to live";
  EXPECT_EQ(ip[9], std::byte{2}) << "IGMP";
  EXPECT_EQ(net::load_be<std::uint32_t>(&ip[12]), kAddress);
  EXPECT_EQ(net::load_be<std::uint32_t>(&ip[16]), 0xE0000016U);
  EXPECT_EQ(net::checksum(net::sum_words(ip)), 0) << "header checksum";
  const auto report = std::span(frame).subspan(38);
  EXPECT_EQ(report[0], std::byte{0x22});
  EXPECT_EQ(net::checksum(net::sum_words(report)), 0) << "report checksum";
  return {report.begin() + 6, report.end()};
}

TEST(Igmp, reports_groups_with_their_sources) {
  const std::vector<Membership> memberships = {from(0xEF010101, 0x0A000001), from(0xEF010102, std::nullopt),
                                               from(0xEF010101, 0x0A000002), from(0xEF010101, 0x0A000001)};
  const auto reports = igmp_reports(GroupReport::Current, memberships, kMac, kAddress);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(records_of(reports[0]), bytes({0, 2}) +  // records
                                        bytes({1, 0, 0, 2}) + be32(0xEF010101) + be32(0x0A000001) + be32(0x0A000002) +
                                        bytes({2, 0, 0, 0}) + be32(0xEF010102));
}

TEST(Igmp, takes_a_group_from_all_sources_if_any_membership_does) {
  const std::vector<Membership> memberships = {from(0xEF010101, 0x0A000001), from(0xEF010101, std::nullopt)};
  const auto reports = igmp_reports(GroupReport::Current, memberships, kMac, kAddress);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(records_of(reports[0]), bytes({0, 1}) + bytes({2, 0, 0, 0}) + be32(0xEF010101));
}

TEST(Igmp, leaves_groups) {
  const std::vector<Membership> memberships = {from(0xEF010101, 0x0A000001), from(0xEF010102, std::nullopt)};
  const auto reports = igmp_reports(GroupReport::Leave, memberships, kMac, kAddress);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(records_of(reports[0]), bytes({0, 2}) + bytes({6, 0, 0, 1}) + be32(0xEF010101) + be32(0x0A000001) +
                                        bytes({3, 0, 0, 0}) + be32(0xEF010102));
}

TEST(Igmp, says_nothing_about_unicast) {
  const std::vector<Membership> memberships = {from(0x0A090002, std::nullopt)};
  EXPECT_TRUE(igmp_reports(GroupReport::Current, memberships, kMac, kAddress).empty());
}

TEST(Igmp, splits_what_does_not_fit_a_packet) {
  std::vector<Membership> memberships;
  for (std::uint32_t i = 0; i < 1'000; ++i) memberships.push_back(from(0xEF010000 + i, 0x0A000001));
  for (std::uint32_t i = 0; i < 1'000; ++i) memberships.push_back(from(0xEF020000, 0x0A000000 + i));
  std::size_t records = 0;
  std::size_t record_bytes = 0;
  for (const auto& frame : igmp_reports(GroupReport::Current, memberships, kMac, kAddress)) {
    EXPECT_LE(frame.size(), 1'514U);
    const ByteVector body = records_of(frame);
    records += net::load_be<std::uint16_t>(body.data());
    record_bytes += body.size() - 2;
  }
  EXPECT_EQ(records, 1'000U + 4) << "300 sources a record";
  EXPECT_EQ(record_bytes, 1'004U * 8 + 2'000 * 4);
}

TEST(Igmp, knows_queries_of_any_frame) {
  const ByteVector query = ethernet(ipv4(bytes({0x11, 100, 0, 0}) + be32(0), {}, 2));
  const ByteVector alerted = ethernet(ipv4(bytes({0x11, 100, 0, 0}) + be32(0), bytes({0x94, 4, 0, 0}), 2));
  EXPECT_TRUE(is_igmp_query(query));
  EXPECT_TRUE(is_igmp_query(alerted));
  EXPECT_FALSE(is_igmp_query(ethernet(ipv4(bytes({0x16, 100, 0, 0}) + be32(0), {}, 2)))) << "a report";
  EXPECT_FALSE(is_igmp_query(ethernet(ipv4(bytes({0x11, 100, 0, 0}) + be32(0), {}, 17)))) << "UDP";
  for (std::size_t size = 0; size < alerted.size(); ++size) {
    const std::vector<std::byte> cut(alerted.begin(), alerted.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(is_igmp_query(cut)) << size;
  }
}

TEST(Igmp, gives_groups_their_ethernet_addresses) {
  EXPECT_EQ(multicast_mac(0xEFFFFFFF), (MacAddress{1, 0, 0x5E, 0x7F, 0xFF, 0xFF}));
  EXPECT_EQ(multicast_mac(0xE0001F01), (MacAddress{1, 0, 0x5E, 0, 0x1F, 1}));
}

}  // namespace stopbit::ingest::igmp_test
