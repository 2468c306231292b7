#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

/// How a segment gets its name: complete, at once, and never over one that is in use.
namespace stopbit::os {

/// A new file for `final_path`, without a name until it is published, so that nobody can take the name before and
/// nothing is left of a process that dies. On file systems without O_TMPFILE it has a name that nobody can guess.
class TemporaryFile {
 public:
  /// The mode of segments: everyone whom the folder lets in may read, the user may write. It is set, not asked for:
  /// the process's mask does not change it.
  static constexpr mode_t kMode = 0644;

  explicit TemporaryFile(std::string final_path, mode_t mode = kMode);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  /// Makes the file, empty. Makes the folder first if it is that of plain names. Not ok: `problem` says why.
  [[nodiscard]] Descriptor create();
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Gives the file that create has made its final name, or another. False, with errno: EEXIST if something has it.
  [[nodiscard]] bool link_to(const Descriptor& file, const std::string& path);
  /// A name of its own beside the final one, to be renamed. Empty, with errno, if there is none.
  [[nodiscard]] const std::string& name_it(const Descriptor& file);
  /// The file has no other name than the final one any more.
  void keep() { path_.clear(); }

 private:
  std::string final_path_;
  mode_t mode_;
  std::string path_;  ///< What it is called until then; empty: nothing.
  std::string problem_;
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
/// unfinished goes.
[[nodiscard]] Status publish(TemporaryFile& made, const Descriptor& file, const std::string& path,
                             const SegmentKind& kind);

/// Takes the name away from a segment of this kind whose writer is gone. False if there is no such one.
bool remove_dead(const std::string& path, const SegmentKind& kind);

}  // namespace stopbit::os
