#include "host/os/shm/segment.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

namespace stopbit::os {
namespace {

constexpr std::size_t kSmallPageBytes = 4096;

std::uint64_t free_bytes(const struct statfs& system) {
  return static_cast<std::uint64_t>(system.f_bavail) * static_cast<std::uint64_t>(system.f_bsize);
}

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
  std::swap(range_, other.range_);
  return *this;
}

Mapping::~Mapping() {
  unguard(range_);
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

/// The mapping belongs to this object from here on, guarded.
bool Mapping::take(void* data, std::size_t bytes) noexcept {
  GuardedRange* const range = guard(static_cast<std::byte*>(data), bytes);
  if (range == nullptr) {
    ::munmap(data, bytes);
    errno = ENOMEM;
    return false;
  }
  *this = Mapping();
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
  range_ = range;
  return true;
}

bool Mapping::create(const Descriptor& file, std::size_t bytes) noexcept {
  // A request that cannot be met takes nothing from others, not even for a moment.
  struct statfs system {};
  if (::fstatfs(file.get(), &system) == 0 && system.f_blocks != 0 && free_bytes(system) < bytes) {
    errno = ENOSPC;
    return false;
  }
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return false;
  const auto give_up = [&](int error) {
    *this = Mapping();
    (void)!::ftruncate(file.get(), 0);
    errno = error;
    return false;
  };
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED || !take(data, bytes)) return give_up(errno);
  // In this order: memory that is reserved through the file comes in small pages. Advice may be refused; unlike a
  // store, it raises no signal where there is no memory.
  (void)::madvise(data, bytes, MADV_HUGEPAGE);
  (void)::madvise(data, bytes, MADV_POPULATE_WRITE);
  // Nothing is stored before all of it is reserved.
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) return give_up(error);
  for (std::size_t at = 0; at < bytes; at += kSmallPageBytes) *reinterpret_cast<volatile std::byte*>(data_ + at) = {};
  // A file system that does not keep what it reserves.
  return is_broken() ? give_up(ENOSPC) : true;
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
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return false;
  const bool is_sparse = static_cast<std::uint64_t>(status.st_blocks) * 512 < bytes;
  const int flags = is_sparse ? MAP_SHARED : MAP_SHARED | MAP_POPULATE;
  void* data = ::mmap(nullptr, bytes, access, flags, file.get(), 0);
  return data != MAP_FAILED && take(data, bytes);
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

bool sign(const Descriptor& file) noexcept {
  return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

std::optional<pid_t> signer_of(const Descriptor& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return std::nullopt;
  std::array<char, 64> wanted;
  (void)std::snprintf(wanted.data(), wanted.size(), "%02x:%02x:%llu", ::major(status.st_dev), ::minor(status.st_dev),
                      static_cast<unsigned long long>(status.st_ino));
  // "1: FLOCK  ADVISORY  WRITE 5610 00:1b:134462 0 EOF"; processes that wait for a lock have "->" after the number.
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number;
    std::string kind;
    std::string mode;
    std::string access;
    std::string inode;
    pid_t process = 0;
    if (words >> number >> kind >> mode >> access >> process >> inode && kind == "FLOCK" && access == "WRITE" &&
        inode == wanted.data() && process > 0) {
      return process;
    }
  }
  return std::nullopt;
}

std::string system_error(const char* what, const std::string& path) {
  const int error = errno;  // before anything else can change it
  return std::string("cannot ") + what + " '" + path + "': " + std::generic_category().message(error);
}

std::string no_memory(const Descriptor& file, const std::string& path, std::size_t bytes) {
  struct statfs system {};
  if (errno != ENOSPC || ::fstatfs(file.get(), &system) != 0) return system_error("reserve memory for", path);
  constexpr std::string_view kSharedFolder = "/dev/shm/";
  const std::size_t slash = path.rfind('/');
  const std::string folder = path.starts_with(kSharedFolder) ? "/dev/shm"
                             : slash == std::string::npos    ? "."
                                                             : path.substr(0, slash);
  return "cannot reserve memory for '" + path + "': not enough space in " + folder + ": needs " +
         std::to_string(bytes) + " bytes, " + std::to_string(free_bytes(system)) + " free";
}

}  // namespace stopbit::os
