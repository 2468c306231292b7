#include <gtest/gtest.h>

#include <ostream>

#include "microcode/base/limits.hpp"
#include "tests/unit/templates/compile_text.hpp"

namespace stopbit::templates::bad_templates_test {

/// A template file and what the compiler says about it: code, line and column of each error and warning.
struct BadTemplate {
  const char* name;
  const char* text;
  const char* expected;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name is GoogleTest's.
void PrintTo(const BadTemplate& bad, std::ostream* out) {
  *out << bad.text;
}

class BadTemplates : public ::testing::TestWithParam<BadTemplate> {};

TEST_P(BadTemplates, are_refused_with_code_and_place) {
  const Compiled compiled = compile_text(GetParam().text);
  EXPECT_EQ(summary(compiled.diagnostics), GetParam().expected) << compiled.diagnostics.format();
  EXPECT_FALSE(compiled.program);
}

constexpr BadTemplate kNotXml[] = {
    {"empty_file", "", "S1@1:1"},
    {"only_blanks", " \n ", "S1@1:1"},
    {"text_only", "hello", "S1@1:1"},
    {"unclosed_root", "<templates>\n<template name='A' id='1'/>", "S1@1:1"},
    {"wrong_end_tag", "<templates>\n  </template>", "S1@2:3"},
    {"end_tag_without_start", "<templates/></templates>", "S1@1:13"},
    {"second_root", "<template name='A' id='1'/>\n<template name='B' id='2'/>", "S1@2:1"},
    {"text_behind_root", "<template name='A' id='1'/>x", "S1@1:28"},
    {"attribute_twice", "<template name='A' id='1'><uInt32 name='X'\n name='Y'/></template>", "S1@2:2"},
    {"attribute_twice_by_namespace", "<template name='A' id='1' xmlns:a='u' xmlns:b='u' a:x='' b:x=''/>", "S1@1:58"},
    {"attribute_without_value", "<template name id='1'/>", "S1@1:11"},
    {"attribute_without_quotes", "<template name=A/>", "S1@1:16"},
    {"attribute_without_blank", "<template name='A'id='1'/>", "S1@1:19"},
    {"attribute_with_less_than", "<template name='<' id='1'/>", "S1@1:17"},
    {"attribute_never_closed", "<template name='A", "S1@1:11"},
    {"unbound_prefix", "<template name='A' id='1'><x:y/></template>", "S1@1:27"},
    {"unbound_attribute_prefix", "<template name='A' id='1' x:y=''/>", "S1@1:27"},
    {"prefix_out_of_scope", "<templates><template name='A' id='1' xmlns:p='u'/>\n<p:q/></templates>", "S1@2:1"},
    {"unknown_entity", "<template name='A' id='1'><string name='S'><constant value='&nbsp;'/></string></template>",
     "S1@1:61"},
    {"bare_ampersand", "<template name='A & B' id='1'/>", "S1@1:19"},
    {"reference_to_null", "<template name='&#0;' id='1'/>", "S1@1:17"},
    {"comment_with_dashes", "<!-- a -- b --><template name='A' id='1'/>", "S1@1:8"},
    {"comment_never_closed", "<template name='A' id='1'/><!-- ", "S1@1:28"},
    {"late_xml_declaration", " <?xml version='1.0'?><template name='A' id='1'/>", "S1@1:2"},
    {"control_character", "<template name='A' id='1'>\x01</template>", "S1@1:27"},
    {"malformed_utf8", "<!-- \xE9 --><template name='A' id='1'/>", "S1@1:6"},
    {"doctype", "<?xml version='1.0'?>\n<!DOCTYPE templates [<!ENTITY a 'b'>]>\n<template name='A' id='1'/>", "T3@2:1"},
    {"unknown_declaration", "<!ELEMENT a><template name='A' id='1'/>", "S1@1:1"},
};

constexpr BadTemplate kNotFast[] = {
    {"foreign_root", "<templates xmlns='http://example.org/'/>", "S1@1:1"},
    {"unknown_root", "<feed/>", "S1@1:1"},
    {"no_template", "<templates/>", "T5"},
    {"template_without_name", "<template id='1'/>", "S1@1:1"},
    {"template_with_empty_name", "<template name='' id='1'/>", "S1@1:11"},
    {"template_id_not_a_number", "<template name='A' id='one'/>", "S1@1:20"},
    {"template_id_too_large", "<template name='A' id='4294967296'/>", "S1@1:20"},
    {"template_id_negative", "<template name='A' id='-1'/>", "S1@1:20"},
    {"reset_neither_yes_nor_no", "<template name='A' id='1' reset='maybe'/>", "S1@1:27"},
    {"no_template_has_an_id", "<templates><template name='A'/>\n<template name='B'/></templates>", "T5@1:12"},
    {"the_template_has_no_id", "<template name='A'/>", "T5@1:1"},
    {"unknown_element", "<template name='A' id='1'>\n<uint32 name='X'/></template>", "S1@2:1"},
    {"unknown_element_of_1_2", "<template name='A' id='1'><bitGroup name='X'/></template>", "S1@1:27"},
    {"template_inside_template", "<template name='A' id='1'><template name='B' id='2'/></template>", "S1@1:27"},
    {"text_in_a_field", "<template name='A' id='1'><uInt32 name='X'>\n 5 </uInt32></template>", "S1@2:2"},
    {"text_in_cdata", "<template name='A' id='1'><![CDATA[x]]></template>", "S1@1:27"},
    {"field_without_name", "<template name='A' id='1'><uInt32/></template>", "S1@1:27"},
    {"group_without_name", "<template name='A' id='1'><group/></template>", "S1@1:27"},
    {"sequence_without_name", "<template name='A' id='1'><sequence/></template>", "S1@1:27"},
    {"unknown_presence", "<template name='A' id='1'><uInt32 name='X' presence='maybe'/></template>", "S1@1:44"},
    {"unknown_charset", "<template name='A' id='1'><string name='X' charset='latin1'/></template>", "S1@1:44"},
    {"two_operators", "<template name='A' id='1'><uInt32 name='X'><copy/><delta/></uInt32></template>", "S1@1:51"},
    {"operator_in_operator", "<template name='A' id='1'><uInt32 name='X'><copy><delta/></copy></uInt32></template>",
     "S1@1:50"},
    {"unknown_operator", "<template name='A' id='1'><uInt32 name='X'><paste/></uInt32></template>", "S1@1:44"},
    {"operator_in_group", "<template name='A' id='1'><group name='X'><copy/></group></template>", "S1@1:43"},
    {"length_in_integer", "<template name='A' id='1'><uInt32 name='X'><length/></uInt32></template>", "S1@1:44"},
    {"length_in_ascii_string", "<template name='A' id='1'><string name='X'><length/></string></template>", "S1@1:44"},
    {"length_in_group", "<template name='A' id='1'><group name='X'><length/></group></template>", "S1@1:43"},
    {"two_lengths", "<template name='A' id='1'><sequence name='X'><length/><length/></sequence></template>", "S1@1:55"},
    {"field_in_length",
     "<template name='A' id='1'><sequence name='X'><length><uInt32 name='Y'/></length></sequence></template>",
     "S1@1:54"},
    {"two_type_refs", "<template name='A' id='1'><typeRef name='X'/><typeRef name='Y'/></template>", "S1@1:46"},
    {"exponent_in_integer", "<template name='A' id='1'><int32 name='X'><exponent/></int32></template>", "S1@1:43"},
    {"two_exponents", "<template name='A' id='1'><decimal name='X'><exponent/><exponent/></decimal></template>",
     "S1@1:56"},
    {"mantissa_before_exponent",
     "<template name='A' id='1'><decimal name='X'><mantissa/><exponent/></decimal></template>", "S1@1:56"},
    {"operators_for_whole_and_parts",
     "<template name='A' id='1'><decimal name='X'><copy/><mantissa/></decimal></template>", "S1@1:45"},
    {"two_operators_in_exponent",
     "<template name='A' id='1'><decimal name='X'><exponent><copy/><copy/></exponent></decimal></template>", "S1@1:62"},
    {"empty_key", "<template name='A' id='1'><uInt32 name='X'><copy key=''/></uInt32></template>", "S1@1:50"},
    {"empty_dictionary", "<template name='A' id='1' dictionary=''/>", "S1@1:27"},
    {"field_without_type", "<template name='A' id='1'><field name='X'/></template>", "S1@1:27"},
    {"field_with_two_types", "<template name='A' id='1'><field name='X'><int8/><int8/></field></template>", "S1@1:50"},
    {"operator_on_a_group", "<template name='A' id='1'><field name='X'><group/><copy/></field></template>", "S2@1:51"},
    {"unknown_type", "<template name='A' id='1'><field name='X'><type name='Y'/></field></template>", "S1@1:43"},
    {"type_without_name", "<template name='A' id='1'><field name='X'><type/></field></template>", "S1@1:43"},
    {"definition_without_type", "<templates><define name='D'/><template name='A' id='1'/></templates>", "S1@1:12"},
    {"definition_twice",
     "<templates><define name='D'><int8/></define>\n<define name='D'><int8/></define><template name='A' "
     "id='1'/></templates>",
     "T4@2:1"},
    {"recursive_definition",
     "<templates><define name='D'><type name='E'/></define>\n<define name='E'><type name='D'/></define><template "
     "name='A' id='1'/></templates>",
     "S1@2:18 S1@1:29"},
    {"enumeration_without_elements", "<template name='A' id='1'><enum name='X'/></template>", "S1@1:27"},
    {"element_without_name", "<template name='A' id='1'><enum name='X'><element id='a'/></enum></template>", "S1@1:42"},
    {"element_twice",
     "<template name='A' id='1'><enum name='X'><element name='a'/><element name='a'/></enum></template>", "S1@1:70"},
    {"unknown_unit", "<template name='A' id='1'><timestamp name='X' unit='week'/></template>", "S1@1:47"},
    {"unknown_attribute_warns_once",
     "<template name='A' id='1'><uInt32 name='X' skip='1'/><uInt32 name='Y' skip='2'/><uInt32/></template>",
     "warning@1:44 S1@1:81"},
};

constexpr BadTemplate kNotMeaningful[] = {
    {"tail_on_decimal", "<template name='A' id='1'>\n    <decimal name='Px'><tail/></decimal></template>", "S2@2:24"},
    {"increment_on_string", "<template name='A' id='1'><string name='X'><increment/></string></template>", "S2@1:44"},
    {"increment_on_decimal", "<template name='A' id='1'><decimal name='X'><increment/></decimal></template>",
     "S2@1:45"},
    {"increment_on_byte_vector", "<template name='A' id='1'><byteVector name='X'><increment/></byteVector></template>",
     "S2@1:48"},
    {"tail_on_integer", "<template name='A' id='1'><uInt64 name='X'><tail/></uInt64></template>", "S2@1:44"},
    {"tail_on_length", "<template name='A' id='1'><sequence name='X'><length><tail/></length></sequence></template>",
     "S2@1:54"},
    {"tail_on_exponent",
     "<template name='A' id='1'><decimal name='X'><exponent><tail/></exponent></decimal></template>", "S2@1:55"},
    {"delta_on_enumeration", "<template name='A' id='1'><enum name='X'><delta/><element name='a'/></enum></template>",
     "S2@1:42"},
    {"increment_on_boolean", "<template name='A' id='1'><boolean name='X'><increment/></boolean></template>",
     "S2@1:45"},
    {"initial_value_not_a_number", "<template name='A' id='1'><uInt32 name='X'><copy value='x'/></uInt32></template>",
     "S3@1:50"},
    {"initial_value_out_of_range",
     "<template name='A' id='1'><uInt32 name='X'><copy value='4294967296'/></uInt32></template>", "S3@1:50"},
    {"initial_value_negative", "<template name='A' id='1'><uInt64 name='X'><delta value='-1'/></uInt64></template>",
     "S3@1:51"},
    {"initial_value_not_a_decimal",
     "<template name='A' id='1'><decimal name='X'><delta value='1e5'/></decimal></template>", "S3@1:52"},
    {"initial_exponent_out_of_range",
     "<template name='A' id='1'><decimal name='X'><exponent><copy value='64'/></exponent></decimal></template>",
     "S3@1:61"},
    {"initial_mantissa_not_a_number",
     "<template name='A' id='1'><decimal name='X'><mantissa><copy value='1.5'/></mantissa></decimal></template>",
     "S3@1:61"},
    {"initial_bytes_not_hexadecimal",
     "<template name='A' id='1'><byteVector name='X'><copy value='zz'/></byteVector></template>", "S3@1:54"},
    {"initial_string_not_ascii",
     "<template name='A' id='1'><string name='X'><copy value='\xC3\xA9'/></string></template>", "S3@1:50"},
    {"initial_length_not_a_number",
     "<template name='A' id='1'><sequence name='X'><length><copy value='x'/></length></sequence></template>",
     "S3@1:60"},
    {"initial_value_not_an_element",
     "<template name='A' id='1'><enum name='X'><copy value='b'/><element name='a'/></enum></template>", "S3@1:48"},
    {"initial_value_not_a_boolean",
     "<template name='A' id='1'><boolean name='X'><copy value='2'/></boolean></template>", "S3@1:51"},
    {"constant_without_value", "<template name='A' id='1'><uInt32 name='X'><constant/></uInt32></template>", "S4@1:44"},
    {"optional_constant_without_value",
     "<template name='A' id='1'><uInt32 name='X' presence='optional'><constant/></uInt32></template>", "S4@1:64"},
    {"constant_exponent_without_value",
     "<template name='A' id='1'><decimal name='X'><exponent><constant/></exponent></decimal></template>", "S4@1:55"},
    {"default_without_value", "<template name='A' id='1'><uInt32 name='X'><default/></uInt32></template>", "S5@1:44"},
    {"default_mantissa_without_value",
     "<template name='A' id='1'><decimal name='X' "
     "presence='optional'><mantissa><default/></mantissa></decimal></template>",
     "S5@1:75"},
    {"default_length_without_value",
     "<template name='A' id='1'><sequence name='X'><length><default/></length></sequence></template>", "S5@1:54"},
    {"unknown_reference", "<template name='A' id='1'><templateRef name='B'/></template>", "D8@1:27"},
    {"reference_into_other_namespace",
     "<templates><template name='B' templateNs='n'/><template name='A' id='1'>\n<templateRef "
     "name='B'/></template></templates>",
     "D8@2:1"},
    {"template_refers_to_itself", "<template name='A' id='1'>\n<templateRef name='A'/></template>", "T2@2:1"},
    {"templates_refer_in_a_circle",
     "<templates><template name='A' id='1'><templateRef name='B'/></template>\n"
     "<template name='B'><group name='G'><templateRef name='C'/></group></template>\n"
     "<template name='C'><templateRef name='A'/></template></templates>",
     "T2@3:20"},
    {"template_name_twice", "<templates><template name='A' id='1'/>\n<template name='A' id='2'/></templates>",
     "T4@2:1"},
    {"template_id_twice", "<templates><template name='A' id='1'/>\n<template name='B' id='01'/></templates>",
     "T4@2:20"},
    {"every_error_is_reported",
     "<templates>\n<template name='A' id='1'><uInt32 name='X'><tail/></uInt32>\n<uInt32 name='Y'><constant/></uInt32>\n"
     "<uInt32/></template>\n<template name='B' id='1'>\n<templateRef name='C'/><copy/></template></templates>",
     "S1@4:1 S1@6:24 T4@5:20 S2@2:44 S4@3:18 D8@6:1"},
};

std::string case_name(const ::testing::TestParamInfo<BadTemplate>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(NotXml, BadTemplates, ::testing::ValuesIn(kNotXml), case_name);
INSTANTIATE_TEST_SUITE_P(NotFast, BadTemplates, ::testing::ValuesIn(kNotFast), case_name);
INSTANTIATE_TEST_SUITE_P(NotMeaningful, BadTemplates, ::testing::ValuesIn(kNotMeaningful), case_name);

// --- What the messages say.

TEST(TemplateErrors, look_like_a_compilers) {
  const Compiled compiled =
      compile_text("<template name='A' id='7'>\n    <decimal name='MDEntryPx'><tail/></decimal>\n</template>");
  EXPECT_EQ(compiled.diagnostics.format(),
            "a.xml:2:31: error: operator 'tail' needs a string or byteVector, 'MDEntryPx' is a decimal [S2]\n"
            "    2 |     <decimal name='MDEntryPx'><tail/></decimal>\n"
            "      |                               ^~~~~~~\n"
            "a.xml:1:1: note: in template 'A' (id 7)\n"
            "    1 | <template name='A' id='7'>\n"
            "      | ^~~~~~~~~~~~~~~~~~~~~~~~~~\n");
}

TEST(TemplateErrors, name_the_chain_of_a_circle) {
  const Compiled compiled = compile_text(
      "<templates><template name='A' id='1'><templateRef name='B'/></template><template name='B'><templateRef "
      "name='A'/></template></templates>");
  EXPECT_NE(compiled.diagnostics.format().find("'A' -> 'B' -> 'A'"), std::string::npos)
      << compiled.diagnostics.format();
}

TEST(TemplateErrors, are_found_in_the_file_they_stand_in) {
  const Compiled compiled = compile_texts({one_template(""), "\n<template name='B' id='2'><uInt32/></template>"});
  EXPECT_NE(compiled.diagnostics.format().find("b.xml:2:27: error"), std::string::npos)
      << compiled.diagnostics.format();
}

TEST(TemplateErrors, find_identifiers_used_twice_across_files) {
  EXPECT_EQ(summary(compile_texts({one_template(""), "<template name='B' id='1'/>"}).diagnostics), "T4@1:20");
}

TEST(TemplateErrors, end_after_a_thousand) {
  std::string body;
  for (int i = 0; i < 3000; ++i) body += "<uInt32/>";
  const Compiled compiled = compile_text(one_template(body));
  EXPECT_EQ(compiled.diagnostics.errors(), 1000U);
}

// --- Limits.

TEST(TemplateLimits, refuse_a_file_that_is_too_long) {
  const Compiled compiled = compile_text(one_template("") + std::string(limits::kMaxTextBytes, ' '));
  EXPECT_EQ(summary(compiled.diagnostics), "T1@1:1");
}

TEST(TemplateLimits, refuse_a_million_nested_elements) {
  std::string text = "<templates>";
  for (int i = 0; i < 1'000'000; ++i) text += "<g>";
  EXPECT_EQ(summary(compile_text(text).diagnostics), "T1@1:105") << "the 33rd";
}

TEST(TemplateLimits, refuse_a_billion_laughs) {
  std::string text = "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'ha'>";
  for (char c = 'b'; c < 'k'; ++c) text += std::string("<!ENTITY ") + c + " '&" + static_cast<char>(c - 1) + ";'>";
  EXPECT_EQ(summary(compile_text(text + "]><templates>&j;</templates>").diagnostics), "T3@1:22");
}

TEST(TemplateLimits, refuse_references_that_expand_exponentially) {
  for (const char* leaf : {"<uInt32 name='X'/>", "<uInt32 name='X'><constant value='1'/></uInt32>", ""}) {
    std::string text = "<templates><template name='T0'>" + std::string(leaf) + "</template>";
    for (int i = 1; i < 40; ++i) {
      const std::string reference = "<templateRef name='T" + std::to_string(i - 1) + "'/>";
      text += join({"<template name='T", std::to_string(i), "'>", reference, reference, "</template>"});
    }
    const Compiled compiled =
        compile_text(text + "<template name='M' id='1'><templateRef name='T39'/></template></templates>");
    ASSERT_EQ(compiled.diagnostics.errors(), 1U);
    EXPECT_EQ(compiled.diagnostics.all()[0].code, ErrorCode::T1);
  }
}

TEST(TemplateLimits, refuse_a_long_chain_of_references) {
  std::string text = "<templates><template name='T0'/>";
  for (int i = 1; i < 4000; ++i)
    text +=
        "<template name='T" + std::to_string(i) + "'><templateRef name='T" + std::to_string(i - 1) + "'/></template>";
  const Compiled compiled =
      compile_text(text + "<template name='M' id='1'><templateRef name='T3999'/></template></templates>");
  ASSERT_EQ(compiled.diagnostics.errors(), 1U);
  EXPECT_EQ(compiled.diagnostics.all()[0].code, ErrorCode::T1);
}

std::string fields(int count, const std::string& attributes = "", const std::string& content = "") {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += join({"<uInt32 name='F", std::to_string(i), "' ", attributes, ">", content, "</uInt32>"});
  }
  return out;
}

/// Nothing but the hard caps.
ErrorCode first_error(const std::string& text) {
  CompileOptions options;
  options.limits = kHardFileLimits;
  const Compiled compiled = compile_text(text, options);
  EXPECT_EQ(compiled.program.has_value(), compiled.diagnostics.errors() == 0) << compiled.diagnostics.format();
  for (const Diagnostic& item : compiled.diagnostics.all()) {
    if (item.severity == Severity::Error) return item.code;
  }
  return ErrorCode::None;
}

TEST(TemplateLimits, allow_250_words_a_block) {
  EXPECT_EQ(first_error(one_template(fields(250))), ErrorCode::None);
  EXPECT_EQ(first_error(one_template(fields(251))), ErrorCode::T1);
  EXPECT_EQ(first_error(one_template(fields(249) + "<decimal name='D'/>")), ErrorCode::T1);
}

TEST(TemplateLimits, allow_16384_instructions) {
  const std::string sequence =
      "<sequence name='S'>" + fields(247) + "</sequence>";  // SEQ, 247, and NOP BLOCK from the second on.
  std::string body = sequence;
  for (int i = 0; i < 64; ++i) body += sequence;
  EXPECT_EQ(first_error(one_template(body)), ErrorCode::None);
  body += sequence + sequence;
  EXPECT_EQ(first_error(one_template(body)), ErrorCode::T1);
}

TEST(TemplateLimits, allow_4096_slots) {
  const auto with_slots = [](int count) {
    std::string text = "<templates>";
    for (int i = 0; i < count; i += 200) {
      const std::string number = std::to_string(i);
      text += join({"<template name='T", number, "' id='", number, "' dictionary='", number, "'>",
                    fields(std::min(200, count - i), "", "<copy/>"), "</template>"});
    }
    return text + "</templates>";
  };
  EXPECT_EQ(first_error(with_slots(4095)), ErrorCode::None);
  EXPECT_EQ(first_error(with_slots(4096)), ErrorCode::T1) << "slot 0 is the template identifier's";
}

TEST(TemplateLimits, allow_4096_templates) {
  const auto with_templates = [](int count) {
    std::string text = "<templates>";
    for (int i = 1; i <= count; ++i)
      text += "<template name='T" + std::to_string(i) + "' id='" + std::to_string(i) + "'/>";
    return text + "</templates>";
  };
  EXPECT_EQ(first_error(with_templates(4096)), ErrorCode::None);
  EXPECT_EQ(first_error(with_templates(4097)), ErrorCode::T1);
}

TEST(TemplateLimits, allow_8_nested_sequences) {
  const auto nested = [](int depth) {
    return one_template(nest("<uInt32 name='X'/>", depth, "<sequence name='S'>", "</sequence>"));
  };
  EXPECT_EQ(first_error(nested(8)), ErrorCode::None);
  EXPECT_EQ(first_error(nested(9)), ErrorCode::T1);
}

TEST(TemplateLimits, allow_24_nested_presence_maps) {
  const auto nested = [](int depth) {
    return one_template(
        nest("<uInt32 name='X'><copy/></uInt32>", depth - 1, "<group name='G' presence='optional'>", "</group>"));
  };
  EXPECT_EQ(first_error(nested(24)), ErrorCode::None);
  EXPECT_EQ(first_error(nested(25)), ErrorCode::T1);
}

TEST(TemplateLimits, allow_64_elements_in_a_set) {
  const auto set = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "<element name='E" + std::to_string(i) + "'/>";
    return one_template("<set name='X'>" + text + "</set>");
  };
  EXPECT_EQ(first_error(set(64)), ErrorCode::None);
  EXPECT_EQ(first_error(set(65)), ErrorCode::T1);
}

TEST(TemplateLimits, allow_initial_values_that_fit_their_slot) {
  const auto with_value = [](std::size_t length, const std::string& op) {
    return one_template("<string name='X'><" + op + " value='" + std::string(length, 'x') + "'/></string>");
  };
  EXPECT_EQ(first_error(with_value(256, "copy")), ErrorCode::None);
  EXPECT_EQ(first_error(with_value(257, "copy")), ErrorCode::T1);
  EXPECT_EQ(first_error(with_value(257, "constant")), ErrorCode::None);
  EXPECT_EQ(first_error(with_value(limits::kMaxStringBytes, "default")), ErrorCode::None);
  EXPECT_EQ(first_error(with_value(limits::kMaxStringBytes + 1, "default")), ErrorCode::T1);
}

TEST(TemplateLimits, allow_names_of_256_bytes) {
  EXPECT_EQ(first_error(one_template("<uInt32 name='" + std::string(256, 'x') + "'/>")), ErrorCode::None);
  EXPECT_EQ(first_error(one_template("<uInt32 name='" + std::string(257, 'x') + "'/>")), ErrorCode::T1);
}

TEST(TemplateLimits, check_the_options) {
  for (const auto& [capacity, slots] : {std::pair{0U, 1U}, {4097U, 1U}, {1U, 0U}, {1U, 65536U}}) {
    CompileOptions options;
    options.string_capacity = capacity;
    options.max_record_slots = slots;
    EXPECT_EQ(summary(compile_text(one_template(""), options).diagnostics), "T1");
  }
}

}  // namespace stopbit::templates::bad_templates_test
