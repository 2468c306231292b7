#pragma once

#include <string>

#include "microcode/program.hpp"

/// Typed C++ views of the records of a program.
namespace stopbit::emit {

struct CppOptions {
  std::string name_space = "feed";  ///< "a::b" is two; must satisfy is_namespace.
};

/// A header that needs only decoder/record/typed_view.hpp. `program` must have passed verify::check.
///
/// The same program gives the same text. Names are made identifiers in the order of the schema, so that a name depends
/// on those before it in its scope only.
[[nodiscard]] std::string cpp_view(const Program& program, const CppOptions& options);

}  // namespace stopbit::emit
