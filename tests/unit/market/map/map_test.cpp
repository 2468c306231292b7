#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "host/market/map/map.hpp"
#include "templates/compiler.hpp"

namespace stopbit::market::map_test {

using ::testing::HasSubstr;

constexpr const char* kTemplates = R"(<templates>
  <template name="Refresh" id="1">
    <uInt32 name="MsgSeqNum"/>
    <sequence name="Entries">
      <uInt32 name="Action"/><string name="Type"/><uInt32 name="Security"/><uInt32 name="RptSeq"/>
      <uInt32 name="Level" presence="optional"/><decimal name="Price"/><int32 name="Size"/>
      <sequence name="Parts"><uInt32 name="Part"/></sequence>
      <uInt32 name="After" presence="optional"/>
    </sequence>
    <uInt32 name="Flag" presence="optional"/>
  </template>
  <template name="Beat" id="2"><uInt32 name="MsgSeqNum"/></template>
  <template name="Hello" id="3"><string name="Text"/></template>
</templates>)";

const std::string kFeed = R"([feed]
name = "test"
[sequence]
message = "MsgSeqNum"
entry = "RptSeq"
[instrument]
key = ["Security"]
)";
const std::string kBook = R"([[book]]
by = "level"
action = "Action"
actions = { 0 = "new", 2 = "delete" }
position = "Level"
price = "Price"
quantity = "Size"
)";
const std::string kMessages = R"([[message]]
kind = "incremental"
templates = ["Ref*"]
entries = "Entries"
[[message]]
kind = "heartbeat"
templates = ["Beat"]
)";
const std::string kEntries = R"([[entry]]
when = { Type = "0" }
role = "book"
side = "bid"
[[entry]]
role = "other"
)";

Program compile(const char* text = kTemplates) {
  Diagnostics diagnostics;
  auto program = templates::compile({std::make_shared<SourceBuffer>("t.xml", text)}, {}, diagnostics);
  EXPECT_TRUE(program) << diagnostics.format();
  return program.value_or(Program());
}

struct Compiled {
  explicit Compiled(const std::string& text, const char* xml = kTemplates) : program(compile(xml)) {
    auto source = read_map("m.toml", text, diagnostics);
    if (source) map = compile_map(std::move(*source), program, diagnostics);
  }
  Program program;
  Diagnostics diagnostics;
  std::optional<Map> map;
};

std::string errors_of(const std::string& text) {
  const Compiled compiled(text);
  EXPECT_FALSE(compiled.map);
  return compiled.diagnostics.format();
}

TEST(Map, compiles_names_to_places) {
  const Compiled compiled(kFeed + kBook + kMessages + kEntries);
  ASSERT_TRUE(compiled.map) << compiled.diagnostics.format();
  const Map& map = *compiled.map;
  ASSERT_GE(map.plans.size(), 3U);
  EXPECT_EQ(map.plans[0].kind, MessageKind::Incremental);
  EXPECT_TRUE(map.plans[0].numbered);
  EXPECT_FALSE(map.plans[0].two_passes);
  EXPECT_EQ(map.plans[1].kind, MessageKind::Heartbeat);
  EXPECT_EQ(map.plans[2].kind, MessageKind::None);
}

TEST(Map, knows_values_of_the_message_that_come_after_its_entries) {
  std::string text = kFeed + kBook + kMessages + kEntries;
  text.replace(text.find("name = \"test\""), 13, "name = \"test\"\nevent = { Flag = 1 }");
  const Compiled compiled(text);
  ASSERT_TRUE(compiled.map) << compiled.diagnostics.format();
  EXPECT_TRUE(compiled.map->plans[0].two_passes);
}

TEST(Map, says_where_a_name_is_wrong_and_which_one_is_near) {
  std::string text = kFeed + kBook + kMessages + kEntries;
  text.replace(text.find("\"Price\""), 7, "\"Prise\"");
  EXPECT_THAT(errors_of(text), HasSubstr("m.toml:13:9: error: no template of the map has a field 'Prise'; did you mean "
                                         "'Price'?"));
  text = kFeed + kBook + kMessages + kEntries;
  text.replace(text.find("\"Entries\""), 9, "\"Entrys\"");
  EXPECT_THAT(errors_of(text), HasSubstr("has a sequence 'Entrys'; did you mean 'Entries'?"));
  text = kFeed + kBook + kMessages + kEntries;
  text.replace(text.find("\"delete\""), 8, "\"delte\"");
  EXPECT_THAT(errors_of(text), HasSubstr("did you mean 'delete'?"));
  text = kFeed + kBook + kMessages + kEntries;
  text.replace(text.find("side = \"bid\""), 12, "sidee = \"bid\"");
  EXPECT_THAT(errors_of(text), HasSubstr("unknown key 'sidee'; did you mean 'side'?"));
}

