#include "host/appliance/folder_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "decoder/record/text.hpp"

namespace stopbit::appliance {
namespace {

constexpr const char* kFile = "/.stopbit-owner";
// Other users may read it, but not open it to write, which the lock needs.
constexpr mode_t kMode = 0644;

/// "'xetra', process 4711", or less if the file does not say.
std::string owner_in(const os::Descriptor& file) {
  std::array<char, 128> text;
  const ssize_t count = ::pread(file.get(), text.data(), text.size(), 0);
  std::string_view line(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  line = line.substr(0, line.find('\n'));
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0) return "another appliance";
  const std::string_view process = line.substr(0, space);
  if (process.find_first_not_of("0123456789") != std::string_view::npos) return "another appliance";
  std::string name;
  record::append_json_string(name, line.substr(space + 1), false);
  return "the appliance " + name + ", process " + std::string(process);
}

}  // namespace

Result<FolderLock> FolderLock::take(const std::string& folder, const std::string& name) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Failure{"cannot create the folder '" + folder + "': " + error.message()};
  FolderLock lock;
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return Failure{os::system_error("look at", folder)};
  lock.device_ = status.st_dev;
  lock.inode_ = status.st_ino;
  const bool is_foreign = status.st_uid != 0 && status.st_uid != ::geteuid();
  if (is_foreign || (status.st_mode & S_IWOTH) != 0) {
    lock.warning_ = "the folder '" + folder + "' " +
                    (is_foreign ? "belongs to user " + std::to_string(status.st_uid) : "is writable by all users") +
                    ": others can change what the appliance keeps there";
  }
  const std::string path = folder + kFile;
  lock.file_ = os::Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kMode));
  if (!lock.file_.ok()) {
    const bool is_disk = errno == ENOSPC || errno == EDQUOT || errno == EIO;
    std::string why = os::system_error("write", path);
    if (!is_disk) return Failure{std::move(why)};
    lock.warning_ = why + "; another appliance could use the folder at the same time";
    return lock;
  }
  if (!os::lock(lock.file_)) {
    if (errno != EAGAIN && errno != EACCES) {
      lock.warning_ = os::system_error("lock", path) + "; another appliance could use the folder at the same time";
      return lock;
    }
    return Failure{"the folder '" + folder + "' is in use by " + owner_in(lock.file_) +
                   ": each appliance needs its own folders"};
  }
  // The text of an owner that has died goes first: it may not be mistaken for this one's if the disk takes no more.
  const std::string text = std::to_string(::getpid()) + " " + name + "\n";
  if (::ftruncate(lock.file_.get(), 0) == 0) (void)!::pwrite(lock.file_.get(), text.data(), text.size(), 0);
  return lock;
}

bool FolderLock::is_of(const std::string& folder) const {
  struct stat status {};
  return ::stat(folder.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

}  // namespace stopbit::appliance
