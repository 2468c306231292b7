#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/ring/segment.hpp"

/// How a segment gets its name: complete, at once, and never over one that is in use.
namespace stopbit::ring {

/// A file that vanishes unless it got its final name. Until then it has another one, with the process's number.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& final_path);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  /// A new, empty file that everyone may read and its user may write.
  [[nodiscard]] Descriptor create() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

/// What kind of segment it is: only such a one, whose writer is gone, is replaced.
struct SegmentKind {
  std::uint64_t magic = 0;  ///< The first eight bytes.
  std::string_view noun;    ///< "ring": for messages.
  /// A live segment of the caller, which may be replaced, too.
  const Descriptor* own = nullptr;
  /// Of one whose writer is gone: whether it may be replaced. Null: any may.
  bool (*may_replace)(const Descriptor& file) = nullptr;
};

/// Whether the open file is the one that has the name.
[[nodiscard]] bool is_at(const Descriptor& file, const std::string& path) noexcept;

/// Gives the complete segment, which its maker has locked, its name. What makers of the same name that died have left
/// unfinished goes. Empty on success, else why not.
[[nodiscard]] std::string publish(TemporaryFile& made, const std::string& path, const SegmentKind& kind);

/// Takes the name away from a segment of this kind whose writer is gone. False if there is no such one.
bool remove_dead(const std::string& path, const SegmentKind& kind);

}  // namespace stopbit::ring
