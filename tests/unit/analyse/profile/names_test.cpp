#include "microcode/profile/segments.hpp"

#include <gtest/gtest.h>

#include "host/analyse/profile/profile.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/unit/analyse/profile/fixture.hpp"

namespace stopbit::profile::names_test {

constexpr const char* kText = R"(
  <template name="A" id="1">
    <uInt32 name="a"><copy/></uInt32>
    <sequence name="Entries">
      <uInt32 name="b"><copy/></uInt32>
      <group name="Deep"><uInt32 name="c"><copy/></uInt32><string name="Text"/></group>
      <sequence name="Legs"><uInt32 name="d"><copy/></uInt32></sequence>
    </sequence>
    <group name="Twice"><uInt32 name="e"><copy/></uInt32></group>
    <group name="Twice"><uInt32 name="f"><copy/></uInt32></group>
  </template>
  <template name="B" id="2"><uInt32 name="a"/></template>)";

std::vector<std::string> texts(const std::map<std::uint16_t, Name>& names) {
  std::vector<std::string> out;
  for (const auto& [number, name] : names) out.push_back(name_text(name));
  return out;
}

TEST(Names, tell_the_way_to_each_part) {
  const Names names = name_parts(compiled(kText));
  EXPECT_EQ(texts(names.segments), (std::vector<std::string>{"A/Entries", "A/Entries/Deep", "A/Entries/Legs", "A/Twice",
                                                             "A/Twice#2", "A", "B", "FastReset"}));
  EXPECT_EQ(texts(names.sequences), (std::vector<std::string>{"A/Entries", "A/Entries/Legs"}));
  EXPECT_EQ(texts(names.strings), (std::vector<std::string>{"A/Entries/Deep/Text"}));
}

TEST(Names, are_different_for_different_parts) {
  const Names names = name_parts(compiled(kText));
  std::set<Name> all;
  for (const auto& [number, name] : names.segments) EXPECT_TRUE(all.insert(name).second) << name_text(name);
}

/// No compiler writes such a group: nothing in it has a name, so its way is as empty as the body's.
TEST(Names, of_a_group_without_fields_is_not_that_of_the_body) {
  using isa::ControlOp;
  using isa::DataOp;
  Program program;
  program.code = {{.op = DataOp::Pmap, .slot = 8},
                  {.op = DataOp::Tid, .control = ControlOp::Disp},
                  {.op = DataOp::Pmap, .slot = 8, .constant = 1},
                  {.control = ControlOp::Pop},
                  {.control = ControlOp::End}};
  program.constants.emplace_back();
  program.slots.emplace_back();
  program.sources.emplace_back();
  program.blocks.emplace_back();
  program.templates.emplace_back().id = 1;
  program.dispatch.push_back({0, 1, 0, 2});
  ASSERT_TRUE(verify::check(program).ok());
  const Names names = name_parts(program);
  ASSERT_EQ(names.segments.size(), 2U);
  EXPECT_NE(names.segments.at(1), names.segments.at(ProfileEntry::kBody));
}

TEST(Names, find_the_segments_of_another_compilation) {
  const Program before = compiled(kText);
  const Program after = compiled(R"(<template name="New" id="9">
      <sequence name="Entries"><uInt32 name="x"><copy/></uInt32></sequence></template>)" +
                                 std::string(kText));
  Profile profile;
  for (const auto& [number, name] : name_parts(before).segments) profile.segments[name].other = number;
  const Resolved resolved = resolve(profile, after);
  EXPECT_TRUE(resolved.unknown.empty());
  const Names names = name_parts(after);
  for (const auto& [number, counts] : resolved.counts) {
    EXPECT_EQ(profile.segments.at(names.segments.at(number)).other, counts.other);
  }
  EXPECT_EQ(resolved.counts.size(), 8U);
}

TEST(Names, that_a_program_lacks_are_told) {
  Profile profile;
  profile.segments[{1, "A", "", {"Gone"}, 0}] = {};
  const Resolved resolved = resolve(profile, compiled(kText));
  ASSERT_EQ(resolved.unknown.size(), 1U);
  EXPECT_EQ(name_text(resolved.unknown[0]), "A/Gone");
}

}  // namespace stopbit::profile::names_test
