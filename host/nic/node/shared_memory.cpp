#include "host/nic/node/shared_memory.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace stopbit::nic {

bool SharedMemory::create(const char* name, std::size_t bytes) noexcept {
  os::Descriptor file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  os::Mapping mapping;
  if (!file.ok() || !mapping.create(file, bytes)) return false;
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return false;
  file_ = std::move(file);
  mapping_ = std::move(mapping);
  return true;
}

bool SharedMemory::map(os::Descriptor file, std::size_t bytes, Use use) noexcept {
  struct stat status {};
  struct statfs system {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      ::fstatfs(file.get(), &system) != 0 || system.f_type != TMPFS_MAGIC || bytes == 0 || bytes % kPageBytes != 0 ||
      std::cmp_less(status.st_size, bytes)) {
    errno = EPERM;
    return false;
  }
  os::Mapping mapping;
  if (!mapping.map(file, bytes, os::Mapping::Use::Read)) return false;
  if (use == Use::Write && ::mprotect(mapping.data(), bytes, PROT_READ | PROT_WRITE) != 0) return false;
  file_ = os::Descriptor();
  mapping_ = std::move(mapping);
  return true;
}

}  // namespace stopbit::nic
