#include <gtest/gtest.h>

#include "templates/xml/document.hpp"

namespace stopbit::templates::xml::xml_test {

struct Parsed {
  std::optional<Element> root;
  Diagnostics diagnostics;
};

Parsed parse_text(const std::string& text) {
  Parsed out;
  Report report(out.diagnostics);
  out.root = parse(std::make_shared<SourceBuffer>("x.xml", text), {}, report);
  return out;
}

std::string_view text_at(const SourceRange& range) {
  return range.source->text().substr(range.offset, range.length);
}

TEST(XmlReader, knows_the_place_of_every_element_and_attribute) {
  const Parsed parsed =
      parse_text("<?xml version='1.0'?>\n<!-- <no/> -->\n<a  b = \"1\"\n\tc='>'><d/>\n<e f='2'>\n</e></a>");
  ASSERT_TRUE(parsed.root) << parsed.diagnostics.format();
  EXPECT_EQ(text_at(parsed.root->range), "<a  b = \"1\"\n\tc='>'>");
  ASSERT_EQ(parsed.root->attributes.size(), 2U);
  EXPECT_EQ(text_at(parsed.root->attributes[0].range), "b = \"1\"");
  EXPECT_EQ(text_at(parsed.root->attributes[1].range), "c='>'");
  ASSERT_EQ(parsed.root->children.size(), 2U);
  EXPECT_EQ(text_at(parsed.root->children[0].range), "<d/>");
  EXPECT_EQ(text_at(parsed.root->children[1].range), "<e f='2'>");
  EXPECT_FALSE(parsed.root->text);
}

TEST(XmlReader, counts_a_byte_order_mark_as_bytes_of_the_file) {
  const Parsed parsed = parse_text("\xEF\xBB\xBF<a><b c='1'/></a>");
  ASSERT_TRUE(parsed.root) << parsed.diagnostics.format();
  EXPECT_EQ(text_at(parsed.root->children[0].range), "<b c='1'/>");
  EXPECT_EQ(text_at(parsed.root->children[0].attributes[0].range), "c='1'");
}

TEST(XmlReader, replaces_references) {
  const Parsed parsed = parse_text("<a b='&lt;&amp;&#65;&#x42;&quot;'/>");
  ASSERT_TRUE(parsed.root) << parsed.diagnostics.format();
  EXPECT_EQ(parsed.root->attributes[0].value, "<&AB\"");
}

TEST(XmlReader, resolves_namespaces) {
  const Parsed parsed =
      parse_text("<a xmlns='u' xmlns:p='v' p:x='1' y='2'><p:b/><c xmlns=''/><d xmlns:p='w'><p:e/></d><p:f/></a>");
  ASSERT_TRUE(parsed.root) << parsed.diagnostics.format();
  const Element& root = *parsed.root;
  EXPECT_EQ(root.name_space, "u");
  ASSERT_EQ(root.attributes.size(), 2U) << "declarations are no attributes";
  EXPECT_EQ(root.attributes[0].name_space, "v");
  EXPECT_EQ(root.attributes[0].name, "x");
  EXPECT_EQ(root.attributes[1].name_space, "") << "the default namespace is not for attributes";
  EXPECT_EQ(root.find("x"), nullptr);
  EXPECT_EQ(root.find("y")->value, "2");
  EXPECT_EQ(root.children[0].name_space, "v");
  EXPECT_EQ(root.children[0].name, "b");
  EXPECT_EQ(root.children[1].name_space, "");
  EXPECT_EQ(root.children[2].children[0].name_space, "w");
  EXPECT_EQ(root.children[3].name_space, "v") << "the inner declaration has ended";
}

TEST(XmlReader, knows_where_text_begins) {
  const Parsed parsed = parse_text("<a> <b>\n  hi</b><c><![CDATA[x]]></c></a>");
  ASSERT_TRUE(parsed.root) << parsed.diagnostics.format();
  EXPECT_FALSE(parsed.root->text);
  ASSERT_TRUE(parsed.root->children[0].text);
  EXPECT_EQ(parsed.root->children[0].text->offset, 10U);
  EXPECT_TRUE(parsed.root->children[1].text);
}

TEST(XmlReader, goes_on_after_a_double_attribute) {
  const Parsed parsed = parse_text("<a b='1' b='2'><c d='1' d='2'/></a>");
  EXPECT_TRUE(parsed.root);
  EXPECT_EQ(parsed.diagnostics.errors(), 2U);
}

TEST(XmlReader, refuses_utf16) {
  const Parsed parsed = parse_text(std::string("\xFF\xFE<\0a\0/\0>\0", 10));
  EXPECT_FALSE(parsed.root);
  EXPECT_EQ(parsed.diagnostics.errors(), 1U);
}

TEST(XmlReader, refuses_a_null_byte_anywhere) {
  for (const std::string& text :
       {std::string("<a/>\0<b/>", 9), std::string("<a>\0</a>", 8), std::string("<a b='\0'/>", 10)}) {
    EXPECT_FALSE(parse_text(text).root);
  }
}

TEST(XmlReader, allows_32_nested_elements) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "<a>";
    for (int i = 0; i < depth; ++i) text += "</a>";
    return text;
  };
  EXPECT_TRUE(parse_text(nested(32)).root);
  EXPECT_FALSE(parse_text(nested(33)).root);
}

TEST(XmlReader, bounds_the_number_of_attributes_and_elements) {
  std::string attributes;
  for (int i = 0; i < 65; ++i) attributes += " a" + std::to_string(i) + "=''";
  EXPECT_FALSE(parse_text("<a" + attributes + "/>").root);
  std::string elements = "<a>";
  for (int i = 0; i < (1 << 18); ++i) elements += "<b/>";
  const Parsed parsed = parse_text(elements + "</a>");
  EXPECT_FALSE(parsed.root);
  ASSERT_EQ(parsed.diagnostics.errors(), 1U);
  EXPECT_EQ(parsed.diagnostics.all()[0].code, ErrorCode::T1);
}

TEST(XmlReader, agrees_with_the_library_on_awkward_texts) {
  for (const char* text : {"<a><!-- <b> --><c/></a>", "<a><![CDATA[<b>]]><c/></a>", "<a><?pi <b> ?><c/></a>",
                           "<a>&lt;b&gt;<c/></a>", "<a x='/>'><c/></a>", "<a ><c / ></a>", "<a\n/>", "<a></a\n>",
                           "<a:b xmlns:a='u'/>", "<?xml version='1.0'?><!----><a/>"}) {
    const Parsed parsed = parse_text(text);
    EXPECT_EQ(parsed.root.has_value(), std::string_view(text) != "<a ><c / ></a>") << text << '\n'
                                                                                   << parsed.diagnostics.format();
  }
}

}  // namespace stopbit::templates::xml::xml_test
