#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/ring/reader.hpp"
#include "host/ring/segment.hpp"
#include "microcode/base/result.hpp"

/// Readers with a name. The writer of a lossy ring does not know its readers, and they map it read-only; one that wants
/// people to see how it does leaves a file of its own beside the ring, RING.by-NAME-PID, which it alone writes.
namespace stopbit::ring {

/// The file of a reader, which it holds locked as long as it lives and takes away when it ends. One thread.
class ReaderSign {
 public:
  /// For a ring, by its name, and a reader's name: letters, digits, '.', '_' and '-', up to 64. What readers of this
  /// name that were killed have left is taken away.
  [[nodiscard]] static Result<ReaderSign> create(std::string_view ring, std::string_view name);
  ReaderSign(ReaderSign&&) noexcept;
  ReaderSign& operator=(ReaderSign&&) = delete;
  ~ReaderSign();

  /// What the reader has read and lost so far. Some stores: no system call, no wait.
  void show(const Reader& reader) noexcept;

 private:
  ReaderSign() = default;

  std::string path_;
  Descriptor file_;
  Mapping mapping_;
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

/// The readers of these rings that have a name, in the order of rings, names and processes; at most so many of all. Any
/// files may lie there: what is no sign of a reader is left alone. Reads folders; for a thread that may take its time.
inline constexpr std::size_t kMaxSeenReaders = 1'024;
[[nodiscard]] std::vector<SeenReader> find_readers(std::span<const std::string> rings);

}  // namespace stopbit::ring
