#pragma once

#include <string>

#include "microcode/base/result.hpp"

namespace stopbit::device {

/// A function of a library of this build, by the name that only this version's has. The library stays loaded.
[[nodiscard]] Result<void*> function_of(const std::string& library, const char* symbol);

}  // namespace stopbit::device
