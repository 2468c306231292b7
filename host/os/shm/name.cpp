#include "host/os/shm/name.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "host/os/shm/folder.hpp"
#include "microcode/base/ascii.hpp"

namespace stopbit::os {
namespace {

constexpr std::size_t kMaxName = 64;
constexpr std::size_t kRoomForSuffix = 32;  // of the file a new segment is made in

constexpr bool is_name_character(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
}

}  // namespace

Result<std::string> path_of(std::string_view name) {
  if (name.empty()) return Failure{"the name of the ring is empty"};
  if (name.find('\0') != std::string_view::npos) return Failure{"the name of the ring has a zero byte"};
  if (name.find('/') != std::string_view::npos) {
    if (name.back() == '/') return Failure{"'" + std::string(name) + "' is a folder, not a ring"};
    if (name.size() + kRoomForSuffix > PATH_MAX) return Failure{"the path of the ring is too long"};
    return std::string(name);
  }
  const bool is_good = name.size() <= kMaxName && name.front() != '.' && name.front() != '-' &&
                       std::all_of(name.begin(), name.end(), is_name_character);
  if (!is_good) {
    return Failure{"'" + std::string(name) +
                   "' is not a valid name of a ring: up to 64 letters, digits, '.', '_' and '-', not beginning with "
                   "'.' or '-'; or a path with a '/'"};
  }
  return own_folder() + '/' + std::string(name);
}

bool exists(std::string_view name) {
  const Result<std::string> path = path_of(name);
  if (!path) return false;
  struct stat status {};
  if (::lstat(path.value().c_str(), &status) == 0) return true;
  if (name.find('/') != std::string_view::npos) return false;
  const std::vector<UserFolder> folders = folders_of(Accepted().users());
  return std::any_of(folders.begin(), folders.end(), [&](const UserFolder& folder) {
    return ::lstat((folder.path + '/' + std::string(name)).c_str(), &status) == 0;
  });
}

}  // namespace stopbit::os
