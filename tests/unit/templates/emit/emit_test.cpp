#include <gtest/gtest.h>

#include <string>

#include "templates/emit/cpp/cpp_view.hpp"
#include "templates/emit/schema/json_schema.hpp"
#include "tests/unit/templates/emit/maker.hpp"

namespace stopbit::emit::emit_test {

using testing::compile_file;

/// A program whose every text is hostile, as an image from a stranger may be.
Program hostile(const std::string& name) {
  Program program = compile_file(STOPBIT_EMIT_TEST_FOLDER "/rich.xml");
  const auto offset = static_cast<std::uint32_t>(program.names.size());
  program.names += name;
  const TextRef ref{offset, static_cast<std::uint32_t>(name.size())};
  for (Template& item : program.templates) item.name = ref;
  for (SchemaNode& node : program.nodes) node.name = node.length_name = node.name_space = node.epoch = ref;
  for (TypeInfo& type : program.type_infos) type.name = ref;
  for (Element& element : program.elements) element.name = element.label = ref;
  for (Source& source : program.sources) source.name = ref;
  return program;
}

TEST(CppView, is_the_same_for_the_same_program) {
  const Program program = compile_file(STOPBIT_SAMPLE_FOLDER "/templates.xml");
  EXPECT_EQ(cpp_view(program, {}), cpp_view(program, {}));
  EXPECT_NE(cpp_view(program, {}), cpp_view(program, {.name_space = "other"}));
}

TEST(CppView, lets_no_name_out_of_its_place) {
  // NOLINTNEXTLINE(misc-misleading-bidirectional): one of them
  for (const std::string name : {"x */ #error \"", "\n#error\n", "x\\", "?\?/\n#error", "\"); system(\"",
                                 "\xe2\x80\xaexyz", "R\"(", "%:error"}) {
    const std::string text = cpp_view(hostile(name), {});
    for (const char c : text) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F)) << name;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      const std::size_t first = line.find_first_not_of(' ');
      if (first == std::string::npos) continue;
      ASSERT_NE(line.back(), '\\') << line;
      ASSERT_TRUE(line[first] != '#' || line.starts_with("#pragma once") || line.starts_with("#include \"decoder/"))
          << line;
      const bool is_comment = line.substr(first).starts_with("//");
      ASSERT_TRUE(is_comment || line.find("\"); system") == std::string::npos) << line;
      ASSERT_EQ(line.find("?\?/"), std::string::npos) << line;
    }
  }
}

TEST(CppView, names_of_any_length_stay_whole) {
  const std::string name(250, 'n');
  EXPECT_NE(cpp_view(hostile(name), {}).find(name + "_2"), std::string::npos);
}

TEST(JsonSchema, is_the_same_for_the_same_program_and_escapes_names) {
  const Program program = compile_file(STOPBIT_SAMPLE_FOLDER "/templates.xml");
  EXPECT_EQ(json_schema(program), json_schema(program));
  const std::string text = json_schema(hostile("a\"b\n"));
  EXPECT_NE(text.find(R"("a\"b\n")"), std::string::npos);
  EXPECT_EQ(text.find("a\"b"), std::string::npos);
}

}  // namespace stopbit::emit::emit_test
