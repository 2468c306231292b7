#pragma once

#include "host/appliance/opener/client.hpp"
#include "host/os/disk/disk.hpp"

namespace stopbit::opener {

/// The calls that change files on disk, by way of an opener: a path that is a file of one of its sets becomes a
/// request, any other goes to the kernel, which refuses it to a process that is confined.
class DiskCalls final : public disk::Calls {
 public:
  explicit DiskCalls(Client& opener) : opener_(opener) {}

  int open(const char* path, int flags, mode_t mode) noexcept override;
  int rename(const char* from, const char* to) noexcept override;
  int unlink(const char* path) noexcept override;

 private:
  Client& opener_;
};

}  // namespace stopbit::opener
