#include "host/os/config/toml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stopbit::config::toml_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Read {
  explicit Read(std::string text) : document(Document::parse("a.toml", std::move(text), diagnostics)) {}
  Diagnostics diagnostics;
  Document document;
  [[nodiscard]] Table root() const { return document.root(); }
  [[nodiscard]] std::string errors() const { return diagnostics.format(); }
};

TEST(Toml, reads_values_of_every_kind) {
  Read file(
      "name = 'feed'\nsize = '3MiB'\nwait = '250us'\ncount = 7\nload = 0.5\nwhole = 2\non = true\n"
      "words = ['a', 'b']\nnumbers = [1, 2]\n[inner]\nx = 1\n[[item]]\nn = 1\n[[item]]\nn = 2\n");
  Table root = file.root();
  EXPECT_EQ(root.text("name"), "feed");
  EXPECT_EQ(root.bytes("size", {}), 3U << 20);
  EXPECT_EQ(root.duration_ns("wait", {}), 250'000U);
  EXPECT_EQ(root.integer("count", {}), 7U);
  EXPECT_EQ(root.real("load", {0, 1}), 0.5);
  EXPECT_EQ(root.real("whole", {0, 2}), 2);
  EXPECT_TRUE(root.flag("on"));
  EXPECT_THAT(root.texts("words"), ElementsAre("a", "b"));
  EXPECT_THAT(root.integers("numbers", {}), ElementsAre(1, 2));
  auto inner = root.table("inner");
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ(inner->integer("x", {}), 1U);
  std::vector<Table> items = root.tables("item");
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[1].integer("n", {}), 2U);
  root.finish();
  EXPECT_EQ(file.errors(), "");
}

TEST(Toml, gives_fallbacks_for_missing_keys) {
  Read file("");
  Table root = file.root();
  EXPECT_EQ(root.text("name", "x"), "x");
  EXPECT_EQ(root.integer("count", {1, 9}, 5), 5U);
  EXPECT_EQ(root.choice("mode", {"fast", "ordered"}, 1), 1U);
  EXPECT_EQ(root.real("load", {0, 1}, 0.25), 0.25);
  EXPECT_FALSE(root.table("inner").has_value());
  EXPECT_THAT(root.tables("item"), IsEmpty());
  EXPECT_EQ(file.errors(), "");
}

TEST(Toml, shows_the_line_of_a_wrong_value) {
  Read file("a = 1\n  count = 70 # too many\n");
  (void)file.root().integer("count", {1, 64});
  EXPECT_EQ(file.errors(),
            "a.toml:2:11: error: 'count' must be from 1 to 64\n"
            "    2 |   count = 70 # too many\n"
            "      |           ^~\n");
}

TEST(Toml, wants_letters_beyond_ascii_as_escapes) {
  Read escaped("# \xc3\xa4\ntext = 'a'\nname = \"\\u00e4\"\n");
  EXPECT_EQ(escaped.root().text("name"), "\xc3\xa4");
  EXPECT_EQ(escaped.errors(), "");
  EXPECT_THAT(Read("text = '\xc3\xa4'\n").errors(), HasSubstr("a.toml:1:9: error: letters beyond ASCII"));
}

TEST(Toml, refuses_unknown_keys_with_the_nearest_name) {
  Read file("windwo = 3\ncompletely_else = 1\n");
  Table root = file.root();
  (void)root.integer("window", {}, 1);
  root.finish();
  EXPECT_THAT(file.errors(), HasSubstr("a.toml:1:1: error: unknown key 'windwo'; did you mean 'window'?"));
  EXPECT_THAT(file.errors(), HasSubstr("unknown key 'completely_else'\n"));
}

TEST(Toml, collects_all_errors) {
  Read file("a = 'x'\nb = -1\nc = 'slow'\nd = '5 parsecs'\ne = [1, 'x']\nf = 3\ng = '2h'\nh = nan\ni = \"a\\u0007\"\n");
  Table root = file.root();
  (void)root.integer("a", {});
  (void)root.integer("b", {});
  (void)root.choice("c", {"fast", "ordered"});
  (void)root.duration_ns("d", {});
  (void)root.texts("e");
  (void)root.table("f");
  (void)root.duration_ns("g", {0, 3'600'000'000'000});
  (void)root.real("h", {0, 1});
  (void)root.text("i");
  (void)root.text("j");
  const std::string errors = file.errors();
  EXPECT_EQ(file.diagnostics.errors(), 10U) << errors;
  EXPECT_THAT(errors, HasSubstr("'a' must be an integer, not a string"));
  EXPECT_THAT(errors, HasSubstr("'c' must be one of: fast, ordered"));
  EXPECT_THAT(errors, HasSubstr("ns, us, ms, s, min or h"));
  EXPECT_THAT(errors, HasSubstr("'f' must be a table, not an integer"));
  EXPECT_THAT(errors, HasSubstr("'g' must be from 0ns to 1h"));
  EXPECT_THAT(errors, HasSubstr("the key 'j' is missing"));
}

