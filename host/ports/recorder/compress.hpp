#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// Files in a folder that compress_file was writing when it was killed. Nobody reads them, and nothing else removes
/// them when the file that they were to replace has gone.
[[nodiscard]] std::vector<std::string> abandoned_files(const std::string& folder);

}  // namespace stopbit::recorder
