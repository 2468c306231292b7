#pragma once

#include <cstddef>
#include <string>

#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::os {

struct ReadFailure {
  int system_error = 0;  ///< errno; 0: the file is too long.
  std::string message;   ///< Names the file.
};

/// A whole file, but not more than `most` bytes of it.
[[nodiscard]] Result<std::string, ReadFailure> read_file(const std::string& path, std::size_t most);
/// What is left of an open one; `path` is for messages.
[[nodiscard]] Result<std::string, ReadFailure> read_file(const Descriptor& file, const std::string& path,
                                                         std::size_t most);

}  // namespace stopbit::os
