#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace stopbit::os {

/// Text of errno. One thread at a time, like strerror.
[[nodiscard]] inline std::string error_text() {
  return std::strerror(errno);
}

}  // namespace stopbit::os
