#pragma once

#include <vector>

#include "decoder/engine/engine.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/runner/report.hpp"

namespace stopbit::cases {

/// Decodes the datagrams of a case on every engine there is and compares records and errors with the case, and the
/// bytes of the records with those of the first engine. Then decodes every prefix of every datagram and every datagram
/// with one bit turned: whatever comes out of that must be sound.
void run_engines(const CaseFile& file, const Program& program, const EngineOptions& options,
                 const std::vector<Step>& steps, Report& report);

}  // namespace stopbit::cases
