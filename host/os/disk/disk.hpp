#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <vector>

/// File changes of the appliance, and files that it reads again while it runs. Functions return an error number, 0 for
/// none, and throw only if memory is short.
namespace stopbit::disk {

/// The system calls, as in section 2 of the manual. Tests replace them to provoke failures.
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

/// While this object exists all threads use these calls. One at a time.
class ReplacedCalls {
 public:
  explicit ReplacedCalls(Calls& calls) noexcept;
  ReplacedCalls(const ReplacedCalls&) = delete;
  ReplacedCalls& operator=(const ReplacedCalls&) = delete;
  ~ReplacedCalls();
};

/// An open file; closed at the end.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { (void)close(); }

  [[nodiscard]] int open(const std::string& path, int flags, mode_t mode) noexcept;
  /// Writes everything, in parts if necessary. `written` counts the bytes written, also after an error.
  [[nodiscard]] int write(std::span<const std::byte> bytes, std::uint64_t& written) noexcept;
  [[nodiscard]] int truncate(std::uint64_t bytes) noexcept;
  /// Some file systems report only here that the disk is full.
  [[nodiscard]] int close() noexcept;
  [[nodiscard]] int get() const noexcept { return file_; }

 private:
  int file_ = -1;
};

/// Appends a whole file to `text`. EFBIG: it is longer than `most` bytes.
[[nodiscard]] int read(const std::string& path, std::size_t most, std::string& text);

[[nodiscard]] int rename(const std::string& from, const std::string& to) noexcept;
/// Not an error if the file does not exist.
[[nodiscard]] int remove(const std::string& path) noexcept;

/// Names of the entries of a folder, at most `most`. The iterators of the standard library throw if the disk fails on
/// the way; here the names up to there are returned with the error.
[[nodiscard]] std::vector<std::string> names_in(const std::string& folder, std::error_code& error,
                                                std::size_t most = SIZE_MAX);

}  // namespace stopbit::disk
