#include "host/ring/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

namespace stopbit::ring {
namespace {

constexpr std::size_t kSmallPageBytes = 4096;

}  // namespace

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

bool Mapping::create(const Descriptor& file, std::size_t bytes) noexcept {
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return false;
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return false;
  *this = Mapping();
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
  // In this order: memory that is reserved through the file comes in small pages. Advice may be refused.
  (void)::madvise(data, bytes, MADV_HUGEPAGE);
  (void)::madvise(data, bytes, MADV_POPULATE_WRITE);
  // What is not there yet has to be: now rather than by a bus error later.
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) {
    errno = error;
    return false;
  }
  for (std::size_t at = 0; at < bytes; at += kSmallPageBytes) *reinterpret_cast<volatile std::byte*>(data_ + at) = {};
  return true;
}

std::size_t Mapping::huge_bytes() const {
  std::ifstream maps("/proc/self/smaps");
  const auto begin = reinterpret_cast<std::uintptr_t>(data_);
  std::size_t kilobytes = 0;
  bool is_ours = false;
  for (std::string line; std::getline(maps, line);) {
    // Either "7f00-7f80 rw-s ..." or "Name:   12 kB".
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word.find('-') != std::string::npos && word.back() != ':') {
      is_ours = std::strtoull(word.c_str(), nullptr, 16) == begin;
    } else if (is_ours && (word == "ShmemPmdMapped:" || word == "FilePmdMapped:")) {
      std::size_t value = 0;
      words >> value;
      kilobytes += value;
    }
  }
  return kilobytes * 1024;
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
