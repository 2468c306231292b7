#include <gtest/gtest.h>

#include "tests/unit/templates/compile_text.hpp"

namespace stopbit::templates::code_test {

TEST(TemplateCode, an_empty_template_is_one_nop_with_end) {
  EXPECT_EQ(listing_of(""), "NOP END\n");
}

TEST(TemplateCode, begins_with_the_presence_map_and_identifier_of_every_message) {
  const Compiled compiled =
      compile_text(one_template("<uInt32 name='A'><copy/></uInt32><uInt32 name='B'><default value='1'/></uInt32>"));
  ASSERT_TRUE(compiled.program) << compiled.diagnostics.format();
  const isa::Instruction& map = compiled.program->code[0];
  EXPECT_EQ(map.op, isa::DataOp::Pmap);
  EXPECT_EQ(map.slot, 3) << "one bit for the identifier, two for the fields";
  EXPECT_EQ(compiled.program->code[1].op, isa::DataOp::Tid);
  EXPECT_EQ(compiled.program->code[1].control, isa::ControlOp::Disp);
}

TEST(TemplateCode, has_an_instruction_for_each_integer_type_and_operator) {
  EXPECT_EQ(listing_of(
                "<uInt32 name='A'/><int32 name='B' presence='optional'/>"
                "<uInt64 name='C'><constant value='1'/></uInt64>"
                "<int64 name='D' presence='optional'><constant value='-1'/></int64>"
                "<uInt32 name='E'><default value='7'/></uInt32><uInt32 name='F' presence='optional'><default/></uInt32>"
                "<int32 name='G'><copy/></int32><int64 name='H'><increment value='5'/></int64>"
                "<uInt64 name='I' presence='optional'><delta/></uInt64>"),
            "NON_U32_MAN w0\n"
            "NON_S32_OPT w1\n"
            "CON_S64_OPT w2 {-1}\n"
            "DEF_U32_MAN w3 {7}\n"
            "DEF_U32_OPT w4\n"
            "COP_S32_MAN w5 [global/G]\n"
            "INC_S64_MAN w6 [global/H] {5}\n"
            "DEL_U64_OPT w7 [global/I] END\n");
}

TEST(TemplateCode, puts_the_limits_of_small_integers_into_constants) {
  EXPECT_EQ(listing_of("<int8 name='A'/><uInt8 name='B'><copy value='9'/></uInt8><int16 name='C'/><uInt16 name='D'/>"),
            "NON_S32_MAN w0 { bits<=8}\n"
            "COP_U32_MAN w1 [global/B] {9 <=255}\n"
            "NON_S32_MAN w2 { bits<=16}\n"
            "NON_U32_MAN w3 { <=65535} END\n");
}

TEST(TemplateCode, has_an_instruction_for_each_string_type_and_operator) {
  EXPECT_EQ(listing_of("<string name='A'/><string name='B' charset='unicode'><copy value='x'/></string>"
                       "<byteVector name='C'><delta value='4142'/></byteVector>"
                       "<string name='D' presence='optional'><tail/></string>"
                       "<string name='E'><constant value='no instruction'/></string>"
                       "<string name='F' presence='optional'><constant value=''/></string>"),
            "NON_ASCII_MAN w0\n"
            "COP_UNI_MAN w1 [global/B] {\"x\"}\n"
            "DEL_BYTES_MAN w2 [global/C] {\"AB\"}\n"
            "TAI_ASCII_OPT w3 [global/D]\n"
            "CON_ASCII_OPT w4 {\"\"} END\n");
}

TEST(TemplateCode, takes_a_decimal_in_two_instructions) {
  EXPECT_EQ(listing_of("<decimal name='A'/><decimal name='B' presence='optional'><copy value='12000'/></decimal>"
                       "<decimal name='C'><constant value='1'/></decimal>"
                       "<decimal name='D' presence='optional'><default/></decimal>"),
            "NON_DEXP_MAN w0\n"
            "NON_DMAN_MAN w1\n"
            "COP_DEXP_OPT w2 [global/B] {3}\n"
            "COP_DMAN_MAN w3 [global/B mantissa] {12}\n"
            "DEF_DEXP_OPT w4\n"
            "DEF_DMAN_MAN w5 {0} END\n");
}

TEST(TemplateCode, gives_exponent_and_mantissa_operators_of_their_own) {
  EXPECT_EQ(listing_of("<decimal name='A' presence='optional'><exponent><copy "
                       "value='-2'/></exponent><mantissa><delta/></mantissa></decimal>"
                       "<decimal name='B'><exponent><constant value='-2'/></exponent><mantissa/></decimal>"
                       "<decimal name='C'><mantissa><increment key='K'/></mantissa></decimal>"),
            "COP_IEXP_OPT w0 [global/A exponent] {-2}\n"
            "DEL_IMAN_MAN w1 [global/A mantissa]\n"
            "CON_IEXP_MAN w2 {-2}\n"
            "NON_IMAN_MAN w3\n"
            "NON_IEXP_MAN w4\n"
            "INC_IMAN_MAN w5 [global/K] END\n");
}

TEST(TemplateCode, has_no_instruction_for_a_decimal_of_two_mandatory_constants) {
  EXPECT_EQ(listing_of("<decimal name='A'><exponent><constant value='-2'/></exponent><mantissa><constant "
                       "value='5'/></mantissa></decimal>"),
            "NOP END\n");
}

TEST(TemplateCode, runs_a_sequence_between_seq_and_lend) {
  EXPECT_EQ(listing_of("<sequence name='S'><length name='N'/><uInt32 name='A'/><uInt32 name='B'/></sequence>"),
            "NON_U32_MAN w0 SEQ 3\n"
            "NON_U32_MAN w0 BLOCK 1\n"
            "NON_U32_MAN w1 LEND 1\n"
            "NOP END\n");
}

TEST(TemplateCode, cannot_put_lend_beside_block) {
  EXPECT_EQ(listing_of("<sequence name='S'><uInt32 name='A'/></sequence>"),
            "NON_U32_MAN w0 SEQ 3\n"
            "NON_U32_MAN w0 BLOCK 1\n"
            "NOP LEND 1\n"
            "NOP END\n");
}

TEST(TemplateCode, opens_the_block_of_an_element_without_instructions) {
  EXPECT_EQ(listing_of("<sequence name='S'><string name='A'><constant value='x'/></string></sequence>"),
            "NON_U32_MAN w0 SEQ 3\n"
            "NOP BLOCK 1\n"
            "NOP LEND 1\n"
            "NOP END\n");
}

TEST(TemplateCode, gives_elements_that_need_bits_a_presence_map) {
  EXPECT_EQ(
      listing_of(
          "<sequence name='S' presence='optional'><length><copy/></length><uInt32 name='A'><copy/></uInt32></sequence>"
          "<uInt32 name='Z'/>"),
      "COP_U32_OPT w0 [global/S length] SEQ 3\n"
      "PMAP bits=1 BLOCK 1\n"
      "COP_U32_MAN w0 [global/A] LEND 1\n"
      "NON_U32_MAN w0 BLOCK 2\n"
      "NOP END\n");
}

TEST(TemplateCode, opens_a_block_behind_a_sequence_only_where_a_word_follows) {
  EXPECT_EQ(listing_of("<sequence name='S'><uInt32 name='A'/><uInt32 name='B'/></sequence>"
                       "<string name='C'><constant value='x'/></string>"
                       "<sequence name='R'><uInt32 name='D'/><uInt32 name='E'/></sequence>"),
            "NON_U32_MAN w0 SEQ 3\n"
            "NON_U32_MAN w0 BLOCK 1\n"
            "NON_U32_MAN w1 LEND 1\n"
            "NOP BLOCK 2\n"
            "NON_U32_MAN w0 SEQ 7\n"
            "NON_U32_MAN w0 BLOCK 3\n"
            "NON_U32_MAN w1 LEND 5\n"
            "NOP END\n");
}

TEST(TemplateCode, stores_a_constant_length) {
  EXPECT_EQ(
      listing_of(
          "<sequence name='S'><length><constant value='2'/></length><uInt32 name='A'/><uInt32 name='B'/></sequence>"),
      "CON_U32_MAN w0 {2} SEQ 3\n"
      "NON_U32_MAN w0 BLOCK 1\n"
      "NON_U32_MAN w1 LEND 1\n"
      "NOP END\n");
}

TEST(TemplateCode, skips_an_optional_group_from_the_field_before) {
  EXPECT_EQ(
      listing_of("<uInt32 name='A'/><group name='G' presence='optional'><uInt32 name='B'/></group><uInt32 name='C'/>"),
      "NON_U32_MAN w0 SKIP 2\n"
      "NON_U32_MAN w1\n"
      "NON_U32_MAN w2 END\n");
}

TEST(TemplateCode, does_not_skip_from_where_a_jump_lands) {
  EXPECT_EQ(listing_of("<uInt32 name='A'/><group name='G' presence='optional'><uInt32 name='B'/></group>"
                       "<group name='H' presence='optional'><uInt32 name='C'/></group>"),
            "NON_U32_MAN w0 SKIP 2\n"
            "NON_U32_MAN w1\n"
            "NOP SKIP 4\n"
            "NON_U32_MAN w2\n"
            "NOP END\n");
}

TEST(TemplateCode, marks_a_group_of_optional_fields_with_a_word_of_its_own) {
  EXPECT_EQ(listing_of(
                "<uInt32 name='A'/><group name='G' presence='optional'><uInt32 name='B' presence='optional'/></group>"),
            "NON_U32_MAN w0\n"
            "NOP w1 SKIP 3\n"
            "NON_U32_OPT w2\n"
            "NOP END\n");
}

TEST(TemplateCode, drops_the_presence_map_of_a_group_with_its_last_instruction) {
  EXPECT_EQ(listing_of("<group name='G'><uInt32 name='A'><copy/></uInt32></group><uInt32 name='B'/>"),
            "PMAP bits=1\n"
            "COP_U32_MAN w0 [global/A] POP\n"
            "NON_U32_MAN w1 END\n");
  EXPECT_EQ(
      listing_of(
          "<group name='G'><uInt32 name='A'/><group name='H' presence='optional'><uInt32 name='B'/></group></group>"),
      "PMAP bits=1\n"
      "NON_U32_MAN w0 SKIP 3\n"
      "NON_U32_MAN w1\n"
      "NOP POP\n"
      "NOP END\n");
}

TEST(TemplateCode, opens_a_new_block_behind_an_optional_group_with_a_sequence) {
  EXPECT_EQ(listing_of("<group name='G' presence='optional'><sequence name='S'><uInt32 name='A'/><uInt32 "
                       "name='B'/></sequence></group>"
                       "<uInt32 name='C'/>"),
            "NOP SKIP 4\n"
            "NON_U32_MAN w0 SEQ 4\n"
            "NON_U32_MAN w0 BLOCK 1\n"
            "NON_U32_MAN w1 LEND 2\n"
            "NON_U32_MAN w0 BLOCK 2\n"
            "NOP END\n");
}

TEST(TemplateCode, opens_the_block_of_a_witness_before_the_group) {
  EXPECT_EQ(listing_of("<sequence name='S'><uInt32 name='A'/><uInt32 name='B'/></sequence>"
                       "<group name='G' presence='optional'><uInt32 name='C'/></group>"),
            "NON_U32_MAN w0 SEQ 3\n"
            "NON_U32_MAN w0 BLOCK 1\n"
            "NON_U32_MAN w1 LEND 1\n"
            "NOP BLOCK 2\n"
            "NOP SKIP 6\n"
            "NON_U32_MAN w0\n"
            "NOP END\n");
}

TEST(TemplateCode, replaces_static_references_by_the_template) {
  const Compiled compiled = compile_text(
      "<templates><template name='Head'><uInt32 name='Seq'><copy dictionary='template'/></uInt32></template>"
      "<template name='T' id='1'><templateRef name='Head'/><uInt32 name='A'><copy "
      "dictionary='template'/></uInt32></template></templates>");
  EXPECT_EQ(listing(compiled),
            "COP_U32_MAN w0 [template:Head/Seq]\n"
            "COP_U32_MAN w1 [template:T/A] END\n");
}

TEST(TemplateCode, calls_for_a_dynamic_reference_and_opens_a_block_behind_it) {
  EXPECT_EQ(listing_of("<uInt32 name='A'><copy/></uInt32><templateRef/><uInt32 name='B'/>"),
            "COP_U32_MAN w0 [global/A]\n"
            "PMAP bits=2\n"
            "TID CALL 0\n"
            "NON_U32_MAN w0 BLOCK 1\n"
            "NOP END\n");
}

TEST(TemplateCode, makes_slots_by_dictionary_and_key) {
  EXPECT_EQ(listing(compile_text("<templates dictionary='d'><template name='T' id='1'>"
                                 "<typeRef name='Order'/>"
                                 "<uInt32 name='A'><copy/></uInt32>"
                                 "<uInt32 name='B'><copy key='A'/></uInt32>"
                                 "<uInt32 name='C'><copy dictionary='global'/></uInt32>"
                                 "<uInt32 name='D'><copy dictionary='type'/></uInt32>"
                                 "<group name='G' dictionary='e'><uInt32 name='A'><delta/></uInt32></group>"
                                 "<sequence name='S' dictionary='template'><length><copy/></length></sequence>"
                                 "</template></templates>")),
            "COP_U32_MAN w0 [user:d/A]\n"
            "COP_U32_MAN w1 [user:d/A]\n"
            "COP_U32_MAN w2 [global/C]\n"
            "COP_U32_MAN w3 [type:Order/D]\n"
            "DEL_U32_MAN w4 [user:e/A]\n"
            "COP_U32_MAN w5 [template:T/S length] SEQ 8\n"
            "NOP BLOCK 1\n"
            "NOP LEND 6\n"
            "NOP END\n");
}

TEST(TemplateCode, tells_keys_of_different_namespaces_apart) {
  const Compiled compiled =
      compile_text(one_template("<uInt32 name='A' ns='x'><copy/></uInt32><uInt32 name='A' ns='y'><copy/></uInt32>"
                                "<uInt32 name='B' ns='z'><copy key='A' ns='x'/></uInt32>"));
  ASSERT_TRUE(compiled.program) << compiled.diagnostics.format();
  const Program& program = *compiled.program;
  EXPECT_EQ(program.slots.size(), 3U);
  EXPECT_NE(program.code[2].slot, program.code[3].slot);
  EXPECT_EQ(program.code[2].slot, program.code[4].slot);
}

TEST(TemplateCode, makes_code_by_caller_where_a_dictionary_goes_by_application_type) {
  const Compiled compiled = compile_text(
      "<templates>"
      "<template name='Outer' id='1'><typeRef name='Order'/><templateRef/></template>"
      "<template name='Inner' id='2'><uInt32 name='A'><copy dictionary='type'/></uInt32></template>"
      "<template name='Own' id='3'><typeRef name='Trade'/><uInt32 name='A'><copy "
      "dictionary='type'/></uInt32></template>"
      "</templates>");
  EXPECT_EQ(listing(compiled, 1), "PMAP bits=2\nTID CALL 1\nNOP END\n");
  EXPECT_EQ(listing(compiled, 2, 0), "COP_U32_MAN w0 [type:/A] END\n");
  EXPECT_EQ(listing(compiled, 2, 1), "COP_U32_MAN w0 [type:Order/A] END\n");
  EXPECT_EQ(listing(compiled, 3, 0), listing(compiled, 3, 1));
  ASSERT_TRUE(compiled.program);
  EXPECT_EQ(compiled.program->code.size(), 2U + 3 + 1 + 1 + 1 + 1) << "only Inner is made twice, FastReset is supplied";
}

TEST(TemplateCode, has_one_dispatch_table_if_code_does_not_differ_by_caller) {
  const Compiled compiled = compile_text(
      "<templates><template name='Outer' id='1'><typeRef name='Order'/><templateRef/></template>"
      "<template name='Inner' id='2'><typeRef name='Trade'/><uInt32 name='A'><copy "
      "dictionary='type'/></uInt32></template></templates>");
  ASSERT_TRUE(compiled.program) << compiled.diagnostics.format();
  EXPECT_EQ(compiled.program->dispatch.back().table, 0);
}

TEST(TemplateCode, gives_neighbours_slots_of_different_parity_and_pairs_them) {
  const Compiled compiled =
      compile_text(one_template("<uInt32 name='A'><copy/></uInt32><uInt32 name='B'><copy/></uInt32><uInt32 "
                                "name='C'><copy/></uInt32><uInt32 name='D'><copy/></uInt32>"
                                "<string name='E'/><uInt32 name='F'/>"));
  ASSERT_TRUE(compiled.program) << compiled.diagnostics.format();
  const std::vector<isa::Instruction>& code = compiled.program->code;
  for (std::size_t i = 2; i < 5; ++i) EXPECT_NE(code[i].slot % 2, code[i + 1].slot % 2) << i;
  const std::vector<bool> expected = {true, false, true, false, false, false};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(code[i + 2].pair, expected[i]) << i;
}

TEST(TemplateCode, does_not_pair_two_uses_of_one_slot) {
  const Compiled compiled =
      compile_text(one_template("<uInt32 name='A'><copy/></uInt32><uInt32 name='A'><copy/></uInt32>"));
  ASSERT_TRUE(compiled.program) << compiled.diagnostics.format();
  EXPECT_FALSE(compiled.program->code[2].pair);
}

TEST(TemplateCode, gives_string_slots_the_capacity_asked_for) {
  CompileOptions options;
  options.string_capacity = 32;
  const Compiled compiled =
      compile_text(one_template("<string name='A'><copy/></string><uInt32 name='B'><copy/></uInt32>"), options);
  ASSERT_TRUE(compiled.program) << compiled.diagnostics.format();
  for (const Slot& slot : compiled.program->slots) {
    EXPECT_EQ(slot.string_capacity, compiled.program->name(slot.name) == "global/A" ? 32 : 0)
        << compiled.program->name(slot.name);
  }
}

TEST(TemplateCode, has_each_constant_once) {
  const Compiled compiled = compile_text(
      one_template("<uInt32 name='A'><default value='5'/></uInt32><int64 name='B'><copy value='5'/></int64>"
                   "<string name='C'><copy value='x'/></string><byteVector name='D'><copy value='78'/></byteVector>"));
  ASSERT_TRUE(compiled.program) << compiled.diagnostics.format();
  EXPECT_EQ(compiled.program->constants.size(), 3U);
  EXPECT_EQ(compiled.program->constant_pool, "x");
}

TEST(TemplateCode, takes_enumerations_sets_booleans_and_time_stamps_as_integers) {
  EXPECT_EQ(listing(compile_text(
                "<templates><define name='Side'><enum><element name='B' id='Buy'/><element name='S' "
                "id='Sell'/></enum></define>"
                "<define name='Alias'><type name='Side'/></define>"
                "<define name='Flags'><set><element name='X'/><element name='Y'/><element name='Z'/></set></define>"
                "<template name='T' id='1'>"
                "<field name='A'><type name='Side'><copy value='S'/></type></field>"
                "<field name='B' presence='optional'><type name='Alias'/><default value='Buy'/></field>"
                "<field name='C'><type name='Side'><default value='1'/></type></field>"
                "<field name='D'><type name='Flags'><copy value='X Z'/></type></field>"
                "<field name='E'><type name='Flags'><copy value='6'/></type></field>"
                "<boolean name='F'><copy value='true'/></boolean>"
                "<field name='G'><timestamp unit='nanosecond'/><delta/></field>"
                "<enum name='H'><element name='only'/></enum>"
                "</template></templates>")),
            "COP_U32_MAN w0 [global/A] {1 <2}\n"
            "DEF_U32_OPT w1 {0 <2}\n"
            "DEF_U32_MAN w2 {1 <2}\n"
            "COP_U64_MAN w3 [global/D] {5 set3}\n"
            "COP_U64_MAN w4 [global/E] {6 set3}\n"
            "COP_U32_MAN w5 [global/F] {1 <2}\n"
            "DEL_S64_MAN w6 [global/G]\n"
            "NON_U32_MAN w7 { <1} END\n");
}

TEST(TemplateCode, takes_the_operator_from_the_field_the_type_or_the_definition) {
  EXPECT_EQ(
      listing(compile_text(
          "<templates><define name='P'><uInt32><delta/></uInt32></define><define name='Q'><uInt32/></define>"
          "<template name='T' id='1'><field name='A'><type name='P'/></field>"
          "<field name='B'><type name='Q'><copy/></type></field><field name='C'><type name='Q'/><increment/></field>"
          "</template></templates>")),
      "DEL_U32_MAN w0 [global/A]\n"
      "COP_U32_MAN w1 [global/B]\n"
      "INC_U32_MAN w2 [global/C] END\n");
}

}  // namespace stopbit::templates::code_test
