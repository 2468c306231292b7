#include "host/analyse/diff/diff.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "tests/unit/templates/compile_text.hpp"

namespace stopbit::diff::diff_test {

Program program_of(const std::string& text) {
  templates::Compiled compiled = templates::compile_text(text);
  EXPECT_TRUE(compiled.program) << compiled.diagnostics.format();
  return *std::move(compiled.program);
}

/// One template T, with these fields.
Program fields(const std::string& body) {
  return program_of("<templates><template name='T' id='1'>" + body + "</template></templates>");
}

const TemplateDiff& first(const Report& report) {
  return report.templates.at(0);
}

/// "what: before -> after" of each change of the first item of the first template, one a line.
std::string changes(const Report& report) {
  if (first(report).items.empty()) return {};
  std::string out;
  for (const Change& change : first(report).items[0].changes) {
    out += change.what + ": " + change.before + " -> " + change.after + '\n';
  }
  return out;
}

TEST(Diff, of_a_program_with_itself_is_empty) {
  std::ifstream file(STOPBIT_SAMPLE_FOLDER "/templates.xml");
  std::ostringstream text;
  text << file.rdbuf();
  const Program program = program_of(text.str());
  const Report report = compare(program, program);
  EXPECT_FALSE(report.breaks_views());
  EXPECT_EQ(report.layout_before, report.layout_after);
  ASSERT_EQ(report.templates.size(), program.templates.size());
  for (const TemplateDiff& item : report.templates) EXPECT_EQ(item.kind, Kind::Same) << item.name;
}

TEST(Diff, an_operator_is_the_decoders_business) {
  const Report report = compare(fields("<uInt32 name='A'><increment/></uInt32>"),
                                fields("<uInt32 name='A'><copy value='4' key='B'/></uInt32>"));
  EXPECT_EQ(changes(report),
            "operator: increment -> copy\ninitial value:  -> 4\ndictionary entry: global/A -> global/B\n");
  EXPECT_FALSE(report.breaks_views());
  EXPECT_EQ(report.layout_before, report.layout_after);
}

TEST(Diff, tells_the_operators_of_both_parts_of_a_decimal) {
  const Report report =
      compare(fields("<decimal name='A'><exponent><default value='-2'/></exponent><mantissa/></decimal>"),
              fields("<decimal name='A'><exponent><default value='-3'/></exponent><mantissa><delta/>"
                     "</mantissa></decimal>"));
  EXPECT_EQ(changes(report).substr(0, 93),
            "initial value of the exponent: -2 -> -3\noperator of the mantissa: none -> delta\ndictionary en");
}

TEST(Diff, tells_the_operator_of_a_length) {
  const auto with = [](const std::string& op) {
    return fields("<sequence name='S'><length name='N'>" + op + "</length><uInt32 name='A'/></sequence>");
  };
  EXPECT_EQ(changes(compare(with(""), with("<constant value='2'/>"))),
            "operator of the length: none -> constant\ninitial value of the length:  -> 2\n");
}

TEST(Diff, tells_the_operator_of_a_bit_group_and_the_bits_of_its_fields) {
  const auto with = [](const std::string& op, const std::string& width) {
    return fields("<bitGroup name='G'><uInt" + width + " name='A'/><boolean name='B'/>" + op + "</bitGroup>");
  };
  EXPECT_EQ(changes(compare(with("<copy/>", "5"), with("<delta value='4'/>", "5"))),
            "operator: copy -> delta\ninitial value:  -> 4\n");
  const Report wider = compare(with("", "5"), with("", "6"));
  EXPECT_EQ(changes(wider), "bits: 6 -> 7\n");
  ASSERT_EQ(first(wider).items.size(), 3U);
  EXPECT_EQ(first(wider).items[2].changes[0].after, "1 after the first 6");
  EXPECT_FALSE(wider.breaks_views());
}

TEST(Diff, a_field_with_the_same_tag_and_another_name_is_renamed) {
  const Report report = compare(fields("<uInt32 name='A' id='5'/>"), fields("<uInt32 name='B' id='5'/>"));
  EXPECT_EQ(changes(report), "name: A -> B\n");
  EXPECT_TRUE(report.breaks_views());
}

TEST(Diff, a_template_with_the_same_id_and_another_name_is_renamed) {
  const Report report = compare(program_of("<templates><template name='A' id='1'/></templates>"),
                                program_of("<templates><template name='B' id='1'/></templates>"));
  ASSERT_EQ(first(report).changes.size(), 1U);
  EXPECT_EQ(first(report).changes[0].before, "A");
  EXPECT_TRUE(report.breaks_views());
}

TEST(Diff, a_new_template_breaks_no_view_and_a_missing_one_does) {
  const Program one = program_of("<templates><template name='A' id='1'/></templates>");
  const Program two = program_of("<templates><template name='Z' id='7'/><template name='A' id='1'/></templates>");
  EXPECT_FALSE(compare(one, two).breaks_views());
  EXPECT_TRUE(compare(two, one).breaks_views());
}

TEST(Diff, what_is_inside_a_new_group_is_listed) {
  const Report report =
      compare(fields("<uInt32 name='A'/>"), fields("<uInt32 name='A'/><group name='G'><uInt32 name='B'/></group>"));
  const std::vector<Item>& items = first(report).items;
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].path, "G");
  EXPECT_EQ(items[1].path, "G.B");
  EXPECT_EQ(items[1].kind, Kind::Added);
  EXPECT_EQ(items[1].where_after, "a.xml:1");
}

