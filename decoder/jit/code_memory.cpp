#include "decoder/jit/code_memory.hpp"

#include <sys/mman.h>

namespace stopbit::jit {
namespace {

constexpr std::size_t kPageBytes = 4096;

constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

CodeMemory::CodeMemory(std::size_t bytes) noexcept {
  const std::size_t all = whole_pages(bytes) + 2 * kPageBytes;
  void* const got = ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return;
  begin_ = static_cast<std::uint8_t*>(got);
  bytes_ = all;
  if (::mprotect(begin_ + kPageBytes, all - 2 * kPageBytes, PROT_READ | PROT_WRITE) == 0) return;
  ::munmap(begin_, bytes_);
  begin_ = nullptr;
  bytes_ = 0;
}

CodeMemory::~CodeMemory() {
  if (begin_ != nullptr) ::munmap(begin_, bytes_);
}

std::uint8_t* CodeMemory::data() const noexcept {
  return begin_ == nullptr ? nullptr : begin_ + kPageBytes;
}

std::size_t CodeMemory::size() const noexcept {
  return begin_ == nullptr ? 0 : bytes_ - 2 * kPageBytes;
}

bool CodeMemory::seal(std::size_t bytes) noexcept {
  const std::size_t used = whole_pages(bytes);
  std::uint8_t* const guard = data() + used;
  if (::mprotect(data(), used, PROT_READ | PROT_EXEC) != 0) return false;
  if (::mprotect(guard, kPageBytes, PROT_NONE) != 0) return false;
  const std::size_t kept = used + 2 * kPageBytes;
  if (kept < bytes_ && ::munmap(begin_ + kept, bytes_ - kept) != 0) return false;
  bytes_ = kept;
  return true;
}

}  // namespace stopbit::jit
