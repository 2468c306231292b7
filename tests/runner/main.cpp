// Runs case files. Exit 0: all passed, 1: some failed, 2: usage.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/lib/case_file.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/runner/report.hpp"
#include "tests/runner/run_case.hpp"

namespace stopbit::cases {
namespace {

constexpr const char* kUsage =
    "usage: stopbit_cases [--update] [--bin FOLDER] FOLDER|FILE...\n"
    "  --update      writes what came out into the cases' expectations; read the diff as carefully as code\n"
    "  --bin FOLDER  where the commands of '-- run' cases are\n";

struct Arguments {
  bool update = false;
  RunOptions run;
  std::vector<std::filesystem::path> paths;
};

bool parse_arguments(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--update") {
      arguments.update = true;
    } else if (argument == "--bin" && i + 1 < argc) {
      arguments.run.binaries = std::filesystem::absolute(argv[++i]);
    } else if (argument.starts_with("--")) {
      return false;
    } else {
      arguments.paths.emplace_back(argument);
    }
  }
  return !arguments.paths.empty();
}

/// A `bad-` case expects an error, and only such a case does.
bool is_named_well(const std::filesystem::path& path, const CaseFile& file) {
  const bool is_bad = path.filename().string().starts_with("bad-");
  const bool expects_error = file.find("error") || file.find("rule") || file.find("exit");
  return is_bad == expects_error;
}

bool run_file(const std::filesystem::path& path, const Arguments& arguments) {
  const std::optional<std::string> text = testing::file_text_if_any(path);
  if (!text) {
    std::printf("FAIL %s\n  cannot be read\n", path.c_str());
    return false;
  }
  Diagnostics diagnostics;
  const auto source = std::make_shared<const SourceBuffer>(path.string(), *text);
  const std::optional<CaseFile> file = CaseFile::parse(source, diagnostics);
  if (!file) {
    std::printf("FAIL %s\n%s", path.c_str(), diagnostics.format().c_str());
    return false;
  }
  Report report(*file);
  run_case(*file, arguments.run, report);
  if (!arguments.update && !is_named_well(path, *file)) {
    report.fail("a case that expects an error, and no other, is named bad-...");
  }
  if (arguments.update && !report.differences().empty()) {
    std::ofstream(path, std::ios::binary) << report.updated_text();
    std::printf("UPDATED %s\n", path.c_str());
  }
  const bool ok = arguments.update ? report.failures().empty() : report.ok();
  if (ok) return true;
  std::printf("FAIL %s\n", path.c_str());
  for (const std::string& line : file->lines(file->find("about"))) std::printf("  %s\n", line.c_str());
  if (!arguments.update) {
    for (const std::string& difference : report.differences()) std::printf("  %s", difference.c_str());
  }
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(report.failures().size(), kShown); ++i) {
    std::printf("  %s\n", report.failures()[i].c_str());
  }
  if (report.failures().size() > kShown) std::printf("  ... and %zu more\n", report.failures().size() - kShown);
  return false;
}

int run(const Arguments& arguments) {
  std::size_t count = 0;
  std::size_t failed = 0;
  for (const std::filesystem::path& path : arguments.paths) {
    const bool is_folder = std::filesystem::is_directory(path);
    for (const std::filesystem::path& file : is_folder ? find_cases(path) : std::vector{path}) {
      ++count;
      if (!run_file(file, arguments)) ++failed;
    }
  }
  std::printf("%zu cases, %zu failed\n", count, failed);
  return count != 0 && failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace stopbit::cases

int main(int argc, char** argv) {
  stopbit::cases::Arguments arguments;
  if (!stopbit::cases::parse_arguments(argc, argv, arguments)) {
    std::fputs(stopbit::cases::kUsage, stderr);
    return 2;
  }
  return stopbit::cases::run(arguments);
}
