#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

namespace stopbit::verify {

/// Done if the program is safe to run; else what is wrong with the program of this name, a finding a line.
[[nodiscard]] Status require_safe(const Program& program, std::string_view name);

/// The program of a firmware image that may come from anywhere: well-formed, and safe to run. A failure begins with the
/// name.
[[nodiscard]] Result<Program> load(std::span<const std::byte> image, std::string_view name);

}  // namespace stopbit::verify
