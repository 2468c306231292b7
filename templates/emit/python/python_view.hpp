#pragma once

#include <span>
#include <string>

#include "microcode/program.hpp"

/// Typed Python classes for the columns of a program's records.
namespace stopbit::emit {

/// A module that needs only numpy: a dataclass for each table of stopbit.columns. `program` must have passed
/// verify::check; `keys` are the names of its nodes as columns have them (record::json_keys).
[[nodiscard]] std::string python_view(const Program& program, std::span<const std::string> keys);

}  // namespace stopbit::emit
