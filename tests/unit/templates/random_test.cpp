#include <gtest/gtest.h>

#include <random>

#include "microcode/verify/verify.hpp"
#include "tests/unit/templates/compile_text.hpp"

namespace stopbit::templates::random_test {

/// Writes template files without errors: every type, operator, dictionary and way of nesting.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::string file() {
    std::string out = "<templates" + maybe(" dictionary='" + dictionary() + "'") + ">";
    out += "<define name='Side'><enum><element name='B'/><element name='S'/></enum></define>";
    const unsigned count = 1 + below(5);
    for (unsigned i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      const std::string id = i == 0 || below(3) != 0 ? " id='" + number + "'" : "";
      out += join({"<template name='T", number, "'", id, maybe(" reset='yes'"), ">",
                   maybe("<typeRef name='Y" + number + "'/>"), body(i, 0), "</template>"});
    }
    return out + "</templates>";
  }

 private:
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
  std::string maybe(const std::string& text) { return below(2) == 0 ? text : std::string(); }
  template <std::size_t N>
  std::string one_of(const char* const (&choices)[N]) {
    return choices[below(N)];
  }

  std::string dictionary() { return one_of({"global", "template", "type", "own"}); }
  std::string name() { return std::string(1, static_cast<char>('a' + below(26))); }

  std::string body(unsigned template_number, unsigned depth) {
    std::string out;
    for (unsigned i = below(6); i > 0; --i) out += instruction(template_number, depth);
    return out;
  }

  std::string instruction(unsigned template_number, unsigned depth) {
    const std::string presence = maybe(" presence='optional'");
    const std::string attributes =
        " name='" + name() + "'" + presence + maybe(below(3) == 0 ? " dictionary='" + dictionary() + "'" : "");
    switch (depth < 5 ? below(10) : 9) {
      case 0:
      case 1: return "<group" + attributes + ">" + body(template_number, depth + 1) + "</group>";
      case 2:
        return "<sequence" + attributes + ">" +
               maybe("<length" + maybe(" name='n'") + ">" + integer_operator(!presence.empty()) + "</length>") +
               body(template_number, depth + 1) + "</sequence>";
      case 3:
        return template_number == 0 ? "" : "<templateRef name='T" + std::to_string(below(template_number)) + "'/>";
      case 4: return "<templateRef/>";
      default: return field(presence);
    }
  }

  std::string field(const std::string& presence) {
    const bool optional = !presence.empty();
    const std::string attributes = " name='" + name() + "'" + presence;
    const auto element = [&](const std::string& type, const std::string& content) {
      return "<" + type + attributes + ">" + content + "</" + type + ">";
    };
    switch (below(6)) {
      case 0: return element("decimal", plain_operator("-12.50", optional) + "");
      case 1:
        return element("decimal", "<exponent>" + integer_operator(optional) + "</exponent><mantissa>" +
                                      integer_operator(false) + "</mantissa>");
      case 2: return element(one_of({"string", "byteVector"}), string_operator(optional));
      case 3: return "<field" + attributes + "><type name='Side'>" + choice_operator(optional) + "</type></field>";
      default:
        return element(one_of({"int8", "uInt8", "int16", "uInt16", "int32", "uInt32", "int64", "uInt64", "timestamp"}),
                       integer_operator(optional));
    }
  }

  std::string key() { return maybe(" dictionary='" + dictionary() + "'") + maybe(below(3) == 0 ? " key='k'" : ""); }

  std::string choice_operator(bool optional) {
    switch (below(4)) {
      case 0: return "<constant value='S'/>";
      case 1: return "<default" + (optional ? maybe(" value='S'") : " value='S'") + "/>";
      case 2: return "<copy" + maybe(" value='S'") + key() + "/>";
      default: return "";
    }
  }

  std::string plain_operator(const std::string& value, bool optional) {
    const std::string with_value = " value='" + value + "'";
    switch (below(5)) {
      case 0: return "<constant" + with_value + "/>";
      case 1: return "<default" + (optional ? maybe(with_value) : with_value) + "/>";
      case 2: return "<copy" + maybe(with_value) + key() + "/>";
      case 3: return "<delta" + maybe(with_value) + key() + "/>";
      default: return "";
    }
  }

  std::string integer_operator(bool optional) {
    return below(5) == 0 ? "<increment" + maybe(" value='3'") + key() + "/>" : plain_operator("7", optional);
  }
  std::string string_operator(bool optional) {
    return below(5) == 0 ? "<tail" + maybe(" value='41'") + key() + "/>" : plain_operator("4142", optional);
  }

  std::mt19937 random_;
};

TEST(RandomTemplates, compile_to_programs_that_verify) {
  unsigned compiled_files = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const std::string text = Generator(seed).file();
    const Compiled compiled = compile_text(text);
    for (const Diagnostic& item : compiled.diagnostics.all()) {
      // Random nesting may exceed a limit; nothing else is wrong with the files.
      ASSERT_TRUE(item.severity != Severity::Error || item.code == ErrorCode::T1)
          << "seed " << seed << '\n'
          << compiled.diagnostics.format() << text;
    }
    if (!compiled.program) continue;
    ++compiled_files;
    ASSERT_TRUE(verify::check(*compiled.program).ok()) << "seed " << seed;
    ASSERT_EQ(compiled.program, compile_text(text).program) << "the same text gives the same program";
  }
  EXPECT_GT(compiled_files, 270U);
}

}  // namespace stopbit::templates::random_test
