#include "host/os/shm/publish.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "host/os/shm/folder.hpp"
#include "microcode/base/hex.hpp"

namespace stopbit::os {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNew = ".new-";
constexpr int kTries = 100;                  // of a name that other processes change meanwhile
constexpr std::size_t kMaxLookedAt = 4'096;  // files of a folder that need not be ours alone

bool is_same_file(const Descriptor& a, const struct stat& b) {
  struct stat status {};
  return ::fstat(a.get(), &status) == 0 && status.st_ino == b.st_ino && status.st_dev == b.st_dev;
}

bool is_in_own_folder(const std::string& path) {
  const std::string folder = own_folder() + '/';
  return path.starts_with(folder) && path.find('/', folder.size()) == std::string::npos;
}

/// Whose it is, if it is not ours; for messages.
std::string owner_text(const struct stat& status) {
  return status.st_uid == ::geteuid() ? "" : " (it belongs to " + user_text(status.st_uid) + ")";
}

/// ", process 4711" of the segment's writer, if the segment says it.
std::string writer_text(const Descriptor& file, const SegmentKind& kind) {
  std::uint32_t process = 0;
  if (kind.writer_at == 0) return {};
  const ssize_t count = ::pread(file.get(), &process, sizeof(process), static_cast<off_t>(kind.writer_at));
  return count == sizeof(process) && process != 0 ? ", process " + std::to_string(process) : std::string();
}

/// A segment whose writer has died, or that is the caller's own.
struct Old {
  Descriptor file;
  bool is_held = false;  ///< By us, alone. Else readers have locked it: another process may want to replace it, too.
};

/// Locks the segment of this name, whose writer has died or is `kind.own`. The holder of the lock may replace or remove
/// it; no other process will. Nothing on success, else why not; `again` if the name has changed meanwhile.
Status hold_dead(const std::string& path, const SegmentKind& kind, Old& old, bool& again) {
  const std::string noun(kind.noun);
  old.file = Descriptor(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat opened {};
  if (!old.file.ok()) {
    again = errno == ENOENT;
    const std::string problem = system_error("open", path);
    return Failure{problem + (::lstat(path.c_str(), &opened) == 0 ? owner_text(opened) : "")};
  }
  std::uint64_t magic = 0;
  const bool is_file = ::fstat(old.file.get(), &opened) == 0 && S_ISREG(opened.st_mode);
  const bool is_held_by_us = is_file && kind.own != nullptr && is_same_file(*kind.own, opened);
  // A process of our user has truncated it: other users cannot put a file there.
  const bool is_rest = is_file && opened.st_size == 0 && opened.st_uid == ::geteuid() && is_in_own_folder(path);
  const bool is_ours =
      is_held_by_us || is_rest ||
      (is_file && ::pread(old.file.get(), &magic, sizeof(magic), 0) == sizeof(magic) && magic == kind.magic);
  if (!is_ours)
    return Failure{"'" + path + "' exists and is not a " + noun + owner_text(opened) + "; it was not replaced"};
  old.is_held = is_held_by_us || lock(old.file);
  if (!old.is_held) {
    if (errno != EAGAIN && errno != EACCES) return Failure{system_error("lock", path)};
    if (is_locked(old.file))
      return Failure{"the " + noun + " '" + path + "' has a live writer" + writer_text(old.file, kind)};
  }
  if (!is_held_by_us && kind.may_replace != nullptr && !kind.may_replace(old.file)) {
    return Failure{"the " + noun + " '" + path + "' holds records of its own; it was not replaced"};
  }
  struct stat named {};
  if (::lstat(path.c_str(), &named) != 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev) {
    again = true;
    return Failure{"the " + noun + " '" + path + "' keeps changing"};
  }
  return Done{};
}

/// Takes the name of a segment that could not be locked. The two files change names, and a caller that finds that it
/// has taken the name from another successor gives it back.
Status exchange(const std::string& name, const std::string& path, const Old& old, bool& again) {
  const auto change_names = [&] {
    return ::renameat2(AT_FDCWD, name.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0;
  };
  if (!change_names()) {
    again = errno == ENOENT;
    return Failure{system_error("replace", path)};
  }
  if (!is_at(old.file, name)) {
    again = change_names();
    return Failure{"'" + path + "' keeps changing"};
  }
  ::unlink(name.c_str());
  return Done{};
}

/// Removes files that dead makers left: PATH.new-NUMBER, locked by no process. A live maker that has not locked its
/// file yet can then not name it, which it could not anyway: the name is ours.
void remove_unfinished(const std::string& path) {
  const fs::path name(path);
  const std::string begins = name.filename().string() + std::string(kNew);
  const fs::path folder = name.has_parent_path() ? name.parent_path() : fs::path(".");
  std::error_code error;
  std::vector<fs::path> dead;
  std::size_t looked_at = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && looked_at < kMaxLookedAt;
       at.increment(error), ++looked_at) {
    const std::string file = at->path().filename().string();
    if (!file.starts_with(begins) || file.find_first_not_of(kHexDigits, begins.size()) != std::string::npos) continue;
    const Descriptor opened(::open(at->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    const bool is_file = opened.ok() && ::fstat(opened.get(), &status) == 0 && S_ISREG(status.st_mode);
    if (is_file && !is_locked(opened)) dead.push_back(at->path());
  }
  for (const fs::path& file : dead) fs::remove(file, error);  // those of others stay
}

/// Returns 64 unpredictable bits as digits.
std::string random_digits() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) number = static_cast<std::uint64_t>(::getpid());
  std::string text;
  append_hex(text, number, 16);
  return text;
}

}  // namespace

TemporaryFile::TemporaryFile(std::string final_path, mode_t mode) : final_path_(std::move(final_path)), mode_(mode) {}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

bool is_at(const Descriptor& file, const std::string& path) noexcept {
  struct stat named {};
  return ::lstat(path.c_str(), &named) == 0 && is_same_file(file, named);
}

Descriptor TemporaryFile::create() {
  const std::size_t slash = final_path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : final_path_.substr(0, slash + 1);
  if (is_in_own_folder(final_path_)) {
    if (const Status made = make_own_folder(); !made) {
      problem_ = made.message();
      return Descriptor();
    }
  }
  Descriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode_));
  if (!file.ok() && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOSYS)) {
    path_ = final_path_ + std::string(kNew) + random_digits();
    file = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_));
    if (!file.ok()) path_.clear();
  }
  if (!file.ok() || ::fchmod(file.get(), mode_) != 0) {
    problem_ = system_error("make", final_path_);
    return Descriptor();
  }
  return file;
}

