#include "host/ring/publish.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

namespace stopbit::ring {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 0644;  // readers need only to read
constexpr std::string_view kNew = ".new-";

bool is_same_file(const Descriptor& a, const struct stat& b) {
  struct stat status {};
  return ::fstat(a.get(), &status) == 0 && status.st_ino == b.st_ino && status.st_dev == b.st_dev;
}

/// A segment whose writer is gone, or that is the caller's own.
struct Old {
  Descriptor file;
  bool is_held = false;  ///< By us, alone. Else readers have locked it: somebody else may want to replace it, too.
};

/// Holds the lock of the segment behind the name, whose writer is gone or who is `kind.own`. Who holds it may replace
/// or remove it: nobody else will. Nothing on success, else why not; `again` if the name has changed meanwhile.
std::string hold_dead(const std::string& path, const SegmentKind& kind, Old& old, bool& again) {
  const std::string noun(kind.noun);
  old.file = Descriptor(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!old.file.ok()) {
    again = errno == ENOENT;
    return system_error("open", path);
  }
  struct stat opened {};
  std::uint64_t magic = 0;
  const bool is_ours = ::fstat(old.file.get(), &opened) == 0 && S_ISREG(opened.st_mode) &&
                       ::pread(old.file.get(), &magic, sizeof(magic), 0) == sizeof(magic) && magic == kind.magic;
  if (!is_ours) return "'" + path + "' exists and is no " + noun + "; it was left alone";
  const bool is_held_by_us = kind.own != nullptr && is_same_file(*kind.own, opened);
  old.is_held = is_held_by_us || lock(old.file);
  if (!old.is_held) {
    if (errno != EAGAIN && errno != EACCES) return system_error("lock", path);
    if (is_locked(old.file)) return "the " + noun + " '" + path + "' has a live writer";
  }
  if (!is_held_by_us && kind.may_replace != nullptr && !kind.may_replace(old.file)) {
    return "the " + noun + " '" + path + "' holds records of its own; it was left alone";
  }
  struct stat named {};
  if (::lstat(path.c_str(), &named) != 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev) {
    again = true;
    return "the " + noun + " '" + path + "' changes all the time";
  }
  return {};
}

/// Takes the name of a segment that could not be held. The two files change names, and who finds that it has taken the
/// name from another successor gives it back.
std::string exchange(const TemporaryFile& made, const std::string& path, const Old& old, bool& again) {
  const auto change_names = [&] {
    return ::renameat2(AT_FDCWD, made.path().c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0;
  };
  if (!change_names()) {
    again = errno == ENOENT;
    return system_error("replace", path);
  }
  if (!is_at(old.file, made.path())) {
    again = change_names();
    return "'" + path + "' changes all the time";
  }
  ::unlink(made.path().c_str());
  return {};
}

/// What makers that died have left: PATH.new-PID, which nobody holds. One that is alive and has not locked its file yet
/// cannot name it then, which it could not anyway: the name is ours.
void remove_unfinished(const std::string& path) {
  const fs::path name(path);
  const std::string begins = name.filename().string() + std::string(kNew);
  const fs::path folder = name.has_parent_path() ? name.parent_path() : fs::path(".");
  std::error_code error;
  std::vector<fs::path> dead;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string file = at->path().filename().string();
    if (!file.starts_with(begins) || file.find_first_not_of("0123456789", begins.size()) != std::string::npos) continue;
    const Descriptor opened(::open(at->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    const bool is_file = opened.ok() && ::fstat(opened.get(), &status) == 0 && S_ISREG(status.st_mode);
    if (is_file && !is_locked(opened)) dead.push_back(at->path());
  }
  for (const fs::path& file : dead) fs::remove(file, error);  // those of others stay
}

}  // namespace

TemporaryFile::TemporaryFile(const std::string& final_path)
    : path_(final_path + std::string(kNew) + std::to_string(::getpid())) {}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

bool is_at(const Descriptor& file, const std::string& path) noexcept {
  struct stat named {};
  return ::lstat(path.c_str(), &named) == 0 && is_same_file(file, named);
}

Descriptor TemporaryFile::create() const {
  ::unlink(path_.c_str());  // has our process id: if it is there, its process is not
  return Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
}

std::string publish(TemporaryFile& made, const std::string& path, const SegmentKind& kind) {
  constexpr int kTries = 100;
  std::string problem;
  for (int i = 0; i < kTries; ++i) {
    if (::link(made.path().c_str(), path.c_str()) == 0) {
      problem.clear();
      break;
    }
    if (errno != EEXIST) return system_error(("make the " + std::string(kind.noun)).c_str(), path);
    bool again = false;
    Old old;
    problem = hold_dead(path, kind, old, again);
    if (problem.empty() && !old.is_held) problem = exchange(made, path, old, again);
    if (again) continue;
    if (!problem.empty()) return problem;
    if (old.is_held && ::rename(made.path().c_str(), path.c_str()) != 0) return system_error("replace", path);
    made.keep();
    break;
  }
  if (problem.empty()) remove_unfinished(path);
  return problem;
}

bool remove_dead(const std::string& path, const SegmentKind& kind) {
  bool again = false;
  Old old;
  return hold_dead(path, kind, old, again).empty() && old.is_held && ::unlink(path.c_str()) == 0;
}

}  // namespace stopbit::ring
