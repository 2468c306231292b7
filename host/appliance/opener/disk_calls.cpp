#include "host/appliance/opener/disk_calls.hpp"

#include <fcntl.h>

#include <cerrno>

namespace stopbit::opener {
namespace {

int result_of(const Outcome& outcome) noexcept {
  if (outcome.error == 0) return 0;
  errno = outcome.error;
  return -1;
}

}  // namespace

int DiskCalls::open(const char* path, int flags, mode_t mode) noexcept {
  if ((flags & O_ACCMODE) == O_RDONLY) {
    const auto file = opener_.file_of(path);
    if (!file) return disk::Calls::open(path, flags, mode);
    Outcome opened = opener_.ask({.kind = RequestKind::Read, .index = *file});
    return opened.error == 0 && opened.file.ok() ? opened.file.release() : result_of(opened);
  }
  const auto name = opener_.name_of(path);
  if (!name) return disk::Calls::open(path, flags, mode);
  const RequestKind kind = (flags & O_EXCL) != 0 ? RequestKind::Create : RequestKind::Append;
  Outcome opened = opener_.ask({.kind = kind, .index = name->set, .number = name->number});
  if (opened.error == 0 && !opened.file.ok()) opened.error = EPROTO;
  return opened.error == 0 ? opened.file.release() : result_of(opened);
}

int DiskCalls::rename(const char* from, const char* to) noexcept {
  const auto name = opener_.name_of(from);
  if (!name || opener_.kept_path(*name) != to) return disk::Calls::rename(from, to);
  return result_of(opener_.ask({.kind = RequestKind::Keep, .index = name->set, .number = name->number}));
}

int DiskCalls::unlink(const char* path) noexcept {
  const auto name = opener_.name_of(path);
  if (!name) return disk::Calls::unlink(path);
  return result_of(opener_.ask({.kind = RequestKind::Remove, .index = name->set, .number = name->number}));
}

}  // namespace stopbit::opener
