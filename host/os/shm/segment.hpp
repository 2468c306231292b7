#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "host/os/shm/guard.hpp"

/// Shared by writers and readers: owned descriptors, mappings, locks.
namespace stopbit::os {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool ok() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Shared memory of a file. If the file is truncated later, the mapping is marked as broken and the process continues
/// (guard.hpp).
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        range_(std::exchange(other.range_, nullptr)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  /// Extends an empty file to `bytes` and maps it shared and writable. Its memory is reserved on return, in huge pages
  /// if the file system supports them. On failure returns false and sets errno: nothing is mapped, and the file is
  /// empty again.
  [[nodiscard]] bool create(const Descriptor& file, std::size_t bytes) noexcept;

  enum class Use : std::uint8_t { Write, Read };

  /// Maps the first `bytes` of a file, shared, and loads all pages unless the file is sparse, since its holes may
  /// exceed the memory. On failure returns false and sets errno.
  [[nodiscard]] bool map(const Descriptor& file, std::size_t bytes, Use use) noexcept;

  /// Bytes in huge pages. Reads /proc; 0 if unknown.
  [[nodiscard]] std::size_t huge_bytes() const;
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Whether the file was truncated below the mapping and an access has hit the missing part. From then on the memory
  /// holds private zeros. A load: cheap enough for every record.
  [[nodiscard]] bool is_broken() const noexcept {
    return range_ != nullptr && range_->is_broken.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] bool take(void* data, std::size_t bytes) noexcept;

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  GuardedRange* range_ = nullptr;
};

/// The writer's lock on its segment. It belongs to the open file, so it ends with the writer's process.
[[nodiscard]] bool lock(const Descriptor& file) noexcept;
/// Whether a process holds the lock. Takes no lock itself, so it never blocks a writer.
[[nodiscard]] bool is_locked(const Descriptor& file) noexcept;

/// Lets others ask the kernel which process has opened this file. It ends with the open file, as the lock does.
[[nodiscard]] bool sign(const Descriptor& file) noexcept;
/// The process that has signed the file, as the kernel says; nothing: none, or it is of another pid namespace. Reads
/// /proc/locks.
[[nodiscard]] std::optional<pid_t> signer_of(const Descriptor& file);

/// "cannot WHAT PATH: reason", from errno.
[[nodiscard]] std::string system_error(const char* what, const std::string& path);
/// Why Mapping::create failed, from errno: "cannot reserve memory for PATH: not enough space in FOLDER: ...".
[[nodiscard]] std::string no_memory(const Descriptor& file, const std::string& path, std::size_t bytes);

}  // namespace stopbit::os
