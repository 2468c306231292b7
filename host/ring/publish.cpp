#include "host/ring/publish.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace stopbit::ring {
namespace {

constexpr mode_t kMode = 0644;  // readers need only to read

bool is_same_file(const Descriptor& a, const struct stat& b) {
  struct stat status {};
  return ::fstat(a.get(), &status) == 0 && status.st_ino == b.st_ino && status.st_dev == b.st_dev;
}

/// Takes the name from a writer that is gone. Nothing on success, else why not; `again` if the name has changed
/// meanwhile.
std::string take_over(const TemporaryFile& made, const std::string& path, const SegmentKind& kind, bool& again) {
  const std::string noun(kind.noun);
  const Descriptor old(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!old.ok()) {
    again = errno == ENOENT;
    return system_error("open", path);
  }
  struct stat opened {};
  std::uint64_t magic = 0;
  const bool is_ours = ::fstat(old.get(), &opened) == 0 && S_ISREG(opened.st_mode) &&
                       ::pread(old.get(), &magic, sizeof(magic), 0) == sizeof(magic) && magic == kind.magic;
  if (!is_ours) return "'" + path + "' exists and is no " + noun + "; it was left alone";
  const bool is_held_by_us = kind.own != nullptr && is_same_file(*kind.own, opened);
  if (!is_held_by_us && !lock(old)) {
    const bool is_held = errno == EAGAIN || errno == EACCES;
    return is_held ? "the " + noun + " '" + path + "' has a live writer" : system_error("lock", path);
  }
  if (!is_held_by_us && kind.may_replace != nullptr && !kind.may_replace(old)) {
    return "the " + noun + " '" + path + "' holds records of its own; it was left alone";
  }
  // Who holds the lock of the file behind the name may replace it: nobody else will.
  struct stat named {};
  if (::lstat(path.c_str(), &named) != 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev) {
    again = true;
    return "the " + noun + " '" + path + "' changes all the time";
  }
  if (::rename(made.path().c_str(), path.c_str()) != 0) return system_error("replace", path);
  return {};
}

}  // namespace

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
    if (::link(made.path().c_str(), path.c_str()) == 0) return {};
    if (errno != EEXIST) return system_error(("make the " + std::string(kind.noun)).c_str(), path);
    bool again = false;
    problem = take_over(made, path, kind, again);
    if (problem.empty()) made.keep();
    if (problem.empty() || !again) break;
  }
  return problem;
}

}  // namespace stopbit::ring
