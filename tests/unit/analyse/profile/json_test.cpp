#include <gtest/gtest.h>

#include "host/analyse/profile/profile.hpp"
#include "tests/unit/analyse/profile/fixture.hpp"

namespace stopbit::profile::json_test {

Profile sample() {
  Profile profile;
  profile.layout_hash = 0x0123456789abcdef;
  profile.datagrams = 10;
  profile.messages = 12;
  profile.errors = 1;
  profile.segments[{1, "A", "", {}, 0}] = {{{map_of("101"), 7}, {0, 3}}, 2};
  profile.segments[{1, "A", "urn:x", {"Entries", "\"Legs\"\n"}, 3}] = {{{map_of(std::string(63, '1')), 1}}, 0};
  profile.sequences[{1, "A", "", {"Entries"}, 0}] = {{0, 5}, {kLongest, 1}};
  profile.strings[{1, "A", "", {"Text"}, 0}] = {{3, 5}};
  return profile;
}

TEST(ProfileJson, comes_back_as_it_was) {
  const Result<Profile> read = from_json(to_json(sample()));
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read.value().layout_hash, sample().layout_hash);
  EXPECT_EQ(read.value().datagrams, 10U);
  EXPECT_EQ(read.value().messages, 12U);
  EXPECT_EQ(read.value().errors, 1U);
  EXPECT_TRUE(read.value().segments == sample().segments);
  EXPECT_EQ(read.value().sequences, sample().sequences);
  EXPECT_EQ(read.value().strings, sample().strings);
  EXPECT_EQ(to_json(read.value()), to_json(sample()));
}

TEST(ProfileJson, fits_its_own_limit) {
  Profile profile;
  for (std::uint32_t segment = 0; segment < 150; ++segment) {
    SegmentCounts& counts = profile.segments[{segment, "T" + std::to_string(segment), "", {}, 0}];
    for (std::uint64_t i = 0; i < 1'000; ++i) counts.maps.push_back({i << 1, 1'000 - i});
  }
  const std::string text = to_json(profile);
  EXPECT_LE(text.size(), kMaxFileBytes);
  const Result<Profile> read = from_json(text);
  ASSERT_TRUE(read) << read.message();
  const SegmentCounts& counts = read.value().segments.begin()->second;
  std::uint64_t sum = counts.other;
  for (const MapCount& map : counts.maps) sum += map.count;
  EXPECT_EQ(sum, 500'500U) << "what does not fit is counted together";
}

struct Refused {
  const char* name;
  std::string text;
  const char* message;
};
void PrintTo(const Refused& refused, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << refused.name;
}
class ProfileJsonRefuses : public testing::TestWithParam<Refused> {};

TEST_P(ProfileJsonRefuses, with_place_and_reason) {
  const Result<Profile> read = from_json(GetParam().text);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.message(), GetParam().message);
}

std::string with(const std::string& key, const std::string& value) {
  return R"({"stopbit_profile":1,"layout_hash":"0123456789abcdef",")" + key + "\":" + value + "}";
}
std::string with_map(const std::string& map) {
  return with("segments", R"([{"template":"A","maps":[)" + map + "]}]");
}

INSTANTIATE_TEST_SUITE_P(
    All, ProfileJsonRefuses,
    testing::Values(
        Refused{"nothing", "", "byte 1: not JSON"}, Refused{"half", R"({"stopbit_profile":)", "byte 20: not JSON"},
        Refused{"list", "[]", "the profile is not a JSON object"},
        Refused{"version", R"({"stopbit_profile":2})", "/stopbit_profile: expected a number from 0 to 1"},
        Refused{"no_version", R"({})", "/stopbit_profile: expected 1"},
        Refused{"hash", R"({"stopbit_profile":1,"layout_hash":"xyz"})", "/layout_hash: expected 16 hexadecimal digits"},
        Refused{"negative", with("messages", "-1"), "/messages: expected a number from 0 to 1099511627776"},
        Refused{"fraction", with("messages", "1.5"), "/messages: expected a number from 0 to 1099511627776"},
        Refused{"huge_number", with("messages", "1e999"), "a number is too large"},
        Refused{"segments_no_list", with("segments", "{}"), "/segments: expected an array of at most 100000"},
        Refused{"segment_no_object", with("segments", "[1]"), "/segments/0: expected an object"},
        Refused{"name_no_text", with("segments", R"([{"template":1}])"), "/segments/0/template: expected a string"},
        Refused{"path_no_text", with("segments", R"([{"path":[[]]}])"), "/segments/0/path/0: expected a string"},
        Refused{"segment_twice", with("segments", R"([{"template":"A"},{"template":"A"}])"),
                "/segments/1: this segment is given twice"},
        Refused{"map_of_letters", with_map(R"({"map":"102"})"),
                "/segments/0/maps/0/map: expected a string of 0 and 1, at most 63 long"},
        Refused{"map_of_64", with_map("{\"map\":\"" + std::string(64, '1') + "\"}"),
                "/segments/0/maps/0/map: expected a string of 0 and 1, at most 63 long"},
        Refused{"no_map", with_map("{}"), "/segments/0/maps/0/map: expected a string of 0 and 1, at most 63 long"},
        Refused{"map_twice", with_map(R"({"map":"1"},{"map":"10"})"), "/segments/0/maps/1: this map is given twice"},
        Refused{"length", with("strings", R"([{"template":"A","lengths":[{"length":65}]}])"),
                "/strings/0/lengths/0/length: expected a number from 0 to 64"},
        Refused{"length_twice", with("strings", R"([{"lengths":[{"length":6},{"length":6}]}])"),
                "/strings/0/lengths/1: this length is given twice"},
        Refused{"deep", with("segments", std::string(9, '[') + std::string(9, ']')),
                "the profile nests arrays and objects more than 8 deep"},
        Refused{"deeper", std::string(100'000, '['), "byte 100001: not JSON"},
        Refused{"long", std::string(kMaxFileBytes + 1, ' '), "the profile is longer than 4194304 bytes"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ProfileJson, ignores_keys_it_does_not_know) {
  EXPECT_TRUE(from_json(with("comment", "\"by hand\"")));
}

}  // namespace stopbit::profile::json_test