TEST(Map, wants_a_rule_for_each_numbered_template) {
  std::string text = kFeed + kBook + kMessages + kEntries;
  text.replace(text.find("\"Beat\""), 6, "\"Beats\"");
  const std::string errors = errors_of(text);
  EXPECT_THAT(errors, HasSubstr("no rule for the template 'Beat', whose messages have a number; did you mean it with "
                                "'Beats'?"));
  EXPECT_THAT(errors, HasSubstr("m.toml:21:14"));
}

TEST(Map, wants_key_and_number_in_each_template_with_entries) {
  std::string text = kFeed + kBook + kMessages + kEntries;
  text.replace(text.find("[\"Security\"]"), 12, "[\"Text\"]");
  EXPECT_THAT(errors_of(text), HasSubstr("the template 'Refresh' has no field 'Text', a part of the key"));
}

TEST(Map, takes_messages_without_entries_for_entries) {
  const std::string xml = R"(<templates><template name="Tick" id="1"><uInt32 name="MsgSeqNum"/>
    <uInt32 name="Security"/><uInt32 name="RptSeq"/><decimal name="Price"/><int32 name="Size"/></template></templates>)";
  const std::string rules = "[[message]]\nkind = \"incremental\"\ntemplates = [\"Tick\"]\n" +
                            std::string("[[entry]]\nrole = \"trade\"\nprice = \"Price\"\nquantity = \"Size\"\n");
  const Compiled compiled(kFeed + rules, xml.c_str());
  ASSERT_TRUE(compiled.map) << compiled.diagnostics.format();
  EXPECT_TRUE(compiled.map->plans[0].is_entry);
  std::string text = kFeed + kBook + kMessages + kEntries;
  text.replace(text.find("entries = \"Entries\"\n"), 20, "");
  EXPECT_THAT(errors_of(text), HasSubstr("the template 'Refresh' has no field 'Security', a part of the key; it is the "
                                         "entry itself, as its rule names no 'entries'"));
}

TEST(Map, wants_to_know_where_entries_of_books_belong_and_what_they_hold) {
  const std::string all = kFeed + kBook + kMessages + kEntries;
  const auto without = [&](const std::string& line) {
    std::string text = all;
    text.replace(text.find(line), line.size(), "");
    return text;
  };
  EXPECT_THAT(errors_of(without("position = \"Level\"\n")),
              HasSubstr("m.toml:8:1: error: a book by level needs 'position', or 'depth = 1'"));
  EXPECT_THAT(errors_of(without("price = \"Price\"\n")),
              HasSubstr("m.toml:8:1: error: the book needs 'price', or each of its entries does"));
  EXPECT_THAT(errors_of(without("quantity = \"Size\"\n")), HasSubstr("the book needs 'quantity'"));
  std::string text = without("position = \"Level\"\n");
  text.replace(text.find("by = \"level\""), 12, "by = \"level\"\ndepth = 1");
  EXPECT_TRUE(Compiled(text).map);
  text = without("price = \"Price\"\n");
  text.replace(text.find("side = \"bid\""), 12, "side = \"bid\"\nprice = \"Price\"");
  EXPECT_TRUE(Compiled(text).map);
}

TEST(Map, wants_the_fields_of_book_entries_in_each_template) {
  const std::string xml = R"(<templates><template name="Refresh" id="1"><uInt32 name="MsgSeqNum"/>
    <sequence name="Entries"><uInt32 name="Action"/><string name="Type"/><uInt32 name="Security"/>
      <uInt32 name="RptSeq"/><uInt32 name="Level"/><decimal name="Price"/><int32 name="Size"/></sequence></template>
    <template name="Picture" id="4"><uInt32 name="MsgSeqNum"/><uInt32 name="Security"/>
    <sequence name="Entries"><string name="Type"/><int32 name="Size"/></sequence></template></templates>)";
  const std::string text = kFeed + kBook + kMessages + "[[message]]\nkind = \"snapshot\"\n" +
                           "templates = [\"Picture\"]\nentries = \"Entries\"\n" + kEntries;
  const Compiled compiled(text, xml.c_str());
  EXPECT_FALSE(compiled.map);
  const std::string errors = compiled.diagnostics.format();
  EXPECT_THAT(errors,
              HasSubstr("m.toml:12:12: error: the template 'Picture' has no field 'Level', the position of book "
                        "entries"));
  EXPECT_THAT(errors, HasSubstr("m.toml:13:9: error: the template 'Picture' has no field 'Price', the price of book "
                                "entries"));
}

