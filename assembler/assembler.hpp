#pragma once

#include <memory>
#include <optional>
#include <string>

#include "microcode/base/diagnostic.hpp"
#include "microcode/program.hpp"

/// Text <-> program. The language is described in assembler/README.md.
namespace stopbit::assembler {

/// Nothing if there were errors; all of them are in `diagnostics`. The program is not verified.
[[nodiscard]] std::optional<Program> assemble(std::shared_ptr<const SourceBuffer> source, Diagnostics& diagnostics);

/// A listing that assembles to an equal program.
[[nodiscard]] std::string disassemble(const Program& program);

}  // namespace stopbit::assembler
