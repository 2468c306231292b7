#include <fmt/format.h>

#include <algorithm>

#include "host/cli/common/command.hpp"
#include "host/cli/common/roff.hpp"
#include "host/cli/common/text.hpp"
#include "microcode/base/error_code.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kNameColumns = 26;
constexpr std::ptrdiff_t kMostOptionsInUsage = 6;

constexpr std::string_view kSummary = "Decodes FAST market data: captures and live feeds to records";

struct ExitStatus {
  int status;
  std::string_view meaning;
};
constexpr ExitStatus kExitStatuses[] = {
    {kExitDone, "done"},
    {kExitRejected,
     "invalid input (template, listing, image, settings or packet), a decode error, or a check that did not pass"},
    {kExitUsage, "invalid command line"},
    {kExitEnvironment, "environment error: no such file, ring, map or appliance; the disk is full; no shared memory"},
    {kExitInterrupted, "stopped by SIGINT before the work was done; 143: by SIGTERM"},
};

/// Fills lines up to kColumns, indented by `indent` blanks. Lines that begin with a blank stay as they are.
std::string wrap(std::string_view text, std::size_t indent, bool indent_first = true) {
  const std::string margin(indent, ' ');
  std::string out;
  std::string line;
  const auto end_line = [&] {
    if (!out.empty() || indent_first) out += line.empty() ? "" : margin;
    out += line + '\n';
    line.clear();
  };
  for (const std::string_view paragraph : split(text, '\n')) {
    if (paragraph.starts_with(' ')) {
      line = paragraph;
    } else {
      for (const std::string_view word : split(paragraph, ' ')) {
        if (!line.empty() && indent + line.size() + 1 + word.size() > kColumns) end_line();
        if (!line.empty()) line += ' ';
        line += word;
      }
    }
    end_line();
  }
  return out;
}

std::string name_and_value(const Option& option) {
  if (option.is_argument()) return option.value + (option.repeats() ? "..." : "");
  std::string text;
  for (const std::string& name : option.name_list()) text += (text.empty() ? "" : ", ") + name;
  if (!option.is_flag()) text += ' ' + option.value;
  return text + (option.more_suffix.empty() ? "" : "...");
}

std::string full_help(const Option& option) {
  std::string text = option.help;
  if (option.hint.kind == Hint::Kind::Choice && !option.hint.open) {
    text += fmt::format(" One of: {}.", fmt::join(option.hint.words, ", "));
  }
  if (option.repeats() && !option.is_argument()) text += " May be given several times.";
  return text;
}

enum class Listed : std::uint8_t { Arguments, Options, Limits };

bool belongs_to(const Option& option, Listed listed) {
  if (option.is_argument()) return listed == Listed::Arguments;
  return listed == (option.is_limit ? Listed::Limits : Listed::Options);
}

std::string option_list(const std::vector<Option>& options, Listed listed) {
  std::string out;
  for (const Option& option : options) {
    if (!belongs_to(option, listed)) continue;
    std::string name = "  " + name_and_value(option);
    if (name.size() + 2 > kNameColumns) {
      out += name + '\n';
      name.clear();
    }
    name.resize(kNameColumns, ' ');
    out += name + wrap(full_help(option), kNameColumns, false);
  }
  return out;
}

/// Of every command.
std::vector<Option> help_options(const Command& command) {
  static bool ignored = false;
  std::vector<Option> options = {{.names = "-h,--help", .value = "", .help = "Prints this text.", .target = &ignored}};
  if (has_limits(command)) {
    options.push_back({.names = "--help-limits",
                       .value = "",
                       .help = "Prints the options --max-..., which limit what templates and messages may ask for.",
                       .target = &ignored});
  }
  return options;
}

std::string in_usage(const Option& option) {
  if (option.is_argument()) return option.value;
  return option.name_list().front() + (option.is_flag() ? "" : " " + option.value);
}

std::string roff_options(const std::vector<Option>& options, bool limits = false) {
  std::string out;
  for (const Option& option : options) {
    if (option.is_limit != limits) continue;
    out += fmt::format(".TP\n\\fB{}\\fR\n{}", roff(name_and_value(option)), roff_paragraphs(full_help(option)));
  }
  return out;
}

std::string roff_exit_statuses() {
  std::string out = ".SH EXIT STATUS\n";
  for (const ExitStatus& item : kExitStatuses)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", item.status, roff(item.meaning));
  return out;
}

}  // namespace

