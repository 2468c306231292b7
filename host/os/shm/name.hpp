#pragma once

#include <string>
#include <string_view>

#include "microcode/base/result.hpp"

namespace stopbit::os {

/// Path at which this process creates the segment of a ring. A plain name (letters, digits, '.', '_', '-'; up to 64,
/// not beginning with '.' or '-') is a file in the own folder (folder.hpp). A name with a '/' is the path of a file.
/// Readers also search other users' folders: `open_accepted`.
[[nodiscard]] Result<std::string> path_of(std::string_view name);

/// Whether a reader would find a file of this name; it need not be a ring. False for invalid names.
[[nodiscard]] bool exists(std::string_view name);

}  // namespace stopbit::os
