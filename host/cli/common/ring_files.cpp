#include "host/cli/common/ring_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "host/cli/common/messages.hpp"
#include "host/os/disk/disk.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/segment.hpp"
#include "host/ring/layout.hpp"
#include "microcode/base/nearest.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kMaxFiles = 4'096;  ///< Looked at in a folder: other programs of its user may fill it.

bool is_ring(const std::string& path) {
  const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  std::uint64_t magic = 0;
  return file.ok() && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::pread(file.get(), &magic, sizeof(magic), 0) == sizeof(magic) && magic == ring::kMagic;
}

}  // namespace

std::vector<RingFile> ring_files() {
  std::vector<RingFile> found;
  for (const os::UserFolder& folder : os::folders_of(os::Accepted().users())) {
    std::error_code error;
    std::vector<std::string> names = disk::names_in(folder.path, error, kMaxFiles + 1);
    // One that is another user's secret has none for us.
    if (error && error != std::errc::permission_denied)
      print_stderr("stopbit: cannot read '{}' to its end: {}\n", folder.path, error.message());
    if (names.size() > kMaxFiles) {
      print_stderr("stopbit: '{}' has more than {} files; the others are left out\n", folder.path, kMaxFiles);
      names.pop_back();
    }
    for (const std::string& name : names) {
      const std::string path = folder.path + '/' + name;
      if (is_ring(path)) found.push_back({name, path});
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
