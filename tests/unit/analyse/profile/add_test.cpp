#include "microcode/profile/add.hpp"

#include <gtest/gtest.h>

#include "microcode/image/image.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/unit/analyse/profile/fixture.hpp"

namespace stopbit::profile::add_test {

constexpr const char* kText = R"(
  <template name="A" id="1">
    <uInt32 name="a"><copy/></uInt32><uInt32 name="b"><copy/></uInt32><uInt32 name="c"><copy/></uInt32>
    <sequence name="s">
      <uInt32 name="d"><copy/></uInt32><uInt32 name="e"><copy/></uInt32><uInt32 name="f"><copy/></uInt32>
    </sequence>
    <uInt32 name="g"><copy/></uInt32>
  </template>)";

void expect_good(const Program& program) {
  const verify::Report report = verify::check(program);
  for (const verify::Finding& finding : report.findings) {
    ADD_FAILURE() << finding.where << ": " << finding.message << " [" << finding.rule << ']';
  }
  const Result<Program> read = image::read(image::write(program));
  ASSERT_TRUE(read) << read.message();
  EXPECT_TRUE(read.value() == program);
  Diagnostics diagnostics;
  const auto again =
      assembler::assemble(std::make_shared<SourceBuffer>("listing", assembler::disassemble(program)), diagnostics);
  ASSERT_TRUE(again) << diagnostics.format();
  EXPECT_EQ(image::write(*again), image::write(program));
}

TEST(AddProfiles, adds_the_most_frequent_maps_first) {
  Program program = compiled(kText);
  Counts counts;
  counts[1].maps = {{map_of("100"), 5}, {map_of("111"), 90}, {map_of("011"), 60}};
  const auto rows = add_profiles(program, counts, {.maps = 2, .least_share = 0});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].maps, 155U);
  EXPECT_EQ(rows[0].covered, 150U);
  EXPECT_EQ(rows[0].programs, 2U);
  ASSERT_EQ(program.profiles.size(), 2U);
  EXPECT_EQ(program.profiles[0].presence_bits, map_of("011"));
  EXPECT_EQ(program.profiles[1].presence_bits, map_of("111"));
  EXPECT_LT(program.profiles[1].entry, program.profiles[0].entry) << "the most frequent stands first";
  expect_good(program);
}

TEST(AddProfiles, leaves_rare_maps_to_the_general_program) {
  Program program = compiled(kText);
  Counts counts;
  counts[1].maps = {{map_of("111"), 990}, {map_of("011"), 10}};
  add_profiles(program, counts, {.maps = 16, .least_share = 0.02});
  EXPECT_EQ(program.profiles.size(), 1U);
}

TEST(AddProfiles, covers_bodies_elements_and_their_rest) {
  Program program = compiled(kText);
  Counts counts;
  counts[1].maps = {{map_of("111"), 1}};
  counts[kFirstBody].maps = {{map_of("1101"), 1}};
  add_profiles(program, counts, {.maps = 16, .least_share = 0});
  ASSERT_EQ(program.profiles.size(), 2U);
  EXPECT_EQ(program.profiles[1].segment, kFirstBody);
  EXPECT_EQ(program.profiles[1].taken, 3) << "the bit behind the sequence is left";
  expect_good(program);
}

TEST(AddProfiles, does_not_change_the_layout_of_records) {
  Program program = compiled(kText);
  const std::uint64_t before = layout_hash(program);
  Counts counts;
  counts[1].maps = {{map_of("111"), 1}};
  add_profiles(program, counts, {});
  EXPECT_FALSE(program.profiles.empty());
  EXPECT_EQ(layout_hash(program), before);
}

TEST(AddProfiles, hints_at_bits_that_are_hard_to_predict) {
  Program program = compiled(kText);
  Counts counts;
  counts[1].maps = {{map_of("100"), 500}, {map_of("110"), 400}, {map_of("101"), 10}};
  add_profiles(program, counts, {.maps = 0});
  EXPECT_TRUE(program.profiles.empty());
  std::vector<bool> hints;
  for (const isa::Instruction& in : program.code) {
    if (in.op == isa::DataOp::CopU32Man) hints.push_back(in.predicate);
  }
  EXPECT_EQ(hints, (std::vector<bool>{false, false, false, false, true, false, false}));
  expect_good(program);
}

TEST(AddProfiles, knows_no_hard_bits_where_programs_cover_the_maps) {
  Program program = compiled(kText);
  Counts counts;
  counts[1].maps = {{map_of("100"), 500}, {map_of("110"), 500}};
  add_profiles(program, counts, {});
  EXPECT_EQ(program.profiles.size(), 2U);
  for (const isa::Instruction& in : program.code) EXPECT_FALSE(in.predicate);
}

TEST(AddProfiles, ignores_segments_that_the_program_lacks) {
  Program program = compiled(kText);
  const Program before = program;
  Counts counts;
  counts[77].maps = {{map_of("1"), 100}};
  counts[0].maps = {{map_of("1"), 100}};
  counts[ProfileEntry::kBody | 99].maps = {{map_of("1"), 100}};
  EXPECT_TRUE(add_profiles(program, counts, {}).empty());
  EXPECT_TRUE(program == before);
}

TEST(AddProfiles, stops_where_the_instruction_set_ends) {
  std::string fields;
  for (int i = 0; i < 60; ++i) fields += "<uInt32 name=\"f" + std::to_string(i) + "\"><copy/></uInt32>";
  std::string text;
  for (int i = 1; i <= 100; ++i) {
    text += "<template name=\"T" + std::to_string(i) + "\" id=\"" + std::to_string(1'000 + i) + "\">" + fields +
            "</template>";
  }
  Program program = compiled(text);
  Counts counts;
  for (std::uint16_t i = 0; i < 100; ++i) {
    for (unsigned k = 0; k < 4; ++k) {
      counts[ProfileEntry::kBody | i].maps.push_back({std::uint64_t{k} << 60, 1'000U - k});
    }
  }
  add_profiles(program, counts, {.maps = 64, .least_share = 0});
  EXPECT_LE(program.code.size(), limits::kMaxInstructions);
  EXPECT_GT(program.code.size(), limits::kMaxInstructions - 61);
  EXPECT_TRUE(verify::check(program).ok());
}

}  // namespace stopbit::profile::add_test
