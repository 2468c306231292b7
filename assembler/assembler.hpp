#pragma once

#include <memory>
#include <optional>
#include <string>

#include "microcode/base/diagnostic.hpp"
#include "microcode/program.hpp"

/// Text <-> program. The language: assembler/language.md.
namespace stopbit::assembler {

/// Nothing if there were errors; all of them are in `diagnostics` (after a thousand, the rest of the file is not read).
/// The program is canonical (see canonical()), not verified.
[[nodiscard]] std::optional<Program> assemble(std::shared_ptr<const SourceBuffer> source, Diagnostics& diagnostics);

/// A listing that assembles to canonical(program), and so to the same image. Instructions must be known, texts inside
/// their pools, as image::read and verify::check demand; nothing else is.
[[nodiscard]] std::string disassemble(const Program& program);

}  // namespace stopbit::assembler
