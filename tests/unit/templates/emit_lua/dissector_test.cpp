#include "templates/emit/lua/dissector.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/templates/compile_text.hpp"

namespace stopbit::emit::dissector_test {

Program compile(const std::string& content) {
  templates::CompileOptions options;
  options.supply_fast_reset = false;
  templates::Compiled compiled = templates::compile_text(
      "<templates xmlns='http://www.fixprotocol.org/ns/fast/td/1.1'>" + content + "</templates>", options);
  EXPECT_TRUE(compiled.program) << compiled.diagnostics.format();
  return compiled.program ? *std::move(compiled.program) : Program{};
}

TEST(ProtocolName, is_lower_case_letters_digits_and_underscores) {
  for (const char* name : {"ab", "cme", "b3_umdf", "t7"}) EXPECT_TRUE(is_protocol_name(name)) << name;
  for (const char* name : {"a", "", "Cme", "7t", "_a", "a.b", "a-b", "a b", "a\"", "\xC3\xA4"}) {
    EXPECT_FALSE(is_protocol_name(name)) << name;
  }
  EXPECT_TRUE(is_protocol_name(std::string(40, 'a')));
  EXPECT_FALSE(is_protocol_name(std::string(41, 'a')));
}

TEST(FilterNames, have_the_template_before_them_whatever_is_between) {
  const FilterNames names = filter_names(
      compile("<template name='T' id='1'><uInt32 name='A'/><sequence name='S'><uInt32 name='B'/><group name='G'>"
              "<uInt32 name='C'/></group></sequence></template>"));
  EXPECT_EQ(names.templates, std::vector<std::string>{"T"});
  EXPECT_EQ(names.nodes, (std::vector<std::string>{"T.A", "T.S", "T.B", "T.G", "T.C"}));
}

TEST(FilterNames, of_one_name_and_type_are_shared_and_of_another_type_get_a_number) {
  const FilterNames names = filter_names(
      compile("<template name='T' id='1'><uInt32 name='A'/><sequence name='S'><uInt32 name='A'/><string name='A'/>"
              "<string name='A'/></sequence><uInt32 name='A_2'/></template>"));
  EXPECT_EQ(names.nodes, (std::vector<std::string>{"T.A", "T.S", "T.A", "T.A_2", "T.A_2", "T.A_2_2"}));
}

TEST(FilterNames, have_underscores_for_what_filters_do_not_allow) {
  const FilterNames names = filter_names(
      compile("<template name='a b' id='1'><uInt32 name='x.y-z'/></template>"
              "<template name='a?b' id='2'><uInt32 name='\xC3\xA4'/></template><template name='error' id='3'/>"));
  EXPECT_EQ(names.templates, (std::vector<std::string>{"a_b", "a_b_2", "error_2"}));
  EXPECT_EQ(names.nodes, (std::vector<std::string>{"a_b.x_y_z", "a_b_2.__"}));
}

TEST(FilterNames, of_values_of_a_vector_follow_the_vector) {
  const FilterNames names = filter_names(compile("<template name='T' id='1'><uInt32Vector name='V'/></template>"));
  EXPECT_EQ(names.nodes, (std::vector<std::string>{"T.V", "T.V.value"}));
}

TEST(Dissector, is_printable_ascii_whatever_the_names_hold) {
  Program program = compile(
      "<template name='TTTT' id='1'><uInt32 name='NNNN'/><string name='SSSS'><constant "
      "value='CCCC'/></string></template>");
  std::uint8_t next = 0;
  for (std::string* pool : {&program.names, &program.constant_pool}) {
    for (char& c : *pool) c = static_cast<char>(next += 37);
  }
  const std::string text = lua_dissector(program, {});
  const auto is_harmless = [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); };
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), is_harmless));
}

TEST(Dissector, of_the_same_program_is_the_same) {
  const Program program = compile("<template name='T' id='1'><uInt32 name='A'/></template>");
  DissectorOptions other;
  other.name = "other";
  EXPECT_EQ(lua_dissector(program, {}), lua_dissector(program, {}));
  EXPECT_NE(lua_dissector(program, {}), lua_dissector(program, other));
}

TEST(Dissector, writes_integers_beyond_2_to_the_53_as_pairs) {
  const std::string text =
      lua_dissector(compile("<template name='T' id='1'><uInt64 name='A'><copy value='18446744073709551615'/></uInt64>"
                            "<int64 name='B'><copy value='-9223372036854775808'/></int64>"
                            "<int64 name='C'><copy value='-9007199254740992'/></int64>"
                            "<uInt64 name='D'><copy value='9007199254740992'/></uInt64></template>"),
                    {});
  EXPECT_NE(text.find("initial = { 4294967295, 4294967295 }"), std::string::npos);
  EXPECT_NE(text.find("initial = { -2147483648, 0 }"), std::string::npos);
  EXPECT_NE(text.find("initial = -9007199254740992"), std::string::npos);
  EXPECT_NE(text.find("initial = { 2097152, 0 }"), std::string::npos);
}

}  // namespace stopbit::emit::dissector_test
