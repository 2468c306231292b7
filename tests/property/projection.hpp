#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "microcode/program.hpp"
#include "tests/lib/random.hpp"

/// A program that leaves fields out of its records must not differ from the whole one in anything else.
namespace stopbit::cases {

/// A list for CompileOptions::fields: names of nodes and lengths of the whole program, by name, path or identifier.
/// Always at least one, if the program has any.
[[nodiscard]] std::string random_fields(const Program& whole, Random& random);

/// Decodes the datagrams, on a fresh channel or as one stream, by both programs on every engine. Stored fields must
/// have the same values, and errors the same code, offset and field; only a record that is too long may differ.
/// @returns the first difference, empty if there is none
[[nodiscard]] std::string projection_problem(const Program& whole, const Program& projected,
                                             const EngineOptions& options,
                                             const std::vector<std::vector<std::byte>>& datagrams);

}  // namespace stopbit::cases
