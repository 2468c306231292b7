#pragma once

#include <cstdint>
#include <string>

#include "host/os/shm/segment.hpp"
#include "host/ring/layout.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::ring {

/// Where the readers of a lossless ring leave their cursors.
[[nodiscard]] std::string readers_folder(const std::string& ring_path);
/// Makes it, if it is not there: only readers of our user may write to it.
[[nodiscard]] Status make_readers_folder(const std::string& folder);

/// The cursor of a reader: a file of its own, which it holds locked as long as it lives and takes away when it ends.
class CursorFile {
 public:
  CursorFile() = default;
  CursorFile(CursorFile&& other) noexcept;
  CursorFile& operator=(CursorFile&& other) noexcept;
  ~CursorFile();

  /// Without the folder, which a writer makes when it has named its ring, one that is not ok(): try again.
  [[nodiscard]] static Result<CursorFile> create(const std::string& ring_path, std::uint64_t epoch);

  [[nodiscard]] Cursor& cursor() const noexcept { return *reinterpret_cast<Cursor*>(mapping_.data()); }
  [[nodiscard]] bool ok() const noexcept { return mapping_.data() != nullptr; }

 private:
  std::string path_;
  std::string ring_path_;
  os::Descriptor file_;
  os::Mapping mapping_;
};

}  // namespace stopbit::ring
