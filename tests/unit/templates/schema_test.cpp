#include <gtest/gtest.h>

#include "tests/unit/templates/compile_text.hpp"

namespace stopbit::templates::schema_test {

Program program_of(const Compiled& compiled) {
  EXPECT_TRUE(compiled.program) << compiled.diagnostics.format();
  return compiled.program.value_or(Program());
}

const SchemaNode& node_named(const Program& program, std::string_view name) {
  static const SchemaNode none;
  for (const SchemaNode& node : program.nodes) {
    if (program.name(node.name) == name) return node;
  }
  ADD_FAILURE() << "no node " << name;
  return none;
}

TEST(TemplateSchema, is_a_tree_in_pre_order) {
  const Program program =
      program_of(compile_text(one_template("<uInt32 name='A'/><group name='G'><uInt32 name='B'/><sequence "
                                           "name='S'><uInt32 name='C'/></sequence></group><uInt32 name='D'/>")));
  std::string text;
  for (const SchemaNode& node : program.nodes)
    text += std::string(program.name(node.name)) + std::to_string(node.end) + ' ';
  EXPECT_EQ(text, "A1 G5 B3 S5 C5 D6 ");
  EXPECT_EQ(program.templates[0].first_node, 0);
  EXPECT_EQ(program.templates[0].end_node, 6);
  EXPECT_EQ(program.templates[0].words, 5);
}

TEST(TemplateSchema, knows_where_every_field_stands_in_the_file) {
  const Program program =
      program_of(compile_text("<templates>\n  <template name='T' id='1'>\n    <uInt32 name='A'/> <uInt32 name='B'/>\n"
                              "  </template>\n</templates>"));
  EXPECT_EQ(program.templates[0].line, 2U);
  EXPECT_EQ(program.templates[0].column, 3U);
  EXPECT_EQ(node_named(program, "B").line, 3U);
  EXPECT_EQ(node_named(program, "B").column, 24U);
}

TEST(TemplateSchema, names_the_file_of_a_field_that_a_reference_brings) {
  const Program program = program_of(compile_texts({"<template name='T' id='1'><templateRef name='Head'/></template>",
                                                    "<template name='Head'>\n<uInt32 name='A'/></template>"}));
  EXPECT_EQ(node_named(program, "A").source, 1);
  EXPECT_EQ(node_named(program, "A").line, 2U);
  ASSERT_EQ(program.sources.size(), 2U);
  EXPECT_EQ(program.name(program.sources[1].name), "b.xml");
}

TEST(TemplateSchema, hashes_the_text_of_each_source) {
  const std::string text = one_template("");
  const Program program = program_of(compile_text(text));
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  EXPECT_EQ(program.sources[0].hash, hash);
  EXPECT_EQ(program.sources[0].bytes, text.size());
}

TEST(TemplateSchema, keeps_identifiers_names_and_namespaces) {
  const Program program =
      program_of(compile_text("<templates ns='n' templateNs='t'><template name='T' id='1'><uInt32 name='A' id='34'/>"
                              "<group name='G' ns='m' id='x9'><uInt32 name='B'/></group>"
                              "<sequence name='S' presence='optional'><length name='NoS' id='268'/></sequence>"
                              "</template></templates>"));
  EXPECT_EQ(program.name(program.templates[0].name_space), "t");
  EXPECT_EQ(node_named(program, "A").id, 34U);
  EXPECT_EQ(program.name(node_named(program, "A").name_space), "n");
  EXPECT_EQ(node_named(program, "G").id, 0U) << "not a number";
  EXPECT_EQ(program.name(node_named(program, "B").name_space), "m");
  const SchemaNode& sequence = node_named(program, "S");
  EXPECT_TRUE(sequence.optional);
  EXPECT_EQ(program.name(sequence.length_name), "NoS");
  EXPECT_EQ(sequence.length_id, 268U);
}

TEST(TemplateSchema, holds_mandatory_constants) {
  const Program program = program_of(compile_text(one_template(
      "<string name='A'><constant value='x'/></string><decimal name='B'><constant value='-1.50'/></decimal>"
      "<string name='C' presence='optional'><constant value='x'/></string>")));
  const SchemaNode& text = node_named(program, "A");
  ASSERT_TRUE(text.constant);
  EXPECT_EQ(text.word, isa::kNoWord);
  EXPECT_EQ(program.constant_bytes(program.constants[text.constant_index].bytes()), "x");
  const SchemaNode& decimal = node_named(program, "B");
  ASSERT_TRUE(decimal.constant);
  EXPECT_EQ(static_cast<std::int64_t>(program.constants[decimal.constant_index].value), -1);
  EXPECT_EQ(static_cast<std::int64_t>(program.constants[decimal.constant_index + 1U].value), -15);
  EXPECT_FALSE(node_named(program, "C").constant);
}

TEST(TemplateSchema, numbers_words_over_the_whole_template) {
  const Program program =
      program_of(compile_text(one_template("<uInt32 name='A'/><sequence name='S'><decimal name='B'/><sequence "
                                           "name='R'><uInt32 name='C'/></sequence><uInt32 name='D'/></sequence>"
                                           "<uInt32 name='E'/>")));
  std::string text;
  for (const Block& block : program.blocks) {
    if (block.template_index == 0)
      text += std::to_string(static_cast<int>(block.kind)) + ':' + std::to_string(block.first_word) + '+' +
              std::to_string(block.words) + ' ';
  }
  EXPECT_EQ(text, "0:0+2 1:2+3 1:5+1 2:6+1 2:7+1 ");
  EXPECT_EQ(node_named(program, "S").element_block, 1);
  EXPECT_EQ(node_named(program, "E").block, 4);
}

std::uint16_t element_bytes(const std::string& element) {
  const Program program = program_of(compile_text(one_template("<sequence name='S'>" + element + "</sequence>")));
  return program.blocks[node_named(program, "S").element_block].min_bytes;
}

TEST(TemplateSchema, knows_the_fewest_bytes_of_an_element) {
  EXPECT_EQ(element_bytes(""), 0);
  EXPECT_EQ(element_bytes("<string name='A'><constant value='x'/></string>"), 0);
  EXPECT_EQ(element_bytes("<uInt32 name='A'/><string name='B'/><byteVector name='C' presence='optional'/>"), 3);
  EXPECT_EQ(element_bytes("<decimal name='A'/><decimal name='B' presence='optional'/>"), 3);
  EXPECT_EQ(element_bytes("<uInt32 name='A'><copy/></uInt32>"), 1) << "the presence map";
  EXPECT_EQ(element_bytes("<string name='A'><delta/></string><uInt32 name='B'><delta/></uInt32>"), 3);
  EXPECT_EQ(element_bytes("<decimal name='A'><exponent><copy/></exponent><mantissa><delta/></mantissa></decimal>"), 2);
  EXPECT_EQ(element_bytes("<decimal name='A' presence='optional'><exponent/><mantissa/></decimal>"), 1);
  EXPECT_EQ(element_bytes("<group name='G'><uInt32 name='A'><copy/></uInt32></group>"), 1);
  EXPECT_EQ(element_bytes("<group name='G' presence='optional'><uInt32 name='A'/></group>"), 1) << "the presence map";
  EXPECT_EQ(element_bytes("<templateRef/>"), 1);
}

std::string witness_of(const std::string& before, const std::string& group) {
  const Program program =
      program_of(compile_text(one_template(before + "<group name='G' presence='optional'>" + group + "</group>")));
  const SchemaNode& node = node_named(program, "G");
  return std::to_string(node.block - program.templates[0].root_block) + '/' + std::to_string(node.word);
}

TEST(TemplateSchema, finds_a_witness_for_every_optional_group) {
  const std::string optional = "<uInt32 name='O' presence='optional'/>";
  const std::string mandatory = "<uInt32 name='M'/>";
  const std::string sequence = "<sequence name='S'>" + mandatory + "</sequence>";
  EXPECT_EQ(witness_of("", mandatory), "0/0");
  EXPECT_EQ(witness_of("", optional + mandatory), "0/1");
  EXPECT_EQ(witness_of("", optional), "0/0") << "a word of its own, before the field's";
  EXPECT_EQ(witness_of("", ""), "0/0");
  EXPECT_EQ(witness_of("", "<group name='I'>" + mandatory + "</group>"), "0/0");
  EXPECT_EQ(witness_of("", "<group name='I' presence='optional'>" + mandatory + "</group>" + mandatory), "0/1");
  EXPECT_EQ(witness_of("", optional + sequence), "0/1") << "the length";
  EXPECT_EQ(witness_of("", "<sequence name='S' presence='optional'/>" + mandatory), "0/0")
      << "what follows stands in another block";
  EXPECT_EQ(witness_of("", "<templateRef/>" + mandatory), "0/0");
  EXPECT_EQ(witness_of(sequence, mandatory), "2/0");
  EXPECT_EQ(witness_of("", "<decimal name='D'/>"), "0/0") << "the exponent";
  EXPECT_EQ(witness_of("", "<string name='C'><constant value='x'/></string>" + optional), "0/0")
      << "a constant has no word";
}

TEST(TemplateSchema, lists_the_elements_of_enumerations_once) {
  const Program program = program_of(compile_text(
      "<templates><define name='Side'><enum><element name='B' id='Buy'/><element name='S'/></enum></define>"
      "<define name='Unused'><enum><element name='Q'/></enum></define><template name='T' id='1'>"
      "<field name='A'><type name='Side'/></field><field name='B'><type name='Side'/></field><set name='C'><element "
      "name='X'/></set>"
      "</template></templates>"));
  ASSERT_EQ(program.type_infos.size(), 2U);
  EXPECT_EQ(program.name(program.type_infos[0].name), "Side");
  EXPECT_EQ(program.type_infos[1].name.length, 0U);
  ASSERT_EQ(program.elements.size(), 3U);
  EXPECT_EQ(program.name(program.elements[0].name), "B");
  EXPECT_EQ(program.name(program.elements[0].label), "Buy");
  EXPECT_EQ(node_named(program, "A").type, FieldType::Enum);
  EXPECT_EQ(node_named(program, "A").type_info, node_named(program, "B").type_info);
  EXPECT_EQ(node_named(program, "C").type, FieldType::Set);
}

TEST(TemplateSchema, knows_unit_and_epoch_of_time_stamps) {
  const Program program =
      program_of(compile_text(one_template("<timestamp name='A'/><timestamp name='B' unit='day' epoch='today'/>")));
  EXPECT_EQ(node_named(program, "A").unit, TimeUnit::Millisecond);
  EXPECT_EQ(program.name(node_named(program, "A").epoch), "unix");
  EXPECT_EQ(node_named(program, "B").unit, TimeUnit::Day);
  EXPECT_EQ(program.name(node_named(program, "B").epoch), "today");
}

TEST(TemplateSchema, supplies_fast_reset_unless_a_file_has_template_120) {
  const Program without = program_of(compile_text(one_template("<uInt32 name='A'/>")));
  const Template* supplied = find_template(without, 120);
  ASSERT_NE(supplied, nullptr);
  EXPECT_TRUE(supplied->supplied && supplied->reset);
  EXPECT_EQ(without.name(supplied->name), "FastReset");

  const Program own = program_of(compile_text("<template name='X' id='120'><uInt32 name='A'/></template>"));
  ASSERT_EQ(own.templates.size(), 1U);
  EXPECT_FALSE(own.templates[0].reset);

  CompileOptions options;
  options.supply_fast_reset = false;
  EXPECT_EQ(program_of(compile_text(one_template(""), options)).templates.size(), 1U);
}

TEST(TemplateSchema, takes_template_120_without_fields_for_a_reset) {
  EXPECT_TRUE(program_of(compile_text("<template name='X' id='120'/>")).templates[0].reset);
}

TEST(TemplateSchema, reads_reset_in_the_ways_in_which_it_is_written) {
  const auto reset = [](const std::string& attributes) {
    return program_of(compile_text("<template name='X' id='1' " + attributes + "/>")).templates[0].reset;
  };
  const std::string scp = "xmlns:scp='http://www.fixprotocol.org/ns/fast/scp/1.1' ";
  for (const char* yes : {"yes", "true", "Y", "y", "1", "TRUE", "Yes"}) {
    EXPECT_TRUE(reset("reset='" + std::string(yes) + "'")) << yes;
    EXPECT_TRUE(reset(scp + "scp:reset='" + yes + "'")) << yes;
  }
  for (const char* no : {"no", "false", "N", "0"}) EXPECT_FALSE(reset("reset='" + std::string(no) + "'")) << no;
  EXPECT_FALSE(reset(""));
  EXPECT_FALSE(reset("xmlns:x='http://example.org/other' x:reset='yes'"));
}

TEST(TemplateSchema, gives_the_only_template_the_identifier_asked_for) {
  CompileOptions options;
  options.template_id = 77;
  const Compiled compiled = compile_text("<template name='X'><uInt32 name='A'/></template>", options);
  EXPECT_NE(find_template(program_of(compiled), 77), nullptr);
  EXPECT_EQ(compiled.diagnostics.warnings(), 0U);
}

TEST(TemplateSchema, warns_if_the_identifier_asked_for_is_not_used) {
  CompileOptions options;
  options.template_id = 77;
  const Compiled compiled = compile_text(one_template(""), options);
  EXPECT_EQ(find_template(program_of(compiled), 77), nullptr);
  EXPECT_EQ(compiled.diagnostics.warnings(), 1U);
}

TEST(TemplateSchema, accepts_the_namespaces_that_real_files_have) {
  for (const char* attributes :
       {"", "xmlns='http://www.fixprotocol.org/ns/fast/td/1.1'", "xmlns='http://www.fixprotocol.org/ns/fast/td/1.2'",
        "xmlns='http://www.FIXprotocal.org/ns/FAST/td/1.1'",
        "xmlns='http://www.fixprotocol.org/ns/template-definition'"}) {
    const Compiled compiled = compile_text("<templates " + std::string(attributes) + ">" +
                                           one_template("<uInt32 name='A'/>") + "</templates>");
    EXPECT_EQ(program_of(compiled).nodes.size(), 1U) << attributes;
    EXPECT_TRUE(compiled.diagnostics.all().empty()) << compiled.diagnostics.format();
  }
  const Compiled inner = compile_text(
      "<templates><template xmlns='http://www.fixprotocol.org/ns/fast/td/1.1' name='T' id='1'><uInt32 "
      "name='A'/></template></templates>");
  EXPECT_EQ(program_of(inner).nodes.size(), 1U);
}

TEST(TemplateSchema, skips_foreign_elements_and_attributes_in_silence) {
  const Compiled compiled = compile_text(
      "<templates xmlns:x='http://example.org/x' x:a='1'><x:doc>text <x:b/></x:doc><template name='T' id='1' x:id='9'>"
      "<x:field name='no'/><uInt32 name='A' x:skip='1'><x:hint/><copy "
      "x:y='1'><x:z/></copy></uInt32></template></templates>");
  EXPECT_EQ(program_of(compiled).nodes.size(), 1U);
  EXPECT_TRUE(compiled.diagnostics.all().empty()) << compiled.diagnostics.format();
}

TEST(TemplateSchema, is_canonical) {
  const Program program = program_of(compile_text(
      one_template("<string name='A'><constant value='x'/></string><string name='B'><copy value='x'/></string>")));
  EXPECT_EQ(program, canonical(program));
}

}  // namespace stopbit::templates::schema_test
