#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

/// Naming of segments: atomically, when complete, and never replacing one in use.
namespace stopbit::os {

/// A new file for `final_path`, without a name until it is published, so that no other process can open it earlier and
/// a process that dies leaves no file. On file systems without O_TMPFILE it has an unpredictable name.
class TemporaryFile {
 public:
  /// Mode of segments: readable by everyone who can enter the folder, writable by the user. Set with fchmod, so that
  /// the process's umask does not change it.
  static constexpr mode_t kMode = 0644;

  explicit TemporaryFile(std::string final_path, mode_t mode = kMode);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  /// Creates the file, empty, and first the folder if it is that of plain names. If not ok, `problem` gives the reason.
  [[nodiscard]] Descriptor create();
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Gives the created file its final name, or another. On failure returns false and sets errno: EEXIST if the name is
  /// taken.
  [[nodiscard]] bool link_to(const Descriptor& file, const std::string& path);
  /// Gives the file a temporary name beside the final one, to be renamed. On failure returns an empty string and sets
  /// errno.
  [[nodiscard]] const std::string& name_it(const Descriptor& file);
  /// Call after the file has only its final name.
  void keep() { path_.clear(); }

 private:
  std::string final_path_;
  mode_t mode_;
  std::string path_;  ///< Its temporary name; empty if it has none.
  std::string problem_;
};

/// Kind of segment. Only a segment of the same kind whose writer has ended is replaced.
struct SegmentKind {
  std::uint64_t magic = 0;  ///< The first eight bytes.
  std::string_view noun;    ///< "ring": for messages.
  /// A live segment of the caller that may also be replaced.
  const Descriptor* own = nullptr;
  /// Whether a segment whose writer has ended may be replaced. Null: any.
  bool (*may_replace)(const Descriptor& file) = nullptr;
  /// Bytes from the beginning to the number of the writer's process, 32 bits; 0: the segment does not say.
  std::size_t writer_at = 0;
};

/// Whether the name belongs to the open file.
[[nodiscard]] bool is_at(const Descriptor& file, const std::string& path) noexcept;

/// Names the complete segment, which its writer has locked. Removes unfinished files that dead writers of the same name
/// left.
[[nodiscard]] Status publish(TemporaryFile& made, const Descriptor& file, const std::string& path,
                             const SegmentKind& kind);

/// Gives a segment of this user, which has a name already, a second one: both names are of the same file. Replaces what
/// publish would replace. A name that is of this file already stays.
[[nodiscard]] Status share(const Descriptor& file, const std::string& path, const SegmentKind& kind);

/// Takes a name away from an open file, if it is its name.
void unlink_at(const Descriptor& file, const std::string& path) noexcept;

/// Whether publish could name a segment so now; a failure says why not.
[[nodiscard]] Status check_name(const std::string& path, const SegmentKind& kind);

/// A segment on the way to its name. It is made, filled and locked first, so that several segments that belong together
/// can be complete before the first of them takes the name of an older one. Without publish it leaves nothing.
class NewSegment {
 public:
  /// `kind.own` must outlive publish.
  NewSegment(std::string path, const SegmentKind& kind) : path_(std::move(path)), kind_(kind), made_(path_) {}

  /// As those of TemporaryFile.
  [[nodiscard]] Descriptor create() { return made_.create(); }
  [[nodiscard]] const std::string& problem() const { return made_.problem(); }

  [[nodiscard]] Status check() const { return check_name(path_, kind_); }
  /// `file` is the descriptor of create.
  [[nodiscard]] Status publish(const Descriptor& file) { return os::publish(made_, file, path_, kind_); }

 private:
  std::string path_;
  SegmentKind kind_;
  TemporaryFile made_;
};

/// Removes the name of a segment of this kind whose writer has ended. A failure says why not.
[[nodiscard]] Status remove_dead(const std::string& path, const SegmentKind& kind);

}  // namespace stopbit::os
