// stopbit: one command with subcommands. Data goes to stdout; progress, summaries and errors go to stderr.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "commit.hpp"
#include "host/cli/common/command.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/signals.hpp"
#include "microcode/base/nearest.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

/// A closed stdin, stdout or stderr would hand its number to the next file that is opened. It becomes a file that
/// cannot be used in that direction, so that the error shows where the stream is used.
void occupy_standard_streams() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(file, F_GETFD) != -1) continue;
    if (::open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY) != file) std::_Exit(kExitEnvironment);
  }
}

/// In one piece where there is the memory for it: other processes may write to the same file.
void print_error(const char* what) noexcept {
  try {
    print_stderr("stopbit: {}\n", what);
  } catch (const std::exception&) {
    for (const char* part : {"stopbit: ", what, "\n"}) write_stderr(part);
  }
}

int print(const std::string& text) {
  Output out = Output::open("-");
  out.write(text);
  out.close();
  return kExitDone;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    write_stderr(overview_text());
    return kExitUsage;
  }
  set_program_commit(kCommit);
  std::string name = arguments.front();
  if (name == "--version") {
    return print(version_text(kCommit) + "features: " STOPBIT_FEATURES "\nbuilt with: " STOPBIT_LIBRARIES "\n");
  }
  std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (name == "-h" || name == "--help" || name == "help") {
    if (rest.empty()) return print(overview_text());
    name = rest.front();
    rest = {"--help"};
  }
  const Command* command = find_command(name);
  if (command == nullptr) {
    std::vector<std::string> names;
    for (const Command& one : commands()) names.push_back(one.name);
    throw ToolError(kExitUsage,
                    "unknown command '" + name + "'" + did_you_mean(name, names) + "\n`stopbit --help` lists them");
  }
  const bool wants_limits = std::find(rest.begin(), rest.end(), "--help-limits") != rest.end();
  if (!parse_arguments(*command, std::move(rest))) {
    return print(wants_limits ? limits_text(*command) : help_text(*command));
  }
  const int status = command->run();
  return stop_requested() && !command->runs_until_stopped ? interrupted_status() : status;
}

}  // namespace
}  // namespace stopbit::tools

int main(int argc, char** argv) {
  using namespace stopbit::tools;
  using stopbit::printable_lines;
  occupy_standard_streams();
  // A reader that goes away (`| head`) and a file at its limit (`ulimit -f`) show as errors of write.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const ToolError& error) {
    if (error.what()[0] != '\0') print_error(printable_lines(error.what()).c_str());
    return error.status();
  } catch (const std::exception& error) {  // out of memory, most likely
    print_error(printable_lines(error.what()).c_str());
    return kExitEnvironment;
  }
}
