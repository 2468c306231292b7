#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>

#include "host/cli/common/command.hpp"
#include "microcode/base/nearest.hpp"

namespace stopbit::tools {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

std::uint64_t parse_number(const std::string& name, const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) {
    throw CLI::ValidationError(name, "'" + text + "' is not a number from 0 to 18446744073709551615");
  }
  return number;
}

CLI::Option* add_value(CLI::App& app, const Option& option, const std::string& names) {
  return std::visit(Overloaded{
                        [&](bool* target) { return app.add_flag(names, *target); },
                        [&](std::string* target) { return app.add_option(names, *target); },
                        [&](std::optional<std::string>* target) {
                          return app.add_option_function<std::string>(
                              names, [target](const std::string& text) { *target = text; });
                        },
                        [&](std::optional<std::uint64_t>* target) {
                          return app.add_option_function<std::string>(
                              names, [target, names](const std::string& text) { *target = parse_number(names, text); });
                        },
                        [&](std::vector<std::string>* target) {
                          CLI::Option* added = app.add_option(names, *target);
                          // One value each time; CLI11 would take the name "[a]" for a list, too.
                          if (!option.is_argument()) added->allow_extra_args(false);
                          return added;
                        },
                    },
                    option.target);
}

void add_option(CLI::App& app, const Option& option) {
  // CLI11 takes a name without dashes for an argument.
  CLI::Option* added = add_value(app, option, option.is_argument() ? option.value : option.names);
  if (option.required) added->required();
  if (!option.is_argument() && !std::holds_alternative<bool*>(option.target)) {
    added->check([](const std::string& value) { return std::string(value.empty() ? "the value is empty" : ""); });
  }
  if (option.hint.kind != Hint::Kind::Choice || option.hint.open) return;
  added->check([words = option.hint.words](const std::string& value) {
    if (std::find(words.begin(), words.end(), value) != words.end()) return std::string();
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
    return "must be one of " + list + ", not '" + value + "'" + did_you_mean(value, words);
  });
}

/// Option that may be followed by more values than one, if `argument` is it.
const Option* listing_option(const Command& command, std::string_view argument) {
  for (const Option& option : command.options) {
    if (option.more_suffix.empty()) continue;
    for (const std::string& name : option.name_list()) {
      if (argument == name || argument.starts_with(name + "=")) return &option;
    }
  }
  return nullptr;
}

/// `--templates a.xml b.xml day.pcap` becomes `--templates a.xml --templates b.xml day.pcap`: the list of an option
/// ends at the first argument that cannot belong to it, so that arguments may follow.
std::vector<std::string> spell_out_lists(const Command& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    out.push_back(arguments[i]);
    if (arguments[i] == "--") {
      out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end());
      break;
    }
    const Option* option = listing_option(command, arguments[i]);
    if (option == nullptr) continue;
    if (arguments[i].find('=') == std::string::npos && i + 1 < arguments.size()) out.push_back(arguments[++i]);
    while (i + 1 < arguments.size() && !arguments[i + 1].starts_with("-") &&
           arguments[i + 1].ends_with(option->more_suffix)) {
      out.push_back(option->name_list().back());
      out.push_back(arguments[++i]);
    }
  }
  return out;
}

/// What was given and is no option or argument of the command.
std::string unexpected_text(const Command& command, const std::vector<std::string>& unexpected) {
  const auto option =
      std::find_if(unexpected.begin(), unexpected.end(), [](const std::string& one) { return one.starts_with("-"); });
  if (option == unexpected.end()) return "unexpected argument '" + unexpected.front() + "'";
  const std::string name = option->substr(0, option->find('='));
  std::vector<std::string> names = {"--help", "--help-limits"};
  for (const Option& known : command.options) {
    for (const std::string& one : known.name_list()) names.push_back(one);
  }
  return "unknown option " + name + did_you_mean(name, names);
}

ToolError usage_error(const Command& command, const std::string& message) {
  return {kExitUsage, message + "\nusage: " + usage_line(command) + "\n`stopbit " + command.name + " --help` explains"};
}

}  // namespace

bool parse_arguments(const Command& command, std::vector<std::string> arguments) {
  CLI::App app(command.summary, command.name);
  app.set_help_flag();
  bool help = false;
  app.add_flag("-h,--help", help);
  for (const Option& option : command.options) add_option(app, option);

  arguments = spell_out_lists(command, arguments);
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument == "-h" || argument == "--help" || argument == "--help-limits")
      return false;  // even if something else is missing
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ArgumentMismatch& error) {
    // CLI11 says "NAME: At Most 1 required but received 2" and "NAME: 1 required TEXT missing".
    const std::string what = error.what();
    const std::string name = what.substr(0, what.find(':'));
    const bool repeated = what.find("received") != std::string::npos;
    throw usage_error(command, name + (repeated ? ": given more than once" : ": a value is missing"));
  } catch (const CLI::RequiredError& error) {
    // Of something misspelt and something missing, the first is often the cause of the second.
    const std::vector<std::string> unexpected = app.remaining();
    throw usage_error(command, unexpected.empty() ? error.what() : unexpected_text(command, unexpected));
  } catch (const CLI::ExtrasError&) {
    throw usage_error(command, unexpected_text(command, app.remaining()));
  } catch (const CLI::ParseError& error) {
    throw usage_error(command, error.what());
  }
  return true;
}

}  // namespace stopbit::tools
