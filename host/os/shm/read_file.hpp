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

/// Reads a whole file; fails if it is longer than `most` bytes.
[[nodiscard]] Result<std::string, ReadFailure> read_file(const std::string& path, std::size_t most);
/// Reads the rest of an open file; `path` is for messages.
[[nodiscard]] Result<std::string, ReadFailure> read_file(const Descriptor& file, const std::string& path,
                                                         std::size_t most);
/// The first line of a file of at most 4 KiB, without its end: of a password or a token. Never waits: what is no
/// regular file, such as a pipe, is refused.
[[nodiscard]] Result<std::string> read_first_line(const std::string& path);
/// A password: read_first_line; empty for no file.
[[nodiscard]] Result<std::string> read_secret(const std::string& path);
/// A warning for the file of a password, token or key that every user may read; empty: this one is not.
[[nodiscard]] std::string exposure_of_secret(const std::string& path);

}  // namespace stopbit::os
