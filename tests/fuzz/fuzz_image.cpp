// Any bytes as a firmware image, as they are and with the checksums mended: refused, or written again to the same
// bytes; and what the verifier accepts is safe to run.

#include <cstring>
#include <vector>

#include "microcode/image/crc32c.hpp"
#include "microcode/image/image.hpp"
#include "microcode/image/layout.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

using namespace stopbit;

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

/// Makes the checksums fit the bytes, where there are bytes for them.
void mend(std::vector<std::byte>& bytes) {
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

void check(const std::vector<std::byte>& bytes, const std::vector<std::vector<std::byte>>& datagrams) {
  const Result<Program> program = image::read(bytes);
  if (!program) {
    fuzz::require(!program.message().empty(), "a refusal says why");
    return;
  }
  fuzz::require(image::write(program.value()) == bytes, "writing an image again gives the same bytes");
  if (!verify::check(program.value()).ok()) return;
  fuzz::check_round_trips(program.value());
  fuzz::run_datagrams(program.value(), {}, datagrams);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input({data, size});
  const std::span<const std::byte> rest = input.rest();
  std::vector<std::byte> bytes(rest.begin(), rest.end());
  // The datagrams are the image's own beginning and end: something with stop bits in it.
  const auto some = static_cast<std::ptrdiff_t>(std::min<std::size_t>(size, 64));
  const std::vector<std::vector<std::byte>> datagrams = {{bytes.end() - some, bytes.end()},
                                                         {std::byte{0xC0}, std::byte{0x81}, std::byte{0x85}}};
  check(bytes, datagrams);
  mend(bytes);
  check(bytes, datagrams);
  return 0;
}