TEST(Map, wants_a_scope_at_the_top_of_each_numbered_template) {
  std::string text = kFeed + kBook + kMessages + kEntries;
  text.replace(text.find("entry = \"RptSeq\""), 16, "entry = \"RptSeq\"\nscope = [\"Security\"]");
  EXPECT_THAT(errors_of(text), HasSubstr("has no field 'Security' at its top, the scope of its number"));
}

TEST(Map, refuses_values_that_an_enumeration_does_not_have) {
  const char* const xml = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.2">
    <define name="Types"><enum><element name="0" id="Bid"/><element name="1" id="Offer"/></enum></define>
    <template name="Refresh" id="1">
      <uInt32 name="MsgSeqNum"/>
      <sequence name="Entries">
        <field name="Type"><type name="Types"/></field>
        <uInt32 name="Security"/><uInt32 name="RptSeq"/>
      </sequence>
    </template></templates>)";
  const std::string rest = "[[message]]\nkind = \"incremental\"\ntemplates = [\"Refresh\"]\nentries = \"Entries\"\n";
  const Compiled good(kFeed + rest + "[[entry]]\nwhen = { Type = [\"Bid\", \"1\"] }\nrole = \"other\"\n", xml);
  EXPECT_TRUE(good.map) << good.diagnostics.format();
  const Compiled bad(kFeed + rest + "[[entry]]\nwhen = { Type = \"Ofer\" }\nrole = \"other\"\n", xml);
  EXPECT_FALSE(bad.map);
  EXPECT_THAT(bad.diagnostics.format(), HasSubstr("m.toml:13:17: error: the field has no value 'Ofer'; did you mean "
                                                  "'Offer'?"));
}

TEST(Map, wants_one_way_to_test_a_field) {
  std::string text = kFeed + kBook + kMessages + kEntries;
  text.replace(text.find("{ Type = \"0\" }"), 14, "{ Size = { any_of = 1, above = 5 } }");
  EXPECT_THAT(errors_of(text), HasSubstr("m.toml:23:10: error: the test of 'Size' has more than one of"));
}

TEST(Map, tests_bits_and_sizes_of_integers_only) {
  for (const std::string field : {"Type", "Price"}) {
    for (const std::string way : {"any_of = 1", "none_of = 1", "above = 5"}) {
      std::string text = kFeed + kBook + kMessages + kEntries;
      text.replace(text.find("{ Type = \"0\" }"), 14, "{ " + field + " = { " + way + " } }");
      EXPECT_THAT(errors_of(text), HasSubstr("m.toml:23:10: error: '" + field + "' is a ")) << way;
    }
  }
}

TEST(Map, takes_the_first_letters_of_texts_only) {
  const auto with = [](const std::string& state) {
    std::string text = kFeed + kBook + kMessages + kEntries;
    text.replace(text.find("kind = \"heartbeat\""), 18, "kind = \"state\"\nstate = " + state);
    return text + "[scale.phase]\nopen = [\"T\"]\n";
  };
  EXPECT_THAT(errors_of(with("{ field = \"MsgSeqNum\", scale = \"phase\", letters = 1 }")),
              HasSubstr("m.toml:21:19: error: 'letters' is for texts, and the field 'MsgSeqNum' is none"));
  for (const std::string letters : {"0", "8"}) {
    EXPECT_THAT(errors_of(with("{ field = \"MsgSeqNum\", scale = \"phase\", letters = " + letters + " }")),
                HasSubstr("letters"));
  }
}

TEST(Map, is_bounded) {
  std::string many = kFeed + kBook + kMessages;
  for (int i = 0; i < 65; ++i) many += "[[entry]]\nrole = \"other\"\n";
  EXPECT_THAT(errors_of(many), HasSubstr("'entry' must have 0 to 64 entries"));
  std::string fields = kFeed + kBook + kMessages;
  for (int i = 0; i < 64; ++i) {
    fields += "[[entry]]\nrole = \"other\"\nprice = \"F" + std::to_string(i) + "\"\n";
  }
  EXPECT_THAT(errors_of(fields), HasSubstr("a map names at most 63 fields"));
}

TEST(Map, patterns_have_stars_anywhere) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("X-*-CURR", "X-OLR-CURR"));
  EXPECT_FALSE(matches("X-*-CURR", "X-OLR-FOND"));
  EXPECT_TRUE(matches("*ab*", "xxaabb"));
  EXPECT_FALSE(matches("abc", "ab"));
  EXPECT_FALSE(matches("ab", "abc"));
}

}  // namespace stopbit::market::map_test
