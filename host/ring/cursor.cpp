#include "host/ring/cursor.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "host/os/shm/folder.hpp"

namespace stopbit::ring {
namespace {

constexpr mode_t kMode = 0600;  // the writer has the same user
constexpr mode_t kFolderMode = 0755;

std::string name_of(std::uint64_t ticket) {
  char name[17];
  std::snprintf(name, sizeof(name), "%016llx", static_cast<unsigned long long>(ticket));
  return name;
}

}  // namespace

std::string readers_folder(const std::string& ring_path) {
  return ring_path + ".readers";
}

Status make_readers_folder(const std::string& folder) {
  struct stat status {};
  if (::mkdir(folder.c_str(), kFolderMode) == 0) {
    // Whatever the process's mask says.
    const os::Descriptor made(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made.ok() || ::fchmod(made.get(), kFolderMode) != 0) return Failure{os::system_error("make", folder)};
  } else if (errno != EEXIST) {
    return Failure{os::system_error("make", folder)};
  }
  if (::lstat(folder.c_str(), &status) != 0) return Failure{os::system_error("look at", folder)};
  const bool is_ours = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 022) == 0;
  if (is_ours) return Done{};
  const std::string owner =
      status.st_uid == ::geteuid() ? "" : ", which belongs to " + os::user_text(status.st_uid) + ",";
  return Failure{"'" + folder + "'" + owner + " must be a folder that only this user can write to"};
}

Result<CursorFile> CursorFile::create(const std::string& ring_path, std::uint64_t epoch) {
  std::uint64_t ticket = 0;
  while (ticket == 0) {
    if (::getrandom(&ticket, sizeof(ticket), 0) != sizeof(ticket)) return Failure{"cannot get a random number"};
  }
  const std::string path = readers_folder(ring_path) + '/' + name_of(ticket);
  const std::string made = path + ".new";
  CursorFile file;
  file.file_ = os::Descriptor(::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
  if (!file.file_.ok()) {
    if (errno == ENOENT) return file;
    const std::string problem = os::system_error("make", made);
    return Failure{errno == EACCES ? problem + " (only the writer's user can make it wait)" : problem};
  }
  file.path_ = made;  // goes with the object
  file.ring_path_ = ring_path;
  if (::fchmod(file.file_.get(), kMode) != 0 || !lock(file.file_)) return Failure{os::system_error("make", made)};
  if (!file.mapping_.create(file.file_, kCursorBytes)) return Failure{os::no_memory(file.file_, made, kCursorBytes)};
  Cursor& cursor = file.cursor();
  cursor.magic = kCursorMagic;
  cursor.version = kVersion;
  cursor.reader_pid = static_cast<std::uint32_t>(::getpid());
  cursor.epoch = epoch;
  cursor.ticket = ticket;
  if (::rename(made.c_str(), path.c_str()) != 0) return Failure{os::system_error("name", made)};
  file.path_ = path;
  return file;
}

CursorFile::CursorFile(CursorFile&& other) noexcept
    : maker_(other.maker_),
      path_(std::exchange(other.path_, {})),
      ring_path_(std::move(other.ring_path_)),
      file_(std::move(other.file_)),
      mapping_(std::move(other.mapping_)) {}

CursorFile& CursorFile::operator=(CursorFile&& other) noexcept {
  std::swap(maker_, other.maker_);
  std::swap(path_, other.path_);
  std::swap(ring_path_, other.ring_path_);
  std::swap(file_, other.file_);
  std::swap(mapping_, other.mapping_);
  return *this;
}

CursorFile::~CursorFile() {
  if (path_.empty() || maker_ != ::getpid()) return;  // a child of fork has only a copy: the seat is its parent's
  ::unlink(path_.c_str());
  // The last one out: a live writer keeps the folder.
  const os::Descriptor ring(::open(ring_path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!ring.ok() || !is_locked(ring)) ::rmdir(readers_folder(ring_path_).c_str());
}

}  // namespace stopbit::ring
