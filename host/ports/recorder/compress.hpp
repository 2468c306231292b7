#pragma once

#include <cstdint>
#include <string>

#include "microcode/base/result.hpp"

namespace stopbit::recorder {

struct Compressed {
  std::string path;  ///< Of the compressed file.
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
};

/// Replaces a file by PATH.zst, which has its mode, owner and times. The compressed file is written under another name,
/// read back and compared, and on disk, before it gets its name; only then the file is removed. A PATH.zst that exists
/// is kept: it must give the same bytes. After a failure the file is as it was.
[[nodiscard]] Result<Compressed> compress_file(const std::string& path);

}  // namespace stopbit::recorder
