#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "host/os/disk/disk.hpp"

namespace stopbit::testing {

/// A disk on which one call, or every call from one on, fails. Counts the calls that change something.
class FailingDisk final : public disk::Calls {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;
  /// Half of the bytes are taken; the rest fails with ENOSPC.
  static constexpr int kShortWrite = -1;

  std::uint64_t fails_from = kNever;  ///< Counted from 0.
  std::uint64_t fails_until = kNever;
  int error = EIO;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;

  int open(const char* path, int flags, mode_t mode) noexcept override {
    return fails() ? -1 : Calls::open(path, flags, mode);
  }
  ssize_t write(int file, const void* data, std::size_t bytes) noexcept override {
    if (!fails()) return Calls::write(file, data, bytes);
    if (error != kShortWrite || bytes < 2 || was_short_) {
      was_short_ = false;
      return -1;
    }
    was_short_ = true;
    if (fails_until == calls) ++fails_until;  // the rest of it
    return Calls::write(file, data, bytes / 2);
  }
  int truncate(int file, off_t bytes) noexcept override { return fails() ? -1 : Calls::truncate(file, bytes); }
  int close(int file) noexcept override {
    const bool failed = fails();
    const int result = Calls::close(file);
    if (failed) errno = error == kShortWrite ? ENOSPC : error;
    return failed ? -1 : result;
  }
  int rename(const char* from, const char* to) noexcept override { return fails() ? -1 : Calls::rename(from, to); }
  int unlink(const char* path) noexcept override { return fails() ? -1 : Calls::unlink(path); }

 private:
  bool fails() noexcept {
    const std::uint64_t call = calls++;
    if (call < fails_from || call >= fails_until) return false;
    ++failures;
    errno = error == kShortWrite ? ENOSPC : error;
    return true;
  }

  bool was_short_ = false;
};

}  // namespace stopbit::testing
