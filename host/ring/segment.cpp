#include "host/ring/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace stopbit::ring {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

bool Mapping::map(const Descriptor& file, std::size_t bytes, Use use) noexcept {
  const int access = use == Use::Write ? PROT_READ | PROT_WRITE : PROT_READ;
  const int flags = use == Use::ReadSparse ? MAP_SHARED : MAP_SHARED | MAP_POPULATE;
  void* data = ::mmap(nullptr, bytes, access, flags, file.get(), 0);
  if (data == MAP_FAILED) return false;
  *this = Mapping();
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
  return true;
}

bool lock(const Descriptor& file) noexcept {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(file.get(), F_OFD_SETLK, &whole) == 0;
}

bool is_locked(const Descriptor& file) noexcept {
  struct flock whole {};
  whole.l_type = F_RDLCK;  // what a writer's lock would conflict with
  whole.l_whence = SEEK_SET;
  return ::fcntl(file.get(), F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

std::string system_error(const char* what, const std::string& path) {
  return std::string("cannot ") + what + " '" + path + "': " + std::generic_category().message(errno);
}

}  // namespace stopbit::ring