TEST(Diff, fields_of_the_same_name_are_compared_in_their_order) {
  const std::string twice = "<uInt32 name='A' xmlns:a='x' ns='a'/><uInt32 name='A' ns='b'/>";
  EXPECT_FALSE(compare(fields(twice), fields(twice)).breaks_views());
}

TEST(Diff, constants_in_another_order_break_a_view_of_the_layout) {
  const std::string a = "<uInt32 name='A'><constant value='1'/></uInt32>";
  const std::string b = "<uInt32 name='B'><constant value='2'/></uInt32>";
  const Report report = compare(fields(a + b), fields(b + a));
  EXPECT_NE(report.layout_before, report.layout_after);
  EXPECT_TRUE(report.breaks_views());
}

TEST(Diff, elements_of_an_enumeration_count) {
  const auto with = [](const std::string& last) {
    return fields("<enum name='A'><element name='1' id='Buy'/><element name='" + last + "' id='Sell'/></enum>");
  };
  const Report report = compare(with("2"), with("3"));
  EXPECT_EQ(changes(report), "elements: 0 \"1\" (Buy), 1 \"2\" (Sell) -> 0 \"1\" (Buy), 1 \"3\" (Sell)\n");
  EXPECT_TRUE(report.breaks_views());
}

TEST(Diff, hostile_names_stay_on_their_line) {
  Program before = fields("<uInt32 name='A' id='5'/>");
  Program after = before;
  const std::string name = "x\n\x1b[31m\"\x7f";
  after.nodes[0].name = {static_cast<std::uint32_t>(after.names.size()), static_cast<std::uint32_t>(name.size())};
  after.names += name;
  const std::string text = to_text(compare(before, after));
  EXPECT_NE(text.find("name: A -> x\\x0a\\x1b[31m\"\\x7f\n"), std::string::npos) << text;
  EXPECT_NE(to_json(compare(before, after)).find("x\\n\\u001b[31m\\\"\x7f"), std::string::npos);
}

/// A view breaks exactly if layout_hash says that records read differently: whatever one changes in the schema.
TEST(Diff, agrees_with_the_layout_hash_about_every_property) {
  const Program base = program_of(R"(<templates>
    <define name='D'><enum><element name='1' id='a'/><element name='2'/></enum></define>
    <template name='T' id='1'>
      <uInt32 name='A' id='1' presence='optional'/><decimal name='B' id='2'/>
      <string name='C' id='3'><constant value='x'/></string>
      <field name='E' id='4'><type name='D'/></field>
      <timestamp name='F' unit='second' epoch='today'/>
      <group name='G' presence='optional'><uInt32 name='H' presence='optional'/></group>
      <sequence name='S'><length name='N' id='6'/><int64 name='I'/></sequence>
      <uInt32 name='J'/>
      <templateRef/>
      <uInt32 name='K'><copy/></uInt32>
    </template></templates>)");
  const auto changed = [&](const std::function<void(Program&)>& change) {
    Program other = base;
    change(other);
    const Report report = compare(base, other);
    EXPECT_EQ(report.breaks_views(), report.layout_before != report.layout_after) << to_text(report);
    return report.layout_before != report.layout_after;
  };
  std::size_t seen = 0;
  for (std::size_t i = 0; i < base.nodes.size(); ++i) {
    const std::size_t layout[] = {
        changed([&](Program& p) { p.nodes[i].optional = !p.nodes[i].optional; }),
        changed([&](Program& p) { p.nodes[i].id += 1000; }),
        changed([&](Program& p) { p.nodes[i].name = p.nodes[i == 0 ? 1 : 0].name; }),
        changed([&](Program& p) { p.nodes[i].name_space = p.nodes[0].name; }),
        changed([&](Program& p) {
          if (p.nodes[i].block != kNoBlock) p.nodes[i].word = static_cast<std::uint8_t>(p.nodes[i].word ^ 1);
        }),
        changed([&](Program& p) { p.nodes[i].length_id += 1; }),
        changed([&](Program& p) { p.nodes[i].length_name = p.nodes[0].name; }),
        changed([&](Program& p) {
          if (p.nodes[i].unit != TimeUnit::None) p.nodes[i].unit = TimeUnit::Day;
        }),
        changed([&](Program& p) {
          if (p.nodes[i].type == FieldType::UInt32 && p.nodes[i].kind == NodeKind::Field)
            p.nodes[i].type = FieldType::UInt64;
        }),
    };
    for (const std::size_t is_layout : layout) seen += is_layout;
    EXPECT_FALSE(changed([&](Program& p) { p.nodes[i].line += 1; }));
  }
  EXPECT_GT(seen, base.nodes.size() * 4);
  for (std::size_t i = 0; i < base.blocks.size(); ++i) {
    EXPECT_TRUE(changed([&](Program& p) { p.blocks[i].words += 1; }));
  }
  for (std::size_t i = 0; i < base.elements.size(); ++i) {
    EXPECT_TRUE(changed([&](Program& p) { p.elements[i].name = p.nodes[0].name; }));
    EXPECT_TRUE(changed([&](Program& p) { p.elements[i].label = p.nodes[0].name; }));
  }
  EXPECT_TRUE(changed([&](Program& p) { p.templates[0].id += 1; }));
  EXPECT_FALSE(changed([&](Program& p) { p.templates[0].reset = true; }));
  EXPECT_FALSE(changed([&](Program& p) { p.code.back().op = isa::DataOp::Nop; }));
}

}  // namespace stopbit::diff::diff_test
