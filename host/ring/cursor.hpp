#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>

#include "host/os/shm/segment.hpp"
#include "host/ring/layout.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::ring {

/// The folder of the cursors of a lossless ring's readers.
[[nodiscard]] std::string readers_folder(const std::string& ring_path);
/// Creates the folder if it does not exist. Only readers of our user can write to it.
[[nodiscard]] Status make_readers_folder(const std::string& folder);

/// The cursor of a reader: a file that the reader keeps locked while it lives and removes when it ends.
class CursorFile {
 public:
  CursorFile() = default;
  CursorFile(CursorFile&& other) noexcept;
  CursorFile& operator=(CursorFile&& other) noexcept;
  ~CursorFile();

  /// Returns an object that is not ok() if the folder does not exist yet (the writer creates it after it has named the
  /// ring): try again.
  [[nodiscard]] static Result<CursorFile> create(const std::string& ring_path, std::uint64_t epoch);

  [[nodiscard]] Cursor& cursor() const noexcept { return *reinterpret_cast<Cursor*>(mapping_.data()); }
  [[nodiscard]] bool ok() const noexcept { return mapping_.data() != nullptr; }

 private:
  pid_t maker_ = ::getpid();
  std::string path_;
  std::string ring_path_;
  os::Descriptor file_;
  os::Mapping mapping_;
};

}  // namespace stopbit::ring
