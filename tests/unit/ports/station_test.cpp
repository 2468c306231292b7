#include "host/ports/igmp/station.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/lib/igmp_frames.hpp"

namespace stopbit::ingest::station_test {

using test::ByteVector;
using test::query_frame;
using test::QueryFrame;
using test::Reported;
using test::reported;

constexpr StationAddress kOwn{.mac = {2, 0, 0, 0, 0, 9}, .address = 0x0A090002};
constexpr std::uint32_t kOne = 0xEF010101;
constexpr std::uint32_t kTwo = 0xEF010102;
constexpr std::uint32_t kSender = 0x0A000005;
constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1'000 * kMs;

std::vector<Membership> memberships() {
  return {{{kOne, 30'001}, kSender}, {{kTwo, 30'002}, std::nullopt}, {{kTwo, 30'003}, std::nullopt}};
}

/// A station at a clock that the test turns.
class Bench {
 public:
  explicit Bench(std::uint64_t seed = 1, std::vector<Membership> of = memberships())
      : station(of, kOwn, std::mt19937_64(seed)) {}

  Station station;
  std::uint64_t now = 5 * kSecond;

  struct Sent {
    std::uint64_t at = 0;
    ByteVector frame;
  };
  /// What is sent within a time, looked at each 10 ms, as a card does.
  std::vector<Sent> run(std::uint64_t ns) {
    std::vector<Sent> out;
    for (const std::uint64_t end = now + ns; now < end; now += 10 * kMs) {
      const auto frame = station.next(now);
      if (!frame.empty()) out.push_back({now, ByteVector(frame.begin(), frame.end())});
    }
    return out;
  }
  void take(const ByteVector& frame) { station.take(frame, now); }
  /// Joined, and its first reports are out.
  void join() {
    station.join(now);
    (void)run(30 * kSecond);
  }
};

std::vector<Reported> all_of(const std::vector<Bench::Sent>& sent) {
  std::vector<Reported> out;
  for (const auto& one : sent) {
    for (Reported& group : reported(one.frame)) out.push_back(std::move(group));
  }
  return out;
}

const std::vector<Reported> kJoins = {{5, kOne, {kSender}}, {4, kTwo, {}}};
const std::vector<Reported> kCurrent = {{1, kOne, {kSender}}, {2, kTwo, {}}};

TEST(Station, joins_with_as_many_reports_as_the_protocol_repeats_and_then_once_a_minute) {
  Bench bench;
  EXPECT_TRUE(bench.run(kSecond).empty()) << "nothing before it joins";
  bench.station.join(bench.now);
  const auto first = bench.run(20 * kMs);
  EXPECT_EQ(all_of(first), kJoins);
  const auto second = bench.run(2 * kSecond);
  EXPECT_EQ(all_of(second), kJoins);
  EXPECT_TRUE(bench.run(50 * kSecond).empty());
  EXPECT_EQ(all_of(bench.run(10 * kSecond)), kCurrent);
  EXPECT_EQ(all_of(bench.run(120 * kSecond)).size(), 4U);
}

TEST(Station, answers_a_query_about_all_groups_once_within_its_time_and_not_at_once) {
  std::uint64_t earliest = ~std::uint64_t{0};
  std::uint64_t latest = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Bench bench(seed);
    bench.join();
    const std::uint64_t asked = bench.now;
    bench.take(query_frame({.code = 50, .is_version_3 = true}));
    bench.take(query_frame({.code = 50, .is_version_3 = true, .has_router_alert = false}));
    const auto sent = bench.run(6 * kSecond);
    ASSERT_EQ(all_of(sent), kCurrent);
    earliest = std::min(earliest, sent[0].at - asked);
    latest = std::max(latest, sent[0].at - asked);
    EXPECT_FALSE(bench.station.is_version_2(bench.now));
  }
  EXPECT_LT(earliest, kSecond / 2);
  EXPECT_GT(latest, 4 * kSecond);
  EXPECT_LE(latest, 5 * kSecond);
}

TEST(Station, gives_the_same_delays_for_the_same_random_numbers) {
  std::vector<std::uint64_t> times[2];
  for (auto& of : times) {
    Bench bench(7);
    bench.join();
    for (int i = 0; i < 5; ++i) {
      bench.take(query_frame({.is_version_3 = true}));
      for (const auto& sent : bench.run(11 * kSecond)) of.push_back(sent.at);
    }
  }
  EXPECT_EQ(times[0], times[1]);
  EXPECT_GE(times[0].size(), 5U);
}

TEST(Station, answers_a_query_about_a_group_with_that_group) {
  Bench bench;
  bench.join();
  bench.take(query_frame({.group = kTwo, .code = 10, .is_version_3 = true}));
  EXPECT_EQ(all_of(bench.run(kSecond + 20 * kMs)), (std::vector<Reported>{{2, kTwo, {}}}));
  bench.take(query_frame({.group = kOne, .code = 10, .is_version_3 = true, .sources = {1, 2, kSender}}));
  EXPECT_EQ(all_of(bench.run(kSecond + 20 * kMs)), (std::vector<Reported>{{1, kOne, {kSender}}}));
  bench.take(query_frame({.group = kOne, .code = 10, .is_version_3 = true, .sources = {1, 2}}));
  EXPECT_TRUE(bench.run(2 * kSecond).empty()) << "of other sources";
  bench.take(query_frame({.group = 0xEF0101FF, .code = 10, .is_version_3 = true}));
  EXPECT_TRUE(bench.run(2 * kSecond).empty()) << "of another group";
}

TEST(Station, speaks_version_2_as_long_as_a_querier_does) {
  Bench bench;
  bench.join();
  bench.take(query_frame({.code = 20}));
  const auto sent = bench.run(2 * kSecond + 20 * kMs);
  std::vector<Reported> groups = all_of(sent);
  std::sort(groups.begin(), groups.end(), [](const Reported& a, const Reported& b) { return a.group < b.group; });
  EXPECT_EQ(groups, (std::vector<Reported>{{0x16, kOne, {}}, {0x16, kTwo, {}}}));
  for (const auto& one : sent) {
    const auto group = net::load_be<std::uint32_t>(&one.frame[30]);
    EXPECT_EQ(group, reported(one.frame)[0].group) << "to the group itself";
  }
  bench.take(query_frame({.group = kOne, .code = 10}));
  EXPECT_EQ(all_of(bench.run(2 * kSecond)), (std::vector<Reported>{{0x16, kOne, {}}}));
  EXPECT_TRUE(bench.station.is_version_2(bench.now));
  // Twice the interval between queries, and the time for answers.
  (void)bench.run(252 * kSecond);
  EXPECT_FALSE(bench.station.is_version_2(bench.now));
  bench.take(query_frame({.code = 10, .is_version_3 = true}));
  EXPECT_EQ(all_of(bench.run(kSecond + 20 * kMs)), kCurrent);
}

TEST(Station, leaves_in_the_version_that_is_spoken_and_says_nothing_after_that) {
  Bench bench;
  bench.join();
  bench.station.leave(bench.now);
  const std::vector<Reported> left = {{6, kOne, {kSender}}, {3, kTwo, {}}, {6, kOne, {kSender}}, {3, kTwo, {}}};
  EXPECT_EQ(all_of(bench.run(kSecond)), left);
  bench.take(query_frame({.code = 10, .is_version_3 = true}));
  EXPECT_TRUE(bench.run(120 * kSecond).empty());

  Bench old(2);
  old.join();
  old.take(query_frame({.code = 1}));
  (void)old.run(kSecond);
  old.station.leave(old.now);
  std::vector<Reported> both = all_of(old.run(kSecond));
  const std::vector<Reported> once = {{0x17, kOne, {}}, {0x17, kTwo, {}}};
  ASSERT_EQ(both.size(), 4U);
  EXPECT_EQ(std::vector<Reported>(both.begin(), both.begin() + 2), once);
}

TEST(Station, takes_the_robustness_of_the_querier) {
  Bench bench;
  bench.join();
  bench.take(query_frame({.code = 1, .is_version_3 = true, .robustness = 4}));
  (void)bench.run(kSecond);
  bench.station.join(bench.now);
  EXPECT_EQ(all_of(bench.run(10 * kSecond)).size(), 8U);
}

TEST(Station, a_flood_of_queries_and_requests_does_not_make_a_flood_of_answers) {
  Bench bench;
  bench.join();
  std::map<std::uint8_t, unsigned> frames;
  for (int i = 0; i < 1'000; ++i) {  // ten seconds
    for (int k = 0; k < 10; ++k) {
      bench.take(query_frame({.code = 0, .is_version_3 = true}));
      bench.take(query_frame({.group = kOne, .code = 0, .is_version_3 = true}));
      bench.take(query_frame({.group = kTwo, .code = 1, .is_version_3 = true}));
      bench.take(test::arp_request(kOwn.address));
    }
    for (const auto& sent : bench.run(10 * kMs)) ++frames[std::to_integer<std::uint8_t>(sent.frame[13])];
  }
  // Three kinds of answers, five a second of each.
  EXPECT_LE(frames[0], 153U);
  EXPECT_GE(frames[0], 100U);
  EXPECT_LE(frames[6], 51U) << "ARP";
  EXPECT_GE(frames[6], 40U);
  EXPECT_EQ(bench.station.counts().queries, 30'000U);
  EXPECT_EQ(bench.station.counts().requests, 10'000U);
}

TEST(Station, a_query_with_a_long_time_does_not_delay_the_answer_to_one_with_a_short_one) {
  Bench bench;
  bench.join();
  bench.take(query_frame({.code = 255, .is_version_3 = true}));
  bench.take(query_frame({.code = 10, .is_version_3 = true}));
  EXPECT_EQ(all_of(bench.run(kSecond + 20 * kMs)), kCurrent);
}

TEST(Station, reads_the_times_of_both_versions) {
  const auto most = [](const QueryFrame& of) {
    const ByteVector frame = query_frame(of);
    const StationFrame parsed = parse_station_frame(frame, kOwn);
    return parsed.query ? parsed.query->most_ns : 0;
  };
  EXPECT_EQ(most({.code = 255}), 25'500 * kMs);
  EXPECT_EQ(most({.code = 0}), 10 * kSecond) << "version 1";
  EXPECT_EQ(most({.code = 127, .is_version_3 = true}), 12'700 * kMs);
  EXPECT_EQ(most({.code = 0x80, .is_version_3 = true}), 12'800 * kMs);
  EXPECT_EQ(most({.code = 0xFF, .is_version_3 = true}), 3'174'400 * kMs);
}

TEST(Station, takes_no_query_that_is_malformed_or_has_come_from_afar) {
  const auto is_query = [](const ByteVector& frame) { return parse_station_frame(frame, kOwn).query.has_value(); };
  for (const bool is_3 : {false, true}) {
    const QueryFrame good{.group = kOne, .is_version_3 = is_3};
    const ByteVector frame = query_frame(good);
    EXPECT_TRUE(is_query(frame));
    const auto with = [&](auto change) {
      QueryFrame other = good;
      change(other);
      return is_query(query_frame(other));
    };
    EXPECT_FALSE(with([](QueryFrame& query) { query.time_to_live = 2; }));
    EXPECT_FALSE(with([](QueryFrame& query) { query.time_to_live = 0; }));
    EXPECT_FALSE(with([](QueryFrame& query) { query.fragment = 0x2000; }));
    EXPECT_FALSE(with([](QueryFrame& query) { query.fragment = 1; }));
    EXPECT_FALSE(with([](QueryFrame& query) { query.group = 0x0A000001; })) << "no group";
    EXPECT_FALSE(with([](QueryFrame& query) { query.to = kTwo; })) << "to another group";
    EXPECT_FALSE(with([](QueryFrame& query) { query.group = 0, query.to = kOne; })) << "about all, to one";
    EXPECT_TRUE(with([](QueryFrame& query) { query.to = 0xE0000001; }));
    EXPECT_TRUE(with([](QueryFrame& query) { query.to = kOwn.address; }));
    EXPECT_TRUE(with([](QueryFrame& query) { query.from = 0; })) << "a switch without an address";
    // Each bit of header and message counts: checksums, or what they cannot see.
    for (std::size_t bit = 14 * 8; bit < (14 + 24 + (is_3 ? 12U : 8U)) * 8; ++bit) {
      ByteVector bad = frame;
      bad[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      EXPECT_FALSE(is_query(bad)) << "bit " << bit;
    }
    // Whole without its padding, and not a byte less.
    const std::size_t length = 14 + 24 + (is_3 ? 12U : 8U);
    for (std::size_t size = 0; size < length; ++size) {
      EXPECT_FALSE(is_query(ByteVector(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size)))) << size;
    }
    EXPECT_TRUE(is_query(ByteVector(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length))));
  }
  // More sources than the message has room for, and none that a query about all may have.
  ByteVector lies = query_frame({.group = kOne, .is_version_3 = true, .sources = {1}});
  net::store_be(&lies[14 + 24 + 10], std::uint16_t{2});
  net::store_be(&lies[14 + 24 + 2], std::uint16_t{0});
  const auto message = std::span(lies).subspan(14 + 24, 16);
  net::store_be(&lies[14 + 24 + 2], net::checksum(net::sum_words(message)));
  EXPECT_FALSE(is_query(lies));
  EXPECT_FALSE(is_query(query_frame({.is_version_3 = true, .sources = {1}})));
}

TEST(Station, refuses_bad_frames_and_counts_them) {
  Bench bench;
  bench.join();
  ByteVector frame = query_frame({.code = 0, .is_version_3 = true});
  frame[40] ^= std::byte{1};
  for (int i = 0; i < 3; ++i) bench.take(frame);
  bench.take({});
  EXPECT_EQ(bench.station.counts().refused, 4U);
  EXPECT_TRUE(bench.run(20 * kSecond).empty());
}

TEST(Station, answers_requests_for_its_own_address) {
  Bench bench;
  bench.take(test::arp_request(kOwn.address));
  const auto sent = bench.run(20 * kMs);
  ASSERT_EQ(sent.size(), 1U);
  using net::testing::operator+;
  EXPECT_EQ(sent[0].frame, net::testing::bytes({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2}) +
                               net::testing::bytes({2, 0, 0, 0, 0, 9, 10, 9, 0, 2, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1}));
  bench.now += kSecond;
  bench.take(test::arp_request(kOwn.address + 1));
  bench.take(test::arp_request(kOwn.address, kOwn.address));
  ByteVector from_group = test::arp_request(kOwn.address);
  from_group[22] = std::byte{1};
  bench.take(from_group);
  EXPECT_TRUE(bench.run(kSecond).empty());
  bench.take(test::arp_request(kOwn.address, 0));
  EXPECT_EQ(bench.run(kSecond).size(), 1U) << "a probe (RFC 5227)";

  Station nameless(memberships(), {.mac = kOwn.mac, .address = 0}, std::mt19937_64(1));
  nameless.take(test::arp_request(0), bench.now);
  EXPECT_TRUE(nameless.next(bench.now).empty());
}

TEST(Station, reads_addresses_of_ethernet) {
  EXPECT_EQ(parse_mac("02:1b:00:0A:ff:07"), (MacAddress{2, 0x1B, 0, 10, 255, 7}));
  for (const char* text : {"", "02:1b:00:0a:ff", "02:1b:00:0a:ff:0", "02-1b-00-0a-ff-07", "01:00:5e:00:00:01",
                           "00:00:00:00:00:00", "02:1b:00:0a:ff:0g", "02:1b:00:0a:ff:07 "}) {
    EXPECT_FALSE(parse_mac(text)) << text;
  }
}

}  // namespace stopbit::ingest::station_test
