#include <gtest/gtest.h>

#include "microcode/verify/verify.hpp"
#include "tests/unit/analyse/profile/fixture.hpp"

namespace stopbit::profile::straight_line_test {

TEST(StraightLine, knows_every_bit_it_takes) {
  const Program program = compiled(R"(<template name="A" id="1">
      <uInt32 name="a"><copy/></uInt32><int64 name="b"><default value="5"/></int64><string name="c"/>
    </template>)");
  EXPECT_EQ(line_text(program, kFirstBody, "10"), "2: COP_U32_MAN 0?1, DEF_S64_MAN 1?0, NON_ASCII_MAN 2 END");
  EXPECT_EQ(line_text(program, kFirstBody, "01"), "2: COP_U32_MAN 0?0, DEF_S64_MAN 1?1, NON_ASCII_MAN 2 END");
}

TEST(StraightLine, leaves_out_what_does_nothing_when_its_bit_is_clear) {
  const Program program = compiled(R"(<template name="A" id="1">
      <uInt32 name="a" presence="optional"><constant value="1"/></uInt32>
      <uInt32 name="b" presence="optional"><default/></uInt32>
      <uInt32 name="c" presence="optional"><default value="3"/></uInt32>
      <string name="d" presence="optional"><constant value="x"/></string>
    </template>)");
  EXPECT_EQ(line_text(program, kFirstBody, "0000"), "4: DEF_U32_OPT 2?0 END");
  EXPECT_EQ(line_text(program, kFirstBody, "1111"),
            "4: CON_U32_OPT 0?1, DEF_U32_OPT 1?1, DEF_U32_OPT 2?1, CON_ASCII_OPT 3?1 END");
}

TEST(StraightLine, of_nothing_is_the_end) {
  const Program program = compiled(R"(<template name="A" id="1">
      <uInt32 name="a" presence="optional"><constant value="1"/></uInt32>
    </template>)");
  EXPECT_EQ(line_text(program, kFirstBody, "0"), "1: NOP END");
}

TEST(StraightLine, leaves_out_mantissas_of_exponents_that_are_known_to_be_absent) {
  const Program program = compiled(R"(<template name="A" id="1">
      <decimal name="a" presence="optional"><exponent><default/></exponent><mantissa><copy/></mantissa></decimal>
      <decimal name="b" presence="optional"><default/></decimal>
      <uInt32 name="c"><copy/></uInt32>
    </template>)");
  EXPECT_EQ(line_text(program, kFirstBody, "001"), "3: COP_U32_MAN 4?1 END");
}

TEST(StraightLine, ends_before_a_bit_that_depends_on_an_exponent) {
  const Program program = compiled(R"(<template name="A" id="1">
      <uInt32 name="a"><copy/></uInt32>
      <decimal name="b" presence="optional"><exponent><default/></exponent><mantissa><copy/></mantissa></decimal>
    </template>)");
  EXPECT_EQ(line_text(program, kFirstBody, "11"), "1: COP_U32_MAN 0?1 JOIN 3");
  const Program mandatory = compiled(R"(<template name="A" id="1">
      <decimal name="b"><exponent><default value="-2"/></exponent><mantissa><copy/></mantissa></decimal>
    </template>)");
  EXPECT_EQ(line_text(mandatory, kFirstBody, "11"), "2: DEF_IEXP_MAN 0?1, COP_IMAN_MAN 1?1 END");
}

TEST(StraightLine, takes_an_optional_group_in_or_leaves_it_out) {
  const Program program = compiled(R"(<template name="A" id="1">
      <uInt32 name="a"><copy/></uInt32>
      <group name="g" presence="optional"><uInt32 name="b"/><uInt32 name="c"/></group>
      <group name="h" presence="optional"><uInt32 name="d" presence="optional"/></group>
      <uInt32 name="e"><copy/></uInt32>
    </template>)");
  EXPECT_EQ(line_text(program, kFirstBody, "1001"), "4: COP_U32_MAN 0?1, COP_U32_MAN 5?1 END");
  EXPECT_EQ(line_text(program, kFirstBody, "1110"), "4: COP_U32_MAN 0?1, NON_U32_MAN 1, NON_U32_MAN 2, NOP 3?1 SKIP " +
                                                        std::to_string(program.code.size() + 4) +
                                                        ", NON_U32_OPT 4, COP_U32_MAN 5?0 END");
}

TEST(StraightLine, ends_before_a_sequence_and_before_an_inner_map) {
  const Program program = compiled(R"(<template name="A" id="1">
      <uInt32 name="a"><copy/></uInt32>
      <sequence name="s"><uInt32 name="b"><copy/></uInt32><uInt32 name="c"/></sequence>
      <uInt32 name="d"><copy/></uInt32>
    </template>
    <template name="B" id="2">
      <uInt32 name="a"><copy/></uInt32>
      <group name="g" presence="optional"><uInt32 name="b"><copy/></uInt32><uInt32 name="c"/></group>
    </template>)");
  EXPECT_EQ(line_text(program, kFirstBody, "11"), "1: COP_U32_MAN 0?1 JOIN 3");
  EXPECT_EQ(line_text(program, kFirstBody + 1, "11"), "2: COP_U32_MAN 0?1 JOIN 10");
  EXPECT_EQ(line_text(program, kFirstBody + 1, "10"), "2: COP_U32_MAN 0?1 END");
}

TEST(StraightLine, of_an_element_ends_the_element_and_joins_behind_the_loop) {
  const Program program = compiled(R"(<template name="A" id="1">
      <sequence name="s"><uInt32 name="b"><copy/></uInt32><uInt32 name="c"/></sequence>
      <uInt32 name="d"/>
    </template>)");
  EXPECT_EQ(line_text(program, 1, "1"), "1: COP_U32_MAN 0?1, NON_U32_MAN 1 LEND 3, NOP JOIN 6");
}

TEST(StraightLine, of_a_group_leaves_its_end_to_the_general_program) {
  const Program program = compiled(R"(<template name="A" id="1">
      <group name="g"><uInt32 name="b"><copy/></uInt32><uInt32 name="c"><copy/></uInt32><uInt32 name="d"/></group>
    </template>)");
  EXPECT_EQ(line_text(program, 1, "11"), "2: COP_U32_MAN 0?1, COP_U32_MAN 1?1 JOIN 5");
}

TEST(StraightLine, keeps_the_blocks_that_are_opened) {
  const Program program = compiled(R"(<template name="A" id="1">
      <group name="g"><uInt32 name="a"><copy/></uInt32><uInt32 name="b"/></group>
      <sequence name="s"><group name="h" presence="optional"><sequence name="t"><uInt32 name="x"/></sequence></group>
        <uInt32 name="c" presence="optional"><constant value="1"/></uInt32></sequence>
    </template>)");
  const std::string line = line_text(program, 2, "00");
  EXPECT_NE(line.find("NOP BLOCK"), std::string::npos) << line;
  EXPECT_EQ(line.substr(0, 2), "2:");
}

TEST(StraightLine, gains_something_or_is_nothing) {
  const Program program = compiled(R"(<template name="A" id="1"><uInt32 name="a"/><uInt32 name="b"/></template>)");
  EXPECT_EQ(line_text(program, kFirstBody, "0"), "-");
}

TEST(StraightLine, ends_behind_63_bits) {
  std::string fields;
  for (int i = 0; i < 70; ++i) fields += "<uInt32 name=\"f" + std::to_string(i) + "\"><copy/></uInt32>";
  const Program program = compiled("<template name=\"A\" id=\"1\">" + fields + "</template>");
  const auto line = straight_line(program, 2, map_of(std::string(62, '1')), program.code.size(), 1'000);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->taken, 63);
  EXPECT_EQ(line->code.size(), 63U);
  EXPECT_EQ(line->code.back().control, isa::ControlOp::Join);
  EXPECT_EQ(line->code.back().target, 65);
  EXPECT_FALSE(straight_line(program, 2, map_of("1"), program.code.size(), 62)) << "longer than there is room";
}

TEST(StraightLine, never_ends_inside_a_bit_group) {
  std::string fields;
  for (int i = 0; i < 62; ++i) fields += R"(<uInt32 name="a"><copy value="1"/></uInt32>)";
  // The last field of the bit group takes the bit of the next group.
  Program program = compiled(R"(<template name="A" id="1">)" + fields +
                             R"(<bitGroup name="b"><uInt4 name="x"/><copy/></bitGroup>
                                <group name="g" presence="optional"><uInt32 name="y"/></group></template>)");
  const auto line = straight_line(program, segment_begins(program).at(kFirstBody), 0, program.code.size(), 1'000);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->taken, 62);
  program.profiles.push_back({kFirstBody, static_cast<std::uint16_t>(program.code.size()), 0, line->taken});
  program.code.insert(program.code.end(), line->code.begin(), line->code.end());
  EXPECT_TRUE(verify::check(program).ok());
}

TEST(StraightLine, pairs_what_may_issue_together) {
  const Program program = compiled(R"(<template name="A" id="1">
      <uInt32 name="a"><copy/></uInt32>
      <uInt32 name="x" presence="optional"><constant value="1"/></uInt32>
      <uInt32 name="b"><copy/></uInt32>
    </template>)");
  const auto line = straight_line(program, 2, map_of("101"), program.code.size(), 1'000);
  ASSERT_TRUE(line);
  ASSERT_EQ(line->code.size(), 2U);
  const bool may = isa::may_pair(line->code[0], line->code[1]);
  EXPECT_EQ(line->code[0].pair, may);
}

}  // namespace stopbit::profile::straight_line_test
