#include "host/os/disk/disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace stopbit::disk {
namespace {

Calls& system_calls() noexcept {
  static Calls calls;
  return calls;
}

std::atomic<Calls*> replaced = nullptr;

Calls& calls() noexcept {
  Calls* const other = replaced.load(std::memory_order_acquire);
  return other != nullptr ? *other : system_calls();
}

int error_of(int result) noexcept {
  return result < 0 ? errno : 0;
}

}  // namespace

int Calls::open(const char* path, int flags, mode_t mode) noexcept {
  return ::open(path, flags, mode);
}
ssize_t Calls::write(int file, const void* data, std::size_t bytes) noexcept {
  return ::write(file, data, bytes);
}
int Calls::truncate(int file, off_t bytes) noexcept {
  return ::ftruncate(file, bytes);
}
int Calls::close(int file) noexcept {
  return ::close(file);
}
int Calls::rename(const char* from, const char* to) noexcept {
  return ::rename(from, to);
}
int Calls::unlink(const char* path) noexcept {
  return ::unlink(path);
}

ReplacedCalls::ReplacedCalls(Calls& calls) noexcept {
  replaced.store(&calls, std::memory_order_release);
}
ReplacedCalls::~ReplacedCalls() {
  replaced.store(nullptr, std::memory_order_release);
}

int File::open(const std::string& path, int flags, mode_t mode) noexcept {
  (void)close();
  do {
    file_ = calls().open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (file_ < 0 && errno == EINTR);
  return error_of(file_);
}

int File::write(std::span<const std::byte> bytes, std::uint64_t& written) noexcept {
  while (!bytes.empty()) {
    const ssize_t count = calls().write(file_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return ENOSPC;
    written += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return 0;
}

int File::truncate(std::uint64_t bytes) noexcept {
  int result = 0;
  do {
    result = calls().truncate(file_, static_cast<off_t>(bytes));
  } while (result < 0 && errno == EINTR);
  return error_of(result);
}

int File::close() noexcept {
  const int file = std::exchange(file_, -1);
  if (file < 0) return 0;
  const int error = error_of(calls().close(file));
  return error == EINTR ? 0 : error;  // it is closed all the same
}

int read(const std::string& path, std::size_t most, std::string& text) {
  File file;
  if (const int error = file.open(path, O_RDONLY, 0); error != 0) return error;
  std::array<char, 65'536> piece;
  for (std::size_t bytes = 0;;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return 0;
    bytes += static_cast<std::size_t>(count);
    if (bytes > most) return EFBIG;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

int rename(const std::string& from, const std::string& to) noexcept {
  return error_of(calls().rename(from.c_str(), to.c_str()));
}

int remove(const std::string& path) noexcept {
  const int error = error_of(calls().unlink(path.c_str()));
  return error == ENOENT ? 0 : error;
}

std::vector<std::string> names_in(const std::string& folder, std::error_code& error, std::size_t most) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && names.size() < most; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  return names;
}

}  // namespace stopbit::disk
