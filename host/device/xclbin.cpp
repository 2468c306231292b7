#include "host/device/xclbin.hpp"

#include <cstring>
#include <string_view>

namespace stopbit::device {
namespace {

constexpr std::string_view kMagic("xclbin2\0", 8);
constexpr std::size_t kLength = 304;    // u64: of the file
constexpr std::size_t kSections = 448;  // u32: how many
constexpr std::uint64_t kMaxSections = 0x1'0000;
// Of a section header.
constexpr std::size_t kOffset = 24;
constexpr std::size_t kBytes = 32;

template <class T>
T load(std::span<const std::byte> file, std::size_t at) {
  T value{};
  std::memcpy(&value, file.data() + at, sizeof(value));
  return value;
}

}  // namespace

Result<std::vector<XclbinSection>> xclbin_sections(std::span<const std::byte> file) {
  if (file.size() < kXclbinHeaderBytes) {
    return Failure{"it has " + std::to_string(file.size()) + " bytes, the header alone has " +
                   std::to_string(kXclbinHeaderBytes)};
  }
  if (std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) return Failure{"it does not begin with 'xclbin2'"};
  const auto length = load<std::uint64_t>(file, kLength);
  if (length != file.size()) {
    return Failure{"it says at byte " + std::to_string(kLength) + " that it has " + std::to_string(length) +
                   " bytes, but it has " + std::to_string(file.size())};
  }
  const auto count = load<std::uint32_t>(file, kSections);
  if (count == 0 || count > kMaxSections || count > (file.size() - kXclbinHeaderBytes) / kXclbinSectionBytes) {
    return Failure{"it cannot hold the " + std::to_string(count) + " sections that it announces at byte " +
                   std::to_string(kSections)};
  }
  std::vector<XclbinSection> sections(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = kXclbinHeaderBytes + i * kXclbinSectionBytes;
    sections[i] = {.kind = load<std::uint32_t>(file, at),
                   .offset = load<std::uint64_t>(file, at + kOffset),
                   .bytes = load<std::uint64_t>(file, at + kBytes)};
    if (sections[i].offset > file.size() || sections[i].bytes > file.size() - sections[i].offset) {
      return Failure{"section " + std::to_string(i) + ", described at byte " + std::to_string(at) +
                     ", ends after the end of the file"};
    }
  }
  return sections;
}

}  // namespace stopbit::device
