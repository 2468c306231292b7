#pragma once

#include <cstddef>
#include <memory>

#include "decoder/engine/engine.hpp"
#include "decoder/jit/parts.hpp"
#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

namespace stopbit {

namespace jit {

/// Cost of generating the code.
struct Figures {
  std::size_t instructions = 0;  ///< Of the program.
  std::size_t code_bytes = 0;    ///< Of machine code, its rare paths included.
  std::size_t rare_bytes = 0;    ///< Of those paths.
  double seconds = 0;            ///< From the program to code that can run.
};

}  // namespace jit

/// The program as x86-64 code, made when the engine is made: the same records, errors and places as the interpreter, to
/// which it leaves every rare instruction. `program` must have passed verify::check and outlive the engine. The failure
/// says why this processor or this system cannot run native code. `parts` gets what each piece of the code is for.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_native(const Program& program, const EngineOptions& options,
                                                          jit::Figures* figures = nullptr, jit::Parts* parts = nullptr);

}  // namespace stopbit
