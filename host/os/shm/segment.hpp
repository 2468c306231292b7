#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "host/os/shm/guard.hpp"

/// What writer and reader share: owned descriptors and mappings, locks.
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

/// Shared memory of a file. A file that becomes shorter afterwards breaks the mapping and not the process (guard.hpp).
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        range_(std::exchange(other.range_, nullptr)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  /// Makes an empty file `bytes` long and maps it, shared, to write to. Its memory is reserved when this returns, in
  /// huge pages if the file system gives them. False, with errno, if there is not enough: then nothing is mapped, and
  /// the file is empty again.
  [[nodiscard]] bool create(const Descriptor& file, std::size_t bytes) noexcept;

  enum class Use : std::uint8_t { Write, Read, ReadSparse };

  /// Maps the first `bytes` of a file, shared, and brings all pages in unless the file is sparse: its holes may be
  /// larger than the memory. False, with errno, if that fails.
  [[nodiscard]] bool map(const Descriptor& file, std::size_t bytes, Use use) noexcept;

  /// How much of it lies in huge pages. Reads /proc; 0 if that cannot be known.
  [[nodiscard]] std::size_t huge_bytes() const;
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Whether the file has become shorter than the mapping and an access has met the hole. From there on the memory
  /// holds zeros of this process alone. A load: cheap enough for every record.
  [[nodiscard]] bool is_broken() const noexcept {
    return range_ != nullptr && range_->is_broken.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] bool take(void* data, std::size_t bytes) noexcept;

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  GuardedRange* range_ = nullptr;
};

/// The writer's lock on its segment. It belongs to the open file, so it ends with the writer, however that ends.
[[nodiscard]] bool lock(const Descriptor& file) noexcept;
/// Whether anyone holds it. Takes no lock itself, so that looking never keeps a writer out.
[[nodiscard]] bool is_locked(const Descriptor& file) noexcept;

/// "cannot WHAT PATH: reason", from errno.
[[nodiscard]] std::string system_error(const char* what, const std::string& path);
/// Why Mapping::create failed, from errno: "cannot reserve memory for PATH: not enough space in FOLDER: ...".
[[nodiscard]] std::string no_memory(const Descriptor& file, const std::string& path, std::size_t bytes);

}  // namespace stopbit::os
