#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/lib/byte_notation.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/runner/run_case.hpp"

namespace stopbit::cases {
namespace {

constexpr int kTimeoutSeconds = 600;  // ends a command that hangs, and none that waits for a processor

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(without_trailing_space(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

/// `-- files NAME`: the text as it is; `-- files NAME bytes`: the bytes that the byte notation gives.
bool write_files(const CaseFile& file, const std::filesystem::path& folder, Report& report) {
  for (const Section& section : file.sections()) {
    if (section.name != "files") continue;
    const std::string_view argument = section.argument;
    const bool is_bytes = argument.ends_with(" bytes");
    const std::string name(is_bytes ? argument.substr(0, argument.size() - 6) : argument);
    if (name.empty() || name.find('/') != std::string::npos) {
      report.fail("'-- files' wants a plain file name");
      return false;
    }
    std::string content(file.text(section));
    if (is_bytes) {
      Diagnostics diagnostics;
      const auto steps = parse_bytes(file.source(), section.begin, section.end, diagnostics);
      if (!steps || steps->size() != 1) {
        report.fail(diagnostics.format() + "'-- files NAME bytes' wants one run of bytes");
        return false;
      }
      content.clear();
      for (const std::byte byte : steps->front().bytes) content.push_back(static_cast<char>(byte));
    }
    std::ofstream(folder / name, std::ios::binary) << content;
  }
  return true;
}

}  // namespace

void run_command_case(const CaseFile& file, const RunOptions& options, Report& report) {
  if (options.binaries.empty()) return report.fail("'-- run' needs --bin FOLDER");
  const testing::Scratch scratch;
  if (scratch.path().empty()) return report.fail("cannot make a folder for the case");
  const std::filesystem::path work = scratch.folder() / "work";
  std::filesystem::create_directory(work);
  if (!write_files(file, work, report)) return;

  const std::filesystem::path out = scratch.folder() / "stdout";
  const std::filesystem::path err = scratch.folder() / "stderr";
  std::ofstream(scratch.folder() / "script") << file.text(*file.find("run"));
  const std::string command = "cd " + shell_quoted(work.string()) +
                              " && PATH=" + shell_quoted(options.binaries.string()) + ":\"$PATH\" timeout " +
                              std::to_string(kTimeoutSeconds) + " /bin/sh ../script <&- >" +
                              shell_quoted(out.string()) + " 2>" + shell_quoted(err.string());
  const int status = std::system(command.c_str());
  const std::string exit_text = WIFEXITED(status) ? std::to_string(WEXITSTATUS(status)) : "by a signal";

  const std::string errors = testing::file_text_if_any(err).value_or("");
  const std::string who = "stderr was:\n" + errors + "command";
  report.compare("exit", exit_text == "0" ? std::vector<std::string>{} : std::vector{exit_text}, who);
  // Compared only where the case cares; an absent section must not swallow what was printed by mistake.
  report.compare("stdout", split_lines(testing::file_text_if_any(out).value_or("")), "command");
  for (const std::string& line : file.lines(file.find("stderr"))) {
    if (errors.find(line) == std::string::npos) report.fail("stderr lacks '" + line + "'; it was:\n" + errors);
  }
}

}  // namespace stopbit::cases
