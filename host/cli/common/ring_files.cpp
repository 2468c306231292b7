#include "host/cli/common/ring_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "host/cli/common/messages.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/segment.hpp"
#include "host/ring/layout.hpp"
#include "microcode/base/nearest.hpp"

namespace stopbit::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 4'096;  ///< Looked at in a folder: other programs of its user may fill it.

bool is_ring(const fs::directory_entry& entry) {
  std::error_code error;
  if (!entry.is_regular_file(error) || entry.is_symlink(error)) return false;
  const os::Descriptor file(::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::uint64_t magic = 0;
  return file.ok() && ::pread(file.get(), &magic, sizeof(magic), 0) == sizeof(magic) && magic == ring::kMagic;
}

}  // namespace

std::vector<RingFile> ring_files() {
  std::vector<RingFile> found;
  for (const os::UserFolder& folder : os::folders_of(os::Accepted().users())) {
    std::error_code error;
    std::size_t looked_at = 0;
    for (const auto& file : fs::directory_iterator(folder.path, error)) {
      if (++looked_at > kMaxFiles) {
        print_stderr("stopbit: '{}' has more than {} files; the others are left out\n", folder.path, kMaxFiles);
        break;
      }
      if (is_ring(file)) found.push_back({file.path().filename().string(), file.path().string()});
    }
  }
  return found;
}

std::string ring_instead_of(const std::string& wanted) {
  constexpr std::size_t kMost = 8;
  if (wanted.find('/') != std::string::npos) return {};
  std::vector<std::string> names;
  for (const RingFile& ring : ring_files()) names.push_back(ring.name);
  std::sort(names.begin(), names.end());
  const std::string near = did_you_mean(wanted, names);
  if (!near.empty() || names.empty()) return near;
  std::string list;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) list += (i == 0 ? "" : ", ") + names[i];
  return "; there are: " + list + (names.size() > kMost ? " and others, see `stopbit ring ls`" : "");
}

}  // namespace stopbit::tools
