#include "tests/lib/image_bytes.hpp"

#include <cstdint>
#include <cstring>
#include <span>

#include "microcode/image/crc32c.hpp"
#include "microcode/image/layout.hpp"

namespace stopbit::cases {
namespace {

constexpr std::size_t kHeaderCrc = 20;
constexpr std::size_t kEntryOffset = 12;
constexpr std::size_t kEntryBytes = 16;
constexpr std::size_t kEntryCrc = 20;

std::uint32_t load(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void store(std::vector<std::byte>& bytes, std::size_t at, std::uint32_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace

void mend_checksums(std::vector<std::byte>& bytes) {
  constexpr std::size_t kTableEnd = image::kHeaderBytes + image::kSectionCount * image::kTableEntryBytes;
  if (bytes.size() < kTableEnd) return;
  for (std::size_t i = 0; i < image::kSectionCount; ++i) {
    const std::size_t entry = image::kHeaderBytes + i * image::kTableEntryBytes;
    const std::size_t begin = load(bytes, entry + kEntryOffset);
    const std::size_t length = load(bytes, entry + kEntryBytes);
    if (begin > bytes.size() || length > bytes.size() - begin) continue;
    store(bytes, entry + kEntryCrc, image::crc32c(std::span(bytes).subspan(begin, length)));
  }
  store(bytes, kHeaderCrc, 0);
  store(bytes, kHeaderCrc, image::crc32c(std::span(bytes).first(kTableEnd)));
}

}  // namespace stopbit::cases
