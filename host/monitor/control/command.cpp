#include "host/monitor/control/command.hpp"

#include <algorithm>

namespace stopbit::control {
namespace {

constexpr std::size_t kMaxNameBytes = 256;

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string text_of(const CommandWord& command) {
  return std::string(command.word) + (command.argument.empty() ? "" : " ") + std::string(command.argument);
}

std::string list_of_commands() {
  std::string list;
  for (const CommandWord& command : kCommandWords) list += (list.empty() ? "" : ", ") + text_of(command);
  return list;
}

}  // namespace

std::string_view word_of(Command::Kind kind) noexcept {
  for (const CommandWord& command : kCommandWords) {
    if (command.kind == kind) return command.word;
  }
  return {};
}

Result<Command> parse_command(std::string_view line) {
  const std::size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  const std::string_view rest = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  const auto* const found = std::find_if(kCommandWords.begin(), kCommandWords.end(),
                                         [&](const CommandWord& known) { return known.word == word; });
  if (found == kCommandWords.end()) return Failure{"unknown command; commands are: " + list_of_commands()};
  const bool fits =
      found->argument.empty() ? rest.empty() : !rest.empty() && rest.size() <= kMaxNameBytes && is_printable(rest);
  if (!fits) return Failure{"write: " + text_of(*found)};
  return Command{.kind = found->kind, .image = std::string(rest)};
}

}  // namespace stopbit::control
