#pragma once

#include <sys/types.h>

#include <string>

#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::appliance {

/// Keeps a folder for one appliance, as long as that lives: two would mix their gaps, and delete each other's
/// recordings. The lock is on the file `FOLDER/.stopbit-owner`, whose text names the owner for people; it ends with the
/// process, however that ends, and the file stays.
class FolderLock {
 public:
  /// Makes the folder if it is missing. Fails if another appliance has it, by whom, or if the folder cannot be made.
  /// A disk that is full or does not take the file is no failure: `warning()` then says that the folder is not locked.
  [[nodiscard]] static Result<FolderLock> take(const std::string& folder, const std::string& name);

  /// Why another appliance could use the folder at the same time; empty: none can.
  [[nodiscard]] const std::string& warning() const noexcept { return warning_; }

  /// Whether the path, however it is written, leads to this folder.
  [[nodiscard]] bool is_of(const std::string& folder) const;

 private:
  FolderLock() = default;

  os::Descriptor file_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::string warning_;
};

}  // namespace stopbit::appliance
