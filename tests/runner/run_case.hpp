#pragma once

#include <filesystem>
#include <string>

#include "decoder/engine/engine.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/runner/report.hpp"

namespace stopbit::cases {

struct RunOptions {
  std::filesystem::path binaries;  ///< Folder of the commands, for `-- run`; empty: such cases fail.
};

/// The section `-- options`; unknown ones are failures.
struct CaseOptions {
  EngineOptions engine;
  templates::CompileOptions compile;
};
[[nodiscard]] CaseOptions read_options(const CaseFile& file, Report& report);

/// Runs a case by the sections it has: `-- run` a command, `-- program` an assembly text, `-- template` template files.
void run_case(const CaseFile& file, const RunOptions& options, Report& report);

/// Runs shell commands in a folder of their own and compares output and exit status.
void run_command_case(const CaseFile& file, const RunOptions& options, Report& report);

}  // namespace stopbit::cases
