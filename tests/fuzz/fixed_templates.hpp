#pragma once

#include <cstdint>

#include <string>
#include <vector>

#include "microcode/program.hpp"
#include "templates/compiler.hpp"

namespace stopbit::fuzz {

/// Template sets of our own, in the manner of exchanges' files: an incremental book, reference data, every operator on
/// every type, references and nested groups, bit groups and vectors. `index` is taken modulo their number. Compiled
/// once.
[[nodiscard]] const Program& fixed_program(std::uint8_t index);
[[nodiscard]] const std::vector<std::string>& fixed_template_texts();
[[nodiscard]] templates::CompileOptions fixed_compile_options();

}  // namespace stopbit::fuzz
