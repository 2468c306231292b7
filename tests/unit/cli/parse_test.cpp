#include <gtest/gtest.h>

#include "host/cli/common/command.hpp"

namespace stopbit::tools::parse_test {

struct Values {
  std::vector<std::string> inputs;
  std::string output;
  std::vector<std::string> templates;
  std::vector<std::string> groups;
  std::optional<std::uint64_t> limit;
  std::string format;
  bool strict = false;
};

/// A command with every kind of option.
Command sample(Values& values) {
  Command command;
  command.name = "sample";
  command.options = {
      {.names = "", .value = "INPUT", .help = "In.", .target = &values.inputs, .required = true},
      {.names = "-o,--output", .value = "FILE", .help = "Out.", .target = &values.output},
      {.names = "--templates", .value = "X.xml", .help = "T.", .target = &values.templates, .more_suffix = ".xml"},
      {.names = "--group", .value = "G", .help = "G.", .target = &values.groups},
      {.names = "--limit", .value = "N", .help = "L.", .target = &values.limit},
      {.names = "--format", .value = "F", .help = "F.", .target = &values.format, .hint = choice_hint({"a", "b"})},
      {.names = "--strict", .value = "", .help = "S.", .target = &values.strict},
  };
  return command;
}

using List = std::vector<std::string>;

int usage_status(const List& arguments) {
  Values values;
  try {
    (void)parse_arguments(sample(values), arguments);
  } catch (const ToolError& error) {
    EXPECT_NE(std::string(error.what()).find("usage: stopbit sample INPUT..."), std::string::npos) << error.what();
    return error.status();
  }
  return kExitDone;
}

/// "" of a script whose variable is not set is not an option that was not given.
TEST(ParseArguments, takes_no_empty_value) {
  for (const List& arguments : {List{"one", "-o", ""}, List{"one", "--output="}, List{"one", "--group", ""},
                                List{"one", "--templates", ""}, List{"one", "--limit", ""}}) {
    EXPECT_EQ(usage_status(arguments), kExitUsage) << arguments[1];
  }
}

TEST(ParseArguments, fills_the_targets) {
  Values values;
  ASSERT_TRUE(parse_arguments(sample(values), {"one", "-o", "out", "two", "--limit", "18446744073709551615", "--group",
                                               "x", "--group=y", "--format", "b", "--strict"}));
  EXPECT_EQ(values.inputs, (List{"one", "two"}));
  EXPECT_EQ(values.output, "out");
  EXPECT_EQ(values.groups, (List{"x", "y"}));
  EXPECT_EQ(values.limit, 18446744073709551615U);
  EXPECT_EQ(values.format, "b");
  EXPECT_TRUE(values.strict);
}

TEST(ParseArguments, a_list_of_template_files_ends_at_the_first_argument_that_is_none) {
  Values values;
  ASSERT_TRUE(parse_arguments(sample(values), {"--templates", "a.xml", "b.xml", "day.pcap", "c.xml"}));
  EXPECT_EQ(values.templates, (List{"a.xml", "b.xml"}));
  EXPECT_EQ(values.inputs, (List{"day.pcap", "c.xml"}));
}

TEST(ParseArguments, the_first_template_file_may_have_any_name) {
  Values values;
  ASSERT_TRUE(parse_arguments(sample(values), {"--templates", "-", "day.pcap", "--templates=odd", "b.xml"}));
  EXPECT_EQ(values.templates, (List{"-", "odd", "b.xml"}));
  EXPECT_EQ(values.inputs, (List{"day.pcap"}));
}

TEST(ParseArguments, takes_a_dash_for_an_argument_and_everything_after_two_dashes) {
  Values values;
  ASSERT_TRUE(parse_arguments(sample(values), {"-", "-o", "-", "--", "--strict"}));
  EXPECT_EQ(values.inputs, (List{"-", "--strict"}));
  EXPECT_EQ(values.output, "-");
  EXPECT_FALSE(values.strict);
}

TEST(ParseArguments, takes_names_as_they_are) {
  Values values;
  ASSERT_TRUE(parse_arguments(sample(values), {"", "a,b", "{}", "%x", "[b", "-o", "[c,d]"}));
  EXPECT_EQ(values.inputs, (List{"", "a,b", "{}", "%x", "[b"}));
  EXPECT_EQ(values.output, "[c,d]");
}

TEST(ParseArguments, help_wins_over_everything_that_is_missing) {
  Values values;
  EXPECT_FALSE(parse_arguments(sample(values), {"--limit", "many", "--help"}));
  EXPECT_FALSE(parse_arguments(sample(values), {"-h"}));
}

TEST(ParseArguments, refuses_what_is_not_in_the_table) {
  EXPECT_EQ(usage_status({}), kExitUsage);
  EXPECT_EQ(usage_status({"in", "--frob"}), kExitUsage);
  EXPECT_EQ(usage_status({"in", "-x"}), kExitUsage);
  EXPECT_EQ(usage_status({"in", "--format", "c"}), kExitUsage);
  EXPECT_EQ(usage_status({"in", "--output"}), kExitUsage);
  EXPECT_EQ(usage_status({"in", "-o", "a", "-o", "b"}), kExitUsage);
  EXPECT_EQ(usage_status({"in", "--strict=maybe"}), kExitUsage);
}

TEST(ParseArguments, refuses_numbers_that_are_none) {
  for (const char* text : {"", "-1", "+1", "1x", "0x10", " 1", "18446744073709551616", "1e3"}) {
    EXPECT_EQ(usage_status({"in", std::string("--limit=") + text}), kExitUsage) << text;
  }
}

TEST(ParseArguments, tells_of_a_misspelt_option_rather_than_of_what_is_missing_then) {
  Values values;
  try {
    (void)parse_arguments(sample(values), {"--outputt=a"});
    FAIL();
  } catch (const ToolError& error) {
    EXPECT_NE(std::string(error.what()).find("--outputt"), std::string::npos) << error.what();
  }
}

TEST(UsageLine, shows_what_is_needed_and_what_may_be) {
  Values values;
  Command command = sample(values);
  command.options[2].or_next = true;
  EXPECT_EQ(
      usage_line(command),
      "stopbit sample INPUT... [-o FILE] (--templates X.xml... | --group G...) [--limit N] [--format F] [--strict]");
}

std::string error_of(const List& arguments) {
  Values values;
  try {
    (void)parse_arguments(sample(values), arguments);
  } catch (const ToolError& error) {
    const std::string what = error.what();
    return what.substr(0, what.find('\n'));
  }
  return "";
}

TEST(ParseArguments, suggests_names_that_are_near) {
  EXPECT_EQ(error_of({"in", "--limt", "3"}), "unknown option --limt; did you mean '--limit'?");
  EXPECT_EQ(error_of({"in", "--fromat=a"}), "unknown option --fromat; did you mean '--format'?");
  EXPECT_EQ(error_of({"--strickt"}), "unknown option --strickt; did you mean '--strict'?");
  EXPECT_EQ(error_of({"in", "--frobnicate"}), "unknown option --frobnicate");
  EXPECT_EQ(error_of({"in", "--format", "aa"}), "--format: must be one of a, b, not 'aa'; did you mean 'a'?");
}

TEST(UsageLine, is_short_if_much_may_be_left_out) {
  Values values;
  Command command = sample(values);
  for (int i = 0; i < 4; ++i)
    command.options.push_back({.names = "--more", .value = "", .help = "", .target = &values.strict});
  command.options.push_back({.names = "--needed", .value = "N", .help = "", .target = &values.limit, .required = true});
  EXPECT_EQ(usage_line(command), "stopbit sample INPUT... --needed N [OPTION]...");
}

TEST(HelpText, wraps_at_100_columns) {
  for (const Command& command : commands()) {
    const std::string text = help_text(command);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(end - at, 100U) << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

}  // namespace stopbit::tools::parse_test
