#include <fmt/format.h>

#include <memory>

#include "host/cli/common/command.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"

namespace stopbit::tools {
namespace {

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + '\'';
}

/// Of a help text, what fits in a completion list.
std::string_view first_sentence(std::string_view help) {
  const std::string_view sentence = help.substr(0, help.find(". "));
  return sentence.ends_with('.') ? sentence.substr(0, sentence.size() - 1) : sentence;
}

std::string command_names() {
  std::string out;
  for (const Command& command : commands()) out += command.name + ' ';
  return out + "help";
}

std::string bash_completer(const Hint& hint) {
  switch (hint.kind) {
    case Hint::Kind::None: return "return";
    case Hint::Kind::Folder: return "_stopbit_files -d";
    case Hint::Kind::Choice:
      return fmt::format("_stopbit_words {}", shell_quoted(fmt::format("{}", fmt::join(hint.words, " "))));
    case Hint::Kind::Command:
      return fmt::format("_stopbit_words \"$(\"${{COMP_WORDS[0]}}\" {} 2>/dev/null)\"", fmt::join(hint.words, " "));
    case Hint::Kind::File: break;
  }
  return hint.words.empty() ? "_stopbit_files -f" : fmt::format("_stopbit_files -f {}", fmt::join(hint.words, " "));
}

std::string bash_script() {
  std::string out = R"(# bash completion for stopbit, made by `stopbit completion bash`.

_stopbit_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

# _stopbit_files -d | -f [SUFFIX...]
_stopbit_files() {
  local kind=$1 suffix
  shift
  compopt -o filenames
  if (($# == 0)); then
    mapfile -t COMPREPLY < <(compgen "$kind" -- "$cur")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -d -- "$cur"; for suffix; do compgen -f -X "!*$suffix" -- "$cur"; done)
}

_stopbit() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
)";
  out += fmt::format("    _stopbit_words {}\n    return\n  fi\n", shell_quoted(command_names() + " --help --version"));
  std::string values;
  std::string options;
  for (const Command& command : commands()) {
    std::string names = has_limits(command) ? "--help --help-limits" : "--help";
    std::string first_argument;
    std::string arguments = "return";
    for (const Option& option : command.options) {
      if (option.is_argument()) {
        arguments = bash_completer(option.hint);
        if (first_argument.empty()) first_argument = arguments;
        continue;
      }
      std::string pattern;
      for (const std::string& name : option.name_list()) {
        names += ' ' + name;
        pattern += (pattern.empty() ? "" : " | ") + command.name + ':' + name;
      }
      if (!option.is_flag()) values += fmt::format("    {}) {}; return ;;\n", pattern, bash_completer(option.hint));
    }
    options += fmt::format("    {}:-*) _stopbit_words {} ;;\n", command.name, shell_quoted(names));
    if (!first_argument.empty() && first_argument != arguments) {
      arguments = fmt::format("if ((COMP_CWORD == 2)); then {}; else {}; fi", first_argument, arguments);
    }
    options += fmt::format("    {}:*) {} ;;\n", command.name, arguments);
  }
  options += fmt::format("    help:*) _stopbit_words {} ;;\n", shell_quoted(command_names()));
  return out + "  case ${COMP_WORDS[1]}:$prev in\n" + values + "  esac\n  case ${COMP_WORDS[1]}:$cur in\n" + options +
         "  esac\n}\n\ncomplete -F _stopbit stopbit\n";
}

std::string zsh_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_completer(const Hint& hint) {
  switch (hint.kind) {
    case Hint::Kind::None: return "";
    case Hint::Kind::Folder: return "_files -/";
    case Hint::Kind::Choice: return fmt::format("({})", zsh_escaped(fmt::format("{}", fmt::join(hint.words, " "))));
    case Hint::Kind::Command:
      return fmt::format("{{compadd -- ${{(f)\"$(stopbit {} 2>/dev/null)\"}}}}", fmt::join(hint.words, " "));
    case Hint::Kind::File: break;
  }
  if (hint.words.empty()) return "_files";
  return fmt::format("_files -g \"*{}\"", fmt::join(hint.words, " *"));
}

std::string zsh_script() {
  std::string out =
      "#compdef stopbit\n# zsh completion for stopbit, made by `stopbit completion zsh`.\n\n_stopbit() {\n  local -a "
      "commands=(\n";
  for (const Command& command : commands()) {
    out += fmt::format("    {}\n", shell_quoted(command.name + ':' + zsh_escaped(command.summary)));
  }
  out +=
      "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in\n";
  for (const Command& command : commands()) {
    out += fmt::format("    {})\n      _arguments '--help[Prints the help]'", command.name);
    if (has_limits(command)) out += " '--help-limits[Prints the options that limit messages]'";
    for (const Option& option : command.options) {
      const std::string value = fmt::format(":{}:{}", zsh_escaped(option.value), zsh_completer(option.hint));
      if (option.is_argument()) {
        out += " \\\n        " + shell_quoted((option.repeats() ? "*" : "") + value);
        continue;
      }
      const std::string help = fmt::format("[{}]", zsh_escaped(first_sentence(option.help)));
      for (const std::string& name : option.name_list()) {
        out += " \\\n        " +
               shell_quoted((option.repeats() ? "*" : "") + name + help + (option.is_flag() ? "" : value));
      }
    }
    out += "\n      ;;\n";
  }
  // Works both from a folder of $fpath and when sourced.
  return out +
         "  esac\n}\n\nif [[ $funcstack[1] == _stopbit ]]; then\n  _stopbit \"$@\"\nelse\n  compdef _stopbit "
         "stopbit\nfi\n";
}

std::string fish_script() {
  std::string out = "# fish completion for stopbit, made by `stopbit completion fish`.\n\n";
  for (const Command& command : commands()) {
    out += fmt::format("complete -c stopbit -n __fish_use_subcommand -x -a {} -d {}\n", command.name,
                       shell_quoted(command.summary));
  }
  for (const Command& command : commands()) {
    const std::string head = fmt::format("complete -c stopbit -n '__fish_seen_subcommand_from {}'", command.name);
    out += '\n';
    if (has_limits(command)) out += head + " -l help-limits -d 'Prints the options that limit messages'\n";
    for (const Option& option : command.options) {
      const std::string words = fmt::format("{}", fmt::join(option.hint.words, " "));
      const std::string choices = option.hint.kind == Hint::Kind::Choice ? " -x -a " + shell_quoted(words)
                                  : option.hint.kind == Hint::Kind::Command
                                      ? fmt::format(" -x -a '(stopbit {} 2>/dev/null)'", words)
                                      : "";
      if (option.is_argument()) {
        if (!choices.empty()) out += head + choices + '\n';
        continue;
      }
      out += head;
      for (const std::string& name : option.name_list()) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!choices.empty()) {
        out += choices;
      } else if (!option.is_flag()) {
        out += option.hint.kind == Hint::Kind::None ? " -x" : " -r";
      }
      out += " -d " + shell_quoted(first_sentence(option.help)) + '\n';
    }
  }
  return out;
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  return {};
}

Command completion_command() {
  const auto shell = std::make_shared<std::string>();
  return {
      .name = "completion",
      .summary = "Prints a completion script for a shell",
      .description = "Prints a script that completes the commands, options and file names of stopbit.",
      .options = {{.names = "",
                   .value = "SHELL",
                   .help = "The shell.",
                   .target = shell.get(),
                   .hint = choice_hint({"bash", "zsh", "fish"}),
                   .required = true}},
      .examples = {{"source <(stopbit completion bash)", "completion in this shell"},
                   {"stopbit completion fish > ~/.config/fish/completions/stopbit.fish", "permanently"}},
      .run =
          [shell] {
            write_file("-", completion_script(*shell));
            return kExitDone;
          },
  };
}

}  // namespace stopbit::tools