bool TemporaryFile::link_to(const Descriptor& file, const std::string& path) {
  if (!path_.empty()) return ::link(path_.c_str(), path.c_str()) == 0;
  const std::string unnamed = "/proc/self/fd/" + std::to_string(file.get());
  return ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

const std::string& TemporaryFile::name_it(const Descriptor& file) {
  if (path_.empty()) {
    const std::string name = final_path_ + std::string(kNew) + random_digits();
    if (link_to(file, name)) path_ = name;
  }
  return path_;
}

Status check_name(const std::string& path, const SegmentKind& kind) {
  Status done = Done{};
  for (int i = 0; i < kTries; ++i) {
    struct stat named {};
    if (::lstat(path.c_str(), &named) != 0) {
      return errno == ENOENT ? Status(Done{}) : Status(Failure{system_error("look at", path)});
    }
    bool again = false;
    Old old;
    done = hold_dead(path, kind, old, again);
    if (!again) break;
  }
  return done;
}

Status publish(TemporaryFile& made, const Descriptor& file, const std::string& path, const SegmentKind& kind) {
  Status done = Done{};
  for (int i = 0; i < kTries; ++i) {
    if (made.link_to(file, path)) {
      done = Done{};
      break;
    }
    if (errno != EEXIST) return Failure{system_error(("make the " + std::string(kind.noun)).c_str(), path)};
    bool again = false;
    Old old;
    done = hold_dead(path, kind, old, again);
    if (again) continue;
    if (!done) return done;
    const std::string& name = made.name_it(file);
    if (name.empty()) return Failure{system_error("replace", path)};
    if (!old.is_held) done = exchange(name, path, old, again);
    if (again) continue;
    if (!done) return done;
    if (old.is_held && ::rename(name.c_str(), path.c_str()) != 0) return Failure{system_error("replace", path)};
    made.keep();
    break;
  }
  if (done) remove_unfinished(path);
  return done;
}

Status share(const Descriptor& file, const std::string& path, const SegmentKind& kind) {
  // To rename one name of a file to another one of the same file does nothing, and leaves both.
  if (is_at(file, path)) return Done{};
  TemporaryFile made(path);
  return publish(made, file, path, kind);
}

void unlink_at(const Descriptor& file, const std::string& path) noexcept {
  if (is_at(file, path)) ::unlink(path.c_str());
}

Status remove_dead(const std::string& path, const SegmentKind& kind) {
  bool again = false;
  Old old;
  Status held = hold_dead(path, kind, old, again);
  if (!held) return held;
  if (!old.is_held)
    return Failure{"another process is about to replace the " + std::string(kind.noun) + " '" + path + "'"};
  if (::unlink(path.c_str()) != 0) return Failure{system_error("remove", path)};
  return Done{};
}

}  // namespace stopbit::os
