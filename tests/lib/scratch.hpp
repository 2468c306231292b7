#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace stopbit::testing {

/// A folder of its own in the system's temporary one ($TMPDIR), for this user alone. It and its contents are removed
/// with the object.
class Scratch {
 public:
  /// Throws std::system_error if there can be no folder.
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  [[nodiscard]] std::string path() const { return folder_.string(); }
  /// Of what is, or is to be, in the folder.
  [[nodiscard]] std::string path(std::string_view name) const { return (folder_ / name).string(); }
  /// Writes a file, bytes as they are, in folders that are made if they are not there. @returns its path. Throws
  /// std::system_error.
  std::string write(std::string_view name, std::string_view content) const;
  /// Throws std::system_error if there is no such file.
  [[nodiscard]] std::string read(std::string_view name) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace stopbit::testing
