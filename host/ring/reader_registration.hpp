#pragma once

#include <unistd.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/os/shm/segment.hpp"
#include "host/ring/reader.hpp"
#include "microcode/base/result.hpp"

/// Readers with a name. The writer of a lossy ring does not know its readers, and they map it read-only. A reader that
/// wants to be listed creates a file, RING.by-NAME-PID, which only it writes: in the folder `.readers` beside the ring,
/// where every user may create one, or beside the ring if that folder does not exist.
namespace stopbit::ring {

/// The file of a reader, kept locked while the reader lives and removed when it ends. One thread.
class ReaderRegistration {
 public:
  /// For a ring, by its name, and a reader's name: letters, digits, '.', '_' and '-', up to 64. Removes files of killed
  /// readers of this name.
  [[nodiscard]] static Result<ReaderRegistration> create(std::string_view ring, std::string_view name);
  ReaderRegistration(ReaderRegistration&&) noexcept;
  ReaderRegistration& operator=(ReaderRegistration&&) = delete;
  ~ReaderRegistration();

  /// Publishes what the reader has read and lost so far. Only stores: no system call, no wait.
  void show(const Reader& reader) noexcept;

 private:
  ReaderRegistration() = default;

  pid_t maker_ = ::getpid();
  std::string path_;
  os::Descriptor file_;
  os::Mapping mapping_;
};

/// A reader's report about itself; not verified.
struct SeenReader {
  std::size_t ring = 0;  ///< Index in the list passed to find_readers.
  std::string name;
  std::uint32_t pid = 0;
  bool is_running = false;  ///< False: it died.
  std::uint64_t delivered = 0;
  std::uint64_t lost_records = 0;
  std::uint64_t lost_slots = 0;
};

/// Returns the named readers of these rings, ordered by ring, name and process: at most kMaxSeenReaders in all and
/// kMaxSeenOfUser of one user. The folders may contain any number of files of any user; at most kMaxLookedAt per folder
/// are examined. Other files are ignored, except in a folder `.readers` of this process's user, where they are removed
/// so that they cannot hide readers. Reads folders; not for a latency-critical thread.
inline constexpr std::size_t kMaxSeenReaders = 1'024;
inline constexpr std::size_t kMaxSeenOfUser = 256;
inline constexpr std::size_t kMaxLookedAt = 4'096;
[[nodiscard]] std::vector<SeenReader> find_readers(std::span<const std::string> rings);

}  // namespace stopbit::ring
