#include <gtest/gtest.h>

#include "host/cli/common/command.hpp"
#include "tests/lib/run_stopbit.hpp"

namespace stopbit::tools::command_line_test {

using testing::Finished;
using testing::run_script;
using testing::run_stopbit;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(CommandLine, every_command_explains_itself_with_every_option_and_an_example) {
  EXPECT_GE(commands().size(), 10U);
  for (const Command& command : commands()) {
    for (const std::vector<std::string>& ask :
         {std::vector<std::string>{command.name, "--help"}, {command.name, "-h"}, {"help", command.name}}) {
      const Finished help = run_stopbit(ask);
      EXPECT_EQ(help.status, kExitDone) << command.name;
      EXPECT_EQ(help.err, "") << command.name;
      EXPECT_TRUE(help.out.starts_with("usage: stopbit " + command.name)) << help.out;
      EXPECT_TRUE(contains(help.out, "\nExamples:\n  ")) << help.out;
      for (const Option& option : command.options) {
        if (option.is_limit) continue;
        EXPECT_TRUE(contains(help.out, option.is_argument() ? option.value : option.name_list().back())) << help.out;
      }
    }
  }
}

TEST(CommandLine, limits_have_a_help_of_their_own) {
  for (const Command& command : commands()) {
    const Finished limits = run_stopbit({command.name, "--help-limits"});
    EXPECT_EQ(limits.status, kExitDone) << command.name;
    const Finished help = run_stopbit({command.name, "--help"});
    EXPECT_EQ(contains(help.out, "--help-limits"), has_limits(command)) << help.out;
    for (const Option& option : command.options) {
      const std::string name = option.is_argument() ? option.value : option.names + ' ';
      if (option.is_limit) {
        EXPECT_TRUE(contains(limits.out, "  " + name)) << limits.out;
        EXPECT_FALSE(contains(help.out, "\n  " + name)) << help.out;
      } else if (!option.is_argument()) {
        EXPECT_FALSE(contains(limits.out, "\n  " + name)) << limits.out;
      }
    }
  }
}

TEST(CommandLine, the_overview_lists_all_commands_and_the_exit_statuses) {
  const Finished overview = run_stopbit({"--help"});
  EXPECT_EQ(overview.status, kExitDone);
  for (const Command& command : commands()) EXPECT_TRUE(contains(overview.out, "\n  " + command.name + " "));
  for (const char* status : {"\n  0  ", "\n  1  ", "\n  2  ", "\n  3  "}) EXPECT_TRUE(contains(overview.out, status));
  EXPECT_EQ(run_stopbit({"help"}).out, overview.out);
}

TEST(CommandLine, without_a_command_it_prints_the_overview_to_stderr) {
  const Finished finished = run_stopbit({});
  EXPECT_EQ(finished.status, kExitUsage);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(contains(finished.err, "usage: stopbit COMMAND"));
}

TEST(CommandLine, prints_its_version) {
  const Finished finished = run_stopbit({"--version"});
  EXPECT_EQ(finished.status, kExitDone);
  EXPECT_TRUE(finished.out.starts_with("stopbit 0.")) << finished.out;
}

TEST(CommandLine, refuses_unknown_commands_and_options) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"frob"},
                                                    {"--frob"},
                                                    {"help", "frob"},
                                                    {"info"},
                                                    {"info", "a", "b"},
                                                    {"verify", "a", "--json"},
                                                    {"asm", "a"},
                                                    {"completion", "tcsh"},
                                                    {"replay", "a", "--framing"}}) {
    const Finished finished = run_stopbit(arguments);
    EXPECT_EQ(finished.status, kExitUsage) << arguments.back();
    EXPECT_EQ(finished.out, "");
    EXPECT_TRUE(finished.err.starts_with("stopbit: ")) << finished.err;
  }
}

TEST(CommandLine, a_full_disk_is_reported_by_everything_that_prints) {
  for (const char* command : {"--help", "--version", "info --help", "completion bash", "man /dev/full/x"}) {
    const Finished finished = run_script(std::string("exec \"$stopbit\" ") + command + " >/dev/full");
    EXPECT_EQ(finished.status, kExitEnvironment) << command;
    EXPECT_TRUE(contains(finished.err, "cannot write ")) << finished.err;
  }
}

