#pragma once

#include <string>
#include <vector>

/// Rings by name, as their files are found in the folders of the users that this process accepts.
namespace stopbit::tools {

struct RingFile {
  std::string name;
  std::string path;
};
/// In no order. A folder with too many files is left half read; a line on stderr says so.
[[nodiscard]] std::vector<RingFile> ring_files();

/// "; did you mean 'moex'?", or which rings there are, for an error about a ring that is not there.
[[nodiscard]] std::string ring_instead_of(const std::string& wanted);

}  // namespace stopbit::tools