std::string version_text(std::string_view commit) {
  return commit.empty() ? "stopbit " STOPBIT_VERSION "\n" : fmt::format("stopbit " STOPBIT_VERSION " ({})\n", commit);
}

std::string usage_line(const Command& command) {
  std::string line = "stopbit " + command.name;
  const auto may_be_left_out = [](const Option& option) { return !option.is_argument() && !option.required; };
  const bool is_long =
      std::count_if(command.options.begin(), command.options.end(), may_be_left_out) > kMostOptionsInUsage;
  bool open = false;
  for (const Option& option : command.options) {
    std::string text = in_usage(option);
    if (!option.more_suffix.empty() || (option.is_argument() && option.repeats())) text += "...";
    const bool alternative = option.or_next || open;
    if (is_long && !alternative && may_be_left_out(option)) continue;
    if (!alternative && !option.required) text = '[' + text + ']';
    if (!option.is_argument() && option.repeats() && option.more_suffix.empty()) text += "...";
    line += (open ? " | " : alternative ? " (" : " ") + text;
    if (open && !option.or_next) line += ')';
    open = option.or_next;
  }
  return line + (is_long ? " [OPTION]..." : "");
}

std::string overview_text() {
  std::string out = fmt::format("{}\n\nusage: stopbit COMMAND ...\n\n", kSummary);
  for (const Command& command : commands()) out += fmt::format("  {:<12}{}\n", command.name, command.summary);
  out +=
      "\n`stopbit COMMAND --help` explains a command, with examples; `stopbit --version` prints the version.\n\nExit "
      "status:\n";
  for (const ExitStatus& item : kExitStatuses) out += fmt::format("  {:<3}  {}\n", item.status, item.meaning);
  return out;
}

std::string help_text(const Command& command) {
  std::string out = wrap("usage: " + usage_line(command), 0) + '\n' + wrap(command.description, 0);
  const std::string arguments = option_list(command.options, Listed::Arguments);
  if (!arguments.empty()) out += "\nArguments:\n" + arguments;
  out += "\nOptions:\n" + option_list(command.options, Listed::Options) +
         option_list(help_options(command), Listed::Options);
  out += "\nExamples:\n";
  for (const Example& example : command.examples) out += fmt::format("  {}\n      {}\n", example.command, example.what);
  return out;
}

std::string limits_text(const Command& command) {
  if (!has_limits(command)) return "stopbit " + command.name + " has no limits to set\n";
  return wrap("Limits of stopbit " + command.name +
                  ": what templates, datagrams and messages may ask for before they are an error. The defaults are for "
                  "feeds of exchanges.",
              0) +
         "\nOptions:\n" + option_list(command.options, Listed::Limits);
}

std::string overview_man_page() {
  std::string out = roff_head("stopbit", 1, kSummary);
  out += ".SH SYNOPSIS\n\\fBstopbit\\fR \\fICOMMAND\\fR ...\n.SH COMMANDS\n";
  for (const Command& command : commands()) {
    out +=
        fmt::format(".TP\n\\fB{}\\fR\n{}. See stopbit\\-{}(1).\n", command.name, roff(command.summary), command.name);
  }
  out += ".SH DECODE ERRORS\nThe codes of errors in templates and datagrams:\n";
  for (unsigned code = 1; !code_text(static_cast<ErrorCode>(code)).empty(); ++code) {
    const auto error = static_cast<ErrorCode>(code);
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", code_text(error), roff(code_meaning(error)));
  }
  return out + roff_exit_statuses();
}

std::string man_page(const Command& command) {
  const std::string name = "stopbit-" + command.name;
  std::string out = roff_head(name, 1, command.summary);
  out += ".SH SYNOPSIS\n" + roff(usage_line(command)) + "\n.SH DESCRIPTION\n" + roff_paragraphs(command.description);
  out += ".SH OPTIONS\n" + roff_options(command.options) + roff_options(help_options(command));
  if (has_limits(command)) out += ".SH LIMITS\n" + roff_options(command.options, true);
  out += ".SH EXAMPLES\n";
  for (const Example& example : command.examples) {
    out += fmt::format(".PP\n{}:\n{}", roff(example.what), roff_literal(example.command));
  }
  return out + roff_exit_statuses() + ".SH SEE ALSO\nstopbit(1)\n";
}

}  // namespace stopbit::tools
