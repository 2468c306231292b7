#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "host/appliance/appliance.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/image_trial.hpp"
#include "host/cli/common/recordings.hpp"
#include "host/cli/common/since.hpp"
#include "host/monitor/control/client.hpp"
#include "host/monitor/control/command.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

constexpr std::uint64_t kPatienceNs = 60'000'000'000;  ///< A large image takes seconds to load.
constexpr std::string_view kRefusal = "error: ";

struct CtlArguments {
  std::vector<std::string> words;
  std::string user;
  std::string socket;
  bool names = false;
  bool dry_run = false;
  std::string since;
  std::string settings;
};

bool is_command(const std::string& word) {
  return std::any_of(control::kCommandWords.begin(), control::kCommandWords.end(),
                     [&](const control::CommandWord& command) { return command.word == word; });
}

std::string socket_of(const std::string& name) {
  const counters::Reader reader = open_counters(name);
  const appliance::StatusReport status = appliance::read_status(reader, {});
  if (reader.writer() != counters::Reader::Writer::Running) {
    throw ToolError(kExitEnvironment, fmt::format("the appliance '{}' is not running", printable(status.name)));
  }
  if (status.control_socket.empty()) {
    throw ToolError(kExitEnvironment,
                    fmt::format("the appliance '{}' has no control socket; give it one in its settings: [control] "
                                "socket = \"PATH\"",
                                printable(status.name)));
  }
  return status.control_socket;
}

int print_names() {
  Output out = Output::open("-");
  for (const std::string& name : appliance::find_appliances()) out.write(printable(name) + "\n");
  out.close();
  return kExitDone;
}

/// The appliance does not notice: this process reads what it has recorded.
int dry_run(const CtlArguments& arguments, const std::vector<std::string>& words, const std::string& name) {
  if (words.front() != "load") throw ToolError(kExitUsage, "--dry-run is for load IMAGE");
  const std::uint64_t since = since_from(arguments.since.empty() ? "1d" : arguments.since);
  return try_image(words.back(), settings_of(name, arguments.settings), since);
}

int ctl(const CtlArguments& arguments) {
  accept_user(arguments.user);
  if (arguments.names) return print_names();
  if (arguments.words.empty()) throw ToolError(kExitUsage, "give a command; see `stopbit ctl --help`");
  std::vector<std::string> words = arguments.words;
  std::string name;
  if (!is_command(words.front()) && arguments.socket.empty() && words.size() > 1) {
    name = words.front();
    words.erase(words.begin());
  }
  const std::string line = fmt::format("{}", fmt::join(words, " "));
  if (const Result<control::Command> command = control::parse_command(line); !command) {
    throw ToolError(kExitUsage, command.message());
  }
  if (arguments.dry_run) return dry_run(arguments, words, name);
  if (!arguments.since.empty() || !arguments.settings.empty()) {
    throw ToolError(kExitUsage, "--since and --settings are for load IMAGE --dry-run");
  }
  const Result<std::string> answer =
      control::ask(arguments.socket.empty() ? socket_of(name) : arguments.socket, line, kPatienceNs);
  if (!answer) throw ToolError(kExitEnvironment, answer.message());
  if (answer.value().starts_with(kRefusal)) {
    throw ToolError(kExitRejected, printable(answer.value().substr(kRefusal.size())));
  }
  Output out = Output::open("-");
  out.write(printable_lines(answer.value()) + "\n");
  out.close();
  return kExitDone;
}

std::string description() {
  std::string text =
      "Sends a command to the control socket of an appliance, which its settings name, and prints the answer. The "
      "appliance obeys root, the user of its process, the users that its settings list, and of others the commands "
      "that [[control.allow]] lists. The kernel tells it who asks. Every command is kept with user, process and "
      "answer, in the log and in the files commands-DAY.jsonl of the state folder.\n";
  for (const control::CommandWord& command : control::kCommandWords) {
    text += fmt::format("\n{}{}{}: {}.\n", command.word, command.argument.empty() ? "" : " ", command.argument,
                        command.help);
  }
  text +=
      "\nThe exit status is 1 if the appliance refuses the command, and 3 if it is not running, or does not answer "
      "within a minute.";
  return text;
}

std::vector<std::string> words() {
  std::vector<std::string> list;
  list.reserve(control::kCommandWords.size());
  for (const control::CommandWord& command : control::kCommandWords) list.emplace_back(command.word);
  return list;
}

}  // namespace

Command ctl_command() {
  const auto arguments = std::make_shared<CtlArguments>();
  return {.name = "ctl",
          .summary = "Sends a command to a running appliance",
          .description = description(),
          .options = {{.names = "",
                       .value = "WORD",
                       .help = "The name of the appliance, which is optional if only one runs; then the "
                               "command and its argument.",
                       .target = &arguments->words,
                       .hint = open_choice_hint(words())},
                      {.names = "--names",
                       .value = "",
                       .help = "Prints the names of the appliances that have counters on this machine.",
                       .target = &arguments->names},
                      {.names = "--dry-run",
                       .value = "",
                       .help = "With load: tries the image, as its files are now, on what the appliance has recorded; "
                               "nothing is sent. Status 1 if it is refused or a datagram does not decode.",
                       .target = &arguments->dry_run},
                      {.names = "--since",
                       .value = "TIME",
                       .help = "With --dry-run: recordings since then, UTC: today, 90min, 2h, 3d or a date. Default "
                               "1d.",
                       .target = &arguments->since,
                       .hint = open_choice_hint({"today", "1h", "1d"})},
                      settings_option(arguments->settings),
                      {.names = "--socket",
                       .value = "PATH",
                       .help = "The control socket, if the appliance has no counters that this user may read.",
                       .target = &arguments->socket,
                       .hint = file_hint()},
                      user_option(arguments->user)},
          .examples = {{"stopbit ctl freeze", "keeps what was recorded around this moment"},
                       {"stopbit ctl xetra load T7 --dry-run", "do the new templates decode yesterday's recording?"},
                       {"stopbit ctl xetra load T7", "new templates, between two datagrams"},
                       {"stopbit ctl xetra rollback T7", "back to those before"},
                       {"stopbit ctl xetra reload", "settings, tokens, certificates; says what needs a restart"},
                       {"stopbit ctl xetra status | jq .channels", "what `stopbit stat xetra --json` prints"}},
          .run = [arguments] { return ctl(*arguments); }};
}

}  // namespace stopbit::tools