TEST(CommandLine, a_closed_stdout_is_reported) {
  const Finished finished = run_script("exec \"$stopbit\" --help >&-");
  EXPECT_EQ(finished.status, kExitEnvironment);
  EXPECT_TRUE(contains(finished.err, "cannot write <stdout>")) << finished.err;
}

TEST(Completion, bash_completes_commands_options_and_values) {
  const std::string script = R"(
source <("$stopbit" completion bash) || exit 9
complete_words() { COMP_WORDS=(stopbit "$@"); COMP_CWORD=$#; _stopbit; echo "${COMPREPLY[*]}"; }
complete -p stopbit
complete_words rep
complete_words replay --fra
complete_words replay --framing m
complete_words replay --engine ""
complete_words completion ""
complete_words help ver
complete_words ring i
complete_words map ch
complete_words ctl fre
complete_words tail no-ring-has-this-name
)";
  const Finished finished = run_script(script);
  EXPECT_EQ(finished.out,
            "complete -F _stopbit stopbit\nreplay\n--framing\nmoex millennium\nnative quick interp card xrt\nbash zsh "
            "fish\nverify\ninfo\ncheck\nfreeze\n\n");
  EXPECT_EQ(finished.err, "");
}

TEST(Completion, bash_completes_files_by_their_suffix) {
  const testing::Scratch scratch;
  scratch.write("a.xml", "");
  scratch.write("b.sbf", "");
  const Finished finished = run_script(R"(
source <("$stopbit" completion bash) || exit 9
compopt() { :; }  # works only while a shell completes
cd )" + testing::shell_quoted(scratch.path("")) +
                                       R"(
complete_words() { COMP_WORDS=(stopbit "$@"); COMP_CWORD=$#; _stopbit; echo "${COMPREPLY[*]}"; }
complete_words compile ""
complete_words compile a.xml -o ""
complete_words replay ""
)");
  EXPECT_EQ(finished.out, "a.xml\nb.sbf\na.xml b.sbf\n") << finished.err;
}

TEST(Completion, zsh_and_fish_know_every_command_and_option) {
  for (const char* shell : {"zsh", "fish"}) {
    const Finished finished = run_stopbit({"completion", shell});
    EXPECT_EQ(finished.status, kExitDone);
    for (const Command& command : commands()) {
      EXPECT_TRUE(contains(finished.out, command.name)) << shell << ' ' << command.name;
      for (const Option& option : command.options) {
        for (const std::string& name : option.name_list()) {
          const std::string plain = name.substr(name.find_first_not_of('-'));
          EXPECT_TRUE(contains(finished.out, plain)) << shell << ' ' << name;
        }
      }
    }
  }
}

TEST(ManPages, there_is_one_for_every_command_and_roff_takes_it) {
  const testing::Scratch scratch;
  ASSERT_EQ(run_stopbit({"man", scratch.path("")}).status, kExitDone);
  EXPECT_TRUE(scratch.read("stopbit.1").starts_with(".TH stopbit 1 "));
  for (const Command& command : commands()) {
    const std::string page = scratch.read("stopbit-" + command.name + ".1");
    std::string title = "stopbit-" + command.name;
    for (std::size_t at = 0; (at = title.find('-', at)) != std::string::npos; at += 2) title.insert(at, 1, '\\');
    EXPECT_TRUE(page.starts_with(".TH " + title + " 1 ")) << page.substr(0, 60);
    for (const char* section : {".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH EXAMPLES", ".SH EXIT STATUS"}) {
      EXPECT_TRUE(contains(page, section)) << command.name << ' ' << section;
    }
  }
  const Finished groff = run_script(
      "command -v groff >/dev/null || { echo none; exit; }\n"
      "for page in " +
      testing::shell_quoted(scratch.path("")) +
      "/*.1; do\n"
      "  groff -man -Tascii -ww -z \"$page\"\ndone");
  EXPECT_TRUE(groff.out.empty() || groff.out == "none\n");
  EXPECT_EQ(groff.err, "");
}

}  // namespace stopbit::tools::command_line_test