TEST(Toml, bounds_arrays) {
  Read file("a = [1, 2, 3]\n");
  Table root = file.root();
  EXPECT_THAT(root.integers("a", {}, {.least = 0, .most = 2}), IsEmpty());
  EXPECT_THAT(root.integers("b", {}, {.least = 1, .most = 2}), IsEmpty());
  EXPECT_THAT(file.errors(), HasSubstr("'a' must have 0 to 2 entries, not 3"));
  EXPECT_THAT(file.errors(), HasSubstr("the key 'b' is missing"));
}

TEST(Toml, refuses_what_is_not_toml_with_its_place) {
  Read file("a = 1\nb = = 2\n");
  EXPECT_FALSE(file.document.ok());
  EXPECT_THAT(file.errors(), HasSubstr("a.toml:2:5: error: "));
}

TEST(Toml, survives_what_the_parser_did_not_expect) {
  EXPECT_THAT(Read("a = 1\n[[ =").errors(), HasSubstr("the file is not valid TOML"));
  EXPECT_THAT(Read("a = 1\n\xef\xbb\xbf").errors(), HasSubstr("a.toml:2:1: error: letters beyond ASCII"));
  EXPECT_THAT(Read("a = \"\"\"\xc3\xa4\"\"\"").errors(), HasSubstr("a.toml:1:8: error: letters beyond ASCII"));
}

TEST(Toml, refuses_keys_that_would_nest_without_bound) {
  std::string key = "a";
  for (int i = 0; i < 1'000'000; ++i) key += ".a";
  EXPECT_THAT(Read(key + " = 1\n").errors(), HasSubstr("a key has at most 16 parts"));
  EXPECT_THAT(Read("['x'. \"y#\\\"\" ." + key + "]\n").errors(), HasSubstr("a key has at most 16 parts"));
  EXPECT_EQ(Read("a = '1.2.3.4.5.6.7.8.9.0.1.2.3.4.5.6.7.8.9' # 1.2.3.4.5.6.7.8.9.0.1.2.3.4.5.6.7.8\n").errors(), "");
}

TEST(Toml, refuses_deep_arrays_and_large_files) {
  EXPECT_FALSE(Read("a = " + std::string(100'000, '[') + std::string(100'000, ']')).document.ok());
  EXPECT_THAT(Read(std::string(kMaxFileBytes + 1, '\n')).errors(), HasSubstr("more than 4MiB"));
}

/// Quadratic, either would take minutes.
TEST(Toml, reads_a_line_of_many_values_in_linear_time) {
  std::string text = "a = [0";
  while (text.size() < kMaxFileBytes - 100) text += ",0";
  Read file(text + ", 'x']\n");
  EXPECT_THAT(file.root().integers("a", {}, {.most = kMaxFileBytes}), Not(IsEmpty()));
  EXPECT_THAT(file.errors(), HasSubstr("error: 'a' must contain integers"));
}

TEST(Toml, reads_a_table_of_many_keys_in_linear_time) {
  std::string text;
  for (std::uint64_t i = 0; text.size() < kMaxFileBytes - 100; ++i)
    text += std::to_string(i) + "=" + std::to_string(i) + "\n";
  Read file(std::move(text));
  Table root = file.root();
  for (const std::string& key : root.keys()) {
    ASSERT_EQ(std::to_string(root.integer(key, {})), key);
    ASSERT_EQ(root.key_range(key).length, key.size());
  }
  root.finish();
  EXPECT_EQ(file.errors(), "");
}

TEST(Toml, names_a_text_without_quotes) {
  EXPECT_THAT(Read("a = 1\nname = nc\n").errors(), HasSubstr("2:8: error: a text needs quotes: \"nc\""));
  EXPECT_THAT(Read("mode = fast # or\n").errors(), HasSubstr("1:8: error: a text needs quotes: \"fast\""));
  EXPECT_THAT(Read("flag = truee\n").errors(), HasSubstr("a text needs quotes: \"truee\""));
  EXPECT_THAT(Read("a = true false\n").errors(), Not(HasSubstr("quotes")));
}

TEST(Toml, says_why_a_file_cannot_be_read) {
  Diagnostics diagnostics;
  EXPECT_FALSE(Document::load("/nowhere/a.toml", diagnostics).ok());
  EXPECT_EQ(diagnostics.format(), "error: cannot read /nowhere/a.toml: No such file or directory\n");
}

}  // namespace stopbit::config::toml_test
