#pragma once

#include <string>
#include <string_view>

#include "microcode/base/result.hpp"

namespace stopbit::ring {

/// Where the segment of a ring lies. A plain name (letters, digits, '.', '_', '-'; up to 64, not beginning with '.' or
/// '-') means POSIX shared memory `/stopbit-NAME`, which Linux keeps in /dev/shm. A name with a '/' is the path of a
/// file.
[[nodiscard]] Result<std::string> path_of(std::string_view name);

/// Whether something has the name; it need not be a ring. False for bad names.
[[nodiscard]] bool exists(std::string_view name);

}  // namespace stopbit::ring
