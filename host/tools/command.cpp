#include "host/tools/command.hpp"

#include "host/tools/commands.hpp"

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
      compile_command(),   asm_command(),    disasm_command(),     verify_command(),   info_command(),
      replay_command(),    decode_command(), encode_command(),     simulate_command(), check_host_command(),
      explain_command(),   guess_command(),  profile_command(),    tail_command(),     subscribe_command(),
      dissector_command(), gen_command(),    diff_command(),       channels_command(), slice_command(),
      compare_command(),   impair_command(), run_command(),        ready_command(),    stat_command(),
      gaps_command(),      top_command(),    completion_command(), man_command(),
  };
  return all;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace stopbit::tools
