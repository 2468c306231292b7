#pragma once

#include <string>

#include "microcode/program.hpp"

/// Typed C views of the records of a program.
namespace stopbit::emit {

/// A C99 header that needs only stopbit_view.h. `program` must have passed verify::check; `prefix`, an identifier,
/// begins every name. Names are made as those of cpp_view.
[[nodiscard]] std::string c_view(const Program& program, const std::string& prefix);

}  // namespace stopbit::emit
