#include "templates/session/session.hpp"

#include <gtest/gtest.h>

#include <string>

#include "compile_text.hpp"
#include "templates/session/name_space.hpp"

// The session control messages that the compiler adds on request.
namespace stopbit::templates::session_test {

const CompileOptions kWithSession = [] {
  CompileOptions options;
  options.session_control = true;
  return options;
}();

const Template* find_template(const Program& program, std::uint32_t id) {
  for (const Template& item : program.templates) {
    if (item.id == id) return &item;
  }
  return nullptr;
}

TEST(SessionControl, is_added_behind_the_templates_of_the_feed) {
  const Compiled compiled = compile_text("<template name='X' id='1'><uInt32 name='A'/></template>", kWithSession);
  ASSERT_TRUE(compiled.program) << compiled.diagnostics.format();
  const Program& program = *compiled.program;
  EXPECT_EQ(program.name(program.templates[0].name), "X");
  for (const std::uint32_t id : {120U, 16'002U, 16'003U, 16'010U, 16'011U, 16'033U}) {
    const Template* item = find_template(program, id);
    ASSERT_NE(item, nullptr) << id;
    EXPECT_EQ(program.name(item->name_space), session::kNamespace);
    EXPECT_FALSE(item->supplied);
    EXPECT_EQ(item->source, 1U) << "the built-in file";
  }
  EXPECT_TRUE(find_template(program, 16'002)->reset) << "hello resets the dictionary";
  EXPECT_TRUE(find_template(program, 120)->reset);
  EXPECT_FALSE(find_template(program, 16'003)->reset);
}

TEST(SessionControl, leaves_out_what_the_feed_has_by_identifier) {
  const Compiled compiled = compile_text("<template name='FastReset' id='120' reset='yes'/>", kWithSession);
  ASSERT_TRUE(compiled.program) << compiled.diagnostics.format();
  const Program& program = *compiled.program;
  EXPECT_EQ(program.name(find_template(program, 120)->name), "FastReset");
  EXPECT_NE(find_template(program, 16'002), nullptr);
}

TEST(SessionControl, leaves_out_what_the_feed_has_by_name) {
  const std::string file(session::source()->text());
  const Compiled compiled = compile_text(file, kWithSession);
  ASSERT_TRUE(compiled.program) << compiled.diagnostics.format();
  const Compiled without = compile_text(file);
  ASSERT_TRUE(without.program);
  EXPECT_EQ(compiled.program->templates.size(), without.program->templates.size());
  EXPECT_EQ(compiled.program->code, without.program->code);
}

TEST(SessionControl, does_not_count_when_the_only_template_wants_an_identifier) {
  CompileOptions options = kWithSession;
  EXPECT_EQ(summary(compile_text("<template name='X'><uInt32 name='A'/></template>", options).diagnostics), "T5@1:1");
  options.template_id = 77;
  const Compiled compiled = compile_text("<template name='X'><uInt32 name='A'/></template>", options);
  ASSERT_TRUE(compiled.program) << compiled.diagnostics.format();
  EXPECT_EQ(compiled.program->name(find_template(*compiled.program, 77)->name), "X");
}

}  // namespace stopbit::templates::session_test
