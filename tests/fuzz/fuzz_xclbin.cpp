// Any bytes as an xclbin, as they are and with the length mended: refused with a reason, or sections that lie inside
// it.

#include <cstring>
#include <vector>

#include "host/device/xclbin.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

using namespace stopbit;

void check(const std::vector<std::byte>& bytes) {
  const Result<std::vector<device::XclbinSection>> sections = device::xclbin_sections(bytes);
  if (!sections) {
    fuzz::require(!sections.message().empty(), "a refusal says why");
    return;
  }
  fuzz::require(!sections.value().empty(), "an xclbin has sections");
  for (const device::XclbinSection& section : sections.value()) {
    fuzz::require(section.offset <= bytes.size() && section.bytes <= bytes.size() - section.offset,
                  "a section lies inside the file");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(begin, begin + size);
  check(bytes);
  constexpr std::size_t kLength = 304;
  const std::uint64_t length = bytes.size();
  if (size < kLength + sizeof(length)) return 0;
  std::memcpy(bytes.data() + kLength, &length, sizeof(length));
  check(bytes);
  return 0;
}
