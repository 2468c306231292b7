#pragma once

#include <optional>

#include "microcode/program.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/runner/run_case.hpp"

namespace stopbit::cases {

/// The program of a decode case, from its templates or its assembly text; nothing if it has none that is accepted.
[[nodiscard]] std::optional<Program> program_of(const CaseFile& file, const CaseOptions& options);

}  // namespace stopbit::cases
