#include "host/analyse/profile/counter.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/lib/byte_notation.hpp"
#include "tests/lib/recording_sink.hpp"
#include "tests/unit/analyse/profile/fixture.hpp"

namespace stopbit::profile::counter_test {

constexpr const char* kText = R"(
  <template name="A" id="1">
    <string name="Symbol"><copy/></string>
    <sequence name="s"><uInt32 name="d"><copy/></uInt32><uInt32 name="e"><copy/></uInt32></sequence>
  </template>)";

Profile count(const Program& program, const std::string& notation, std::uint64_t first = 1,
              std::uint64_t last = 1'000'000) {
  Diagnostics diagnostics;
  const auto steps = cases::parse_bytes(notation, diagnostics);
  EXPECT_TRUE(steps) << diagnostics.format();
  EngineOptions options;
  options.reset = ResetRule::Never;
  Counter counter(program, options, first, last);
  cases::RecordingSink sink(program);
  PacketInfo info;
  for (const cases::Step& step : *steps) {
    ++info.number;
    (void)counter.decode(step.bytes, info, sink);
  }
  return counter.take();
}

constexpr const char* kDatagrams = R"(
  pmap(1 1) u32(1) ascii("EUR") u32(2) pmap(1 1) u32(1) u32(2) pmap(1 0) u32(3)
  packet pmap(0 0) u32(0)
  packet pmap(0 1) ascii("") u32(1) pmap(1 0) u32(1))";

TEST(Counter, counts_maps_of_bodies_and_elements) {
  const Profile profile = count(compiled(kText), kDatagrams);
  EXPECT_EQ(profile.datagrams, 3U);
  EXPECT_EQ(profile.messages, 3U);
  EXPECT_EQ(profile.errors, 0U);
  ASSERT_EQ(profile.segments.size(), 2U);
  const auto& body = profile.segments.at({1, "A", "", {}, 0});
  EXPECT_EQ(body.maps, (std::vector<MapCount>{{map_of("1"), 2}, {map_of("0"), 1}}));
  const auto& element = profile.segments.at({1, "A", "", {"s"}, 0});
  EXPECT_EQ(element.maps, (std::vector<MapCount>{{map_of("10"), 2}, {map_of("11"), 1}}));
  EXPECT_EQ(element.other, 0U);
}

TEST(Counter, counts_lengths) {
  const Profile profile = count(compiled(kText), kDatagrams);
  EXPECT_EQ(profile.sequences.at({1, "A", "", {"s"}, 0}), (Lengths{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(profile.strings.at({1, "A", "", {"Symbol"}, 0}), (Lengths{{0, 1}, {3, 2}})) << "copied ones too";
}

TEST(Counter, decodes_all_and_counts_some) {
  const Profile profile = count(compiled(kText), kDatagrams, 3, 3);
  EXPECT_EQ(profile.datagrams, 1U);
  EXPECT_EQ(profile.messages, 1U);
  EXPECT_EQ(profile.errors, 0U) << "the identifier comes from the first datagram";
}

TEST(Counter, counts_maps_that_are_too_long_together) {
  const Profile profile =
      count(compiled(kText), "pmap(1 1) u32(1) ascii(\"A\") u32(1) pmap.raw(40 00 00 00 00 00 00 00 00 80) u32(1)");
  const auto& element = profile.segments.at({1, "A", "", {"s"}, 0});
  EXPECT_TRUE(element.maps.empty());
  EXPECT_EQ(element.other, 1U);
}

TEST(Counter, counts_what_comes_before_an_error) {
  const Profile profile = count(compiled(kText), "pmap(1 1) u32(1) ascii(\"A\") u32(9)");
  EXPECT_EQ(profile.errors, 1U);
  EXPECT_EQ(profile.messages, 0U);
  EXPECT_EQ(profile.segments.size(), 1U);
}

TEST(Counter, keeps_lengths_up_to_a_bound) {
  const Profile profile = count(compiled(kText), "pmap(1 1) u32(1) ascii(\"" + std::string(200, 'x') + "\") u32(0)");
  EXPECT_EQ(profile.strings.at({1, "A", "", {"Symbol"}, 0}), (Lengths{{kLongest, 1}}));
}

/// Maps that a hash table of the standard library would keep in one bucket: a walk over 65,536 of them for each further
/// one took minutes.
TEST(Counter, counts_maps_that_a_sender_chose) {
  std::string fields;
  for (int i = 0; i < 56; ++i) fields += "<uInt32 name=\"f" + std::to_string(i) + "\"><copy value=\"1\"/></uInt32>";
  const Program program =
      compiled("<template name=\"A\" id=\"1\"><sequence name=\"s\">" + fields + "</sequence></template>");
  EngineOptions options;
  options.reset = ResetRule::Never;
  Counter counter(program, options, 1, 1'000'000);
  constexpr std::uint64_t kBuckets = 85'229;
  constexpr std::size_t kMaps = 400'000;
  std::size_t maps = 0;
  PacketInfo info;
  for (std::uint64_t k = 1; maps < kMaps;) {
    constexpr std::size_t kElements = 100;
    std::vector<std::byte> datagram = {std::byte{0xC0}, std::byte{0x81}, std::byte{0x80 | kElements}};
    for (std::size_t i = 0; i < kElements; ++k) {
      const std::uint64_t map = k * kBuckets << 8;
      if ((map >> 8 & 0x7F) == 0) continue;  // its last byte would be too much
      for (unsigned shift = 57; shift >= 8; shift -= 7) {
        datagram.push_back(static_cast<std::byte>((map >> shift & 0x7F) | (shift == 8 ? 0x80U : 0U)));
      }
      for (std::uint64_t bits = map; bits != 0; bits <<= 1) {
        if (bits >> 63 != 0) datagram.push_back(std::byte{0x81});
      }
      ++i;
      ++maps;
    }
    ++info.number;
    cases::RecordingSink sink(program);
    ASSERT_EQ(counter.decode(datagram, info, sink).error, ErrorCode::None);
  }
  const Profile profile = counter.take();
  const SegmentCounts& element = profile.segments.at({1, "A", "", {"s"}, 0});
  EXPECT_EQ(element.maps.size(), Counter::kMaxMaps);
  EXPECT_EQ(element.other, maps - Counter::kMaxMaps);
}

}  // namespace stopbit::profile::counter_test
