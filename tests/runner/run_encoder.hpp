#pragma once

#include "decoder/engine/engine.hpp"
#include "microcode/program.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/runner/report.hpp"

namespace stopbit::cases {

/// Encodes the lines of the section `json` and compares the sections `encoded` and `error`.
void run_encoder_case(const CaseFile& file, const Program& program, const EngineOptions& options, Report& report);

}  // namespace stopbit::cases
