#include "host/cli/common/command.hpp"

#include <algorithm>

#include "host/cli/common/commands.hpp"

namespace stopbit::tools {

Hint file_hint(std::vector<std::string> suffixes) {
  return {Hint::Kind::File, std::move(suffixes)};
}
Hint folder_hint() {
  return {Hint::Kind::Folder, {}};
}
Hint choice_hint(std::vector<std::string> choices) {
  return {Hint::Kind::Choice, std::move(choices)};
}
Hint open_choice_hint(std::vector<std::string> choices) {
  return {Hint::Kind::Choice, std::move(choices), true};
}

Hint ring_hint() {
  return {Hint::Kind::Command, {"ring", "ls", "--quiet"}};
}
Hint appliance_hint() {
  return {Hint::Kind::Command, {"ctl", "--names"}};
}

std::vector<std::string> Option::name_list() const {
  std::vector<std::string> list;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    list.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  return list;
}

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
#define STOPBIT_COMMAND(name) name##_command(),
#include "host/cli/common/commands.def"
#undef STOPBIT_COMMAND
  };
  return all;
}

bool has_limits(const Command& command) {
  return std::any_of(command.options.begin(), command.options.end(), [](const Option& one) { return one.is_limit; });
}

namespace {
std::string_view commit_of_program;
}  // namespace

void set_program_commit(std::string_view commit) noexcept {
  commit_of_program = commit;
}
std::string_view program_commit() noexcept {
  return commit_of_program;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace stopbit::tools
