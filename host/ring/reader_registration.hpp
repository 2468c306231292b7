#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/os/shm/segment.hpp"
#include "host/ring/reader.hpp"
#include "microcode/base/result.hpp"

/// Readers with a name. The writer of a lossy ring does not know its readers, and they map it read-only; one that wants
/// people to see how it does leaves a file of its own, RING.by-NAME-PID, which it alone writes: in the folder
/// `.readers` beside the ring, where every user may leave one, or, without that folder, beside the ring.
namespace stopbit::ring {

/// The file of a reader, which it holds locked as long as it lives and takes away when it ends. One thread.
class ReaderRegistration {
 public:
  /// For a ring, by its name, and a reader's name: letters, digits, '.', '_' and '-', up to 64. What readers of this
  /// name that were killed have left is taken away.
  [[nodiscard]] static Result<ReaderRegistration> create(std::string_view ring, std::string_view name);
  ReaderRegistration(ReaderRegistration&&) noexcept;
  ReaderRegistration& operator=(ReaderRegistration&&) = delete;
  ~ReaderRegistration();

  /// What the reader has read and lost so far. Some stores: no system call, no wait.
  void show(const Reader& reader) noexcept;

 private:
  ReaderRegistration() = default;

  std::string path_;
  os::Descriptor file_;
  os::Mapping mapping_;
};

/// What a reader says of itself: its word, no more.
struct SeenReader {
  std::size_t ring = 0;  ///< Index of the list that was asked for.
  std::string name;
  std::uint32_t pid = 0;
  bool is_running = false;  ///< False: it has ended without a word.
  std::uint64_t delivered = 0;
  std::uint64_t lost_records = 0;
  std::uint64_t lost_slots = 0;
};

/// The readers of these rings that have a name, in the order of rings, names and processes; at most kMaxSeenReaders of
/// all, and kMaxSeenOfUser of one user. Any files may lie there, of any user and any number: it looks at kMaxLookedAt
/// of a folder. What is no sign is left alone, but in a folder `.readers` of this process's user, where it is removed,
/// so that it cannot hide others. Reads folders; for a thread that may take its time.
inline constexpr std::size_t kMaxSeenReaders = 1'024;
inline constexpr std::size_t kMaxSeenOfUser = 256;
inline constexpr std::size_t kMaxLookedAt = 4'096;
[[nodiscard]] std::vector<SeenReader> find_readers(std::span<const std::string> rings);

}  // namespace stopbit::ring
