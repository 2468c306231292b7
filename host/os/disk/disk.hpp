#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <vector>

/// How the appliance changes files on disk. Everything here returns an error number, 0 for none, and throws nothing but
/// for want of memory.
namespace stopbit::disk {

/// The system calls, as in section 2 of the manual. Tests put others in their place, to see what each failure does.
class Calls {
 public:
  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  virtual ~Calls() = default;

  virtual int open(const char* path, int flags, mode_t mode) noexcept;
  virtual ssize_t write(int file, const void* data, std::size_t bytes) noexcept;
  virtual int truncate(int file, off_t bytes) noexcept;
  virtual int close(int file) noexcept;
  virtual int rename(const char* from, const char* to) noexcept;
  virtual int unlink(const char* path) noexcept;
};

/// From here to the end of its life all threads use these calls. One at a time.
class ReplacedCalls {
 public:
  explicit ReplacedCalls(Calls& calls) noexcept;
  ReplacedCalls(const ReplacedCalls&) = delete;
  ReplacedCalls& operator=(const ReplacedCalls&) = delete;
  ~ReplacedCalls();
};

/// A file that is open for writing; closed at the end.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { (void)close(); }

  [[nodiscard]] int open(const std::string& path, int flags, mode_t mode) noexcept;
  /// All of it: what the system takes in parts is written in parts. `written` counts what it took, after an error, too.
  [[nodiscard]] int write(std::span<const std::byte> bytes, std::uint64_t& written) noexcept;
  [[nodiscard]] int truncate(std::uint64_t bytes) noexcept;
  /// Some file systems report only here that there was no room.
  [[nodiscard]] int close() noexcept;
  [[nodiscard]] int get() const noexcept { return file_; }

 private:
  int file_ = -1;
};

[[nodiscard]] int rename(const std::string& from, const std::string& to) noexcept;
/// No error if there is no such file.
[[nodiscard]] int remove(const std::string& path) noexcept;

/// Names of what is in a folder. The iterators of the standard library throw if the disk fails on the way.
[[nodiscard]] std::vector<std::string> names_in(const std::string& folder, std::error_code& error);

}  // namespace stopbit::disk
