#include "tests/lib/guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace stopbit::cases {

GuardedMemory::GuardedMemory(std::size_t max_bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t inside = (max_bytes + page - 1) / page * page;
  map_bytes_ = inside + 2 * page;
  void* const map = mmap(nullptr, map_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) {
    std::perror("guarded memory");
    std::abort();
  }
  map_ = static_cast<std::byte*>(map);
  end_ = map_ + page + inside;
  if (inside != 0 && mprotect(map_ + page, inside, PROT_READ | PROT_WRITE) != 0) {
    std::perror("guarded memory");
    std::abort();
  }
}

GuardedMemory::~GuardedMemory() {
  munmap(map_, map_bytes_);
}

std::span<const std::byte> GuardedMemory::place(std::span<const std::byte> bytes) const noexcept {
  const std::span<std::byte> copy = back(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

}  // namespace stopbit::cases
