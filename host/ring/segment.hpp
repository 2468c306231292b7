#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

/// What writer and reader share: owned descriptors and mappings, locks, fences.
namespace stopbit::ring {

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

class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  enum class Use : std::uint8_t { Write, Read, ReadSparse };

  /// Maps the first `bytes` of a file, shared, and brings all pages in unless the file is sparse: its holes may be
  /// larger than the memory. False, with errno, if that fails.
  [[nodiscard]] bool map(const Descriptor& file, std::size_t bytes, Use use) noexcept;
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The writer's lock on its segment. It belongs to the open file, so it ends with the writer, however that ends.
[[nodiscard]] bool lock(const Descriptor& file) noexcept;
/// Whether anyone holds it. Takes no lock itself, so that looking never keeps a writer out.
[[nodiscard]] bool is_locked(const Descriptor& file) noexcept;

/// "cannot WHAT PATH: reason", from errno.
[[nodiscard]] std::string system_error(const char* what, const std::string& path);

/// Later stores are seen after earlier ones by whoever calls acquire_fence after loading one of the later.
/// (ThreadSanitizer does not know fences; every access around them is atomic, so it has nothing to miss.)
inline void release_fence() noexcept {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  __atomic_thread_fence(__ATOMIC_RELEASE);
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

inline void acquire_fence() noexcept {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

}  // namespace stopbit::ring
