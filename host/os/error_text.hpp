#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace stopbit::os {

/// What the system says of errno. One thread at a time, as strerror.
[[nodiscard]] inline std::string error_text() {
  return std::strerror(errno);
}

}  // namespace stopbit::os
