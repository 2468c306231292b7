#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "microcode/base/result.hpp"

namespace stopbit::device {

/// The container that kernels come in: a header, section headers, sections. XRT believes what it says of its own
/// lengths, and crashes if that is not true; so it is looked at before.
struct XclbinSection {
  std::uint32_t kind;
  std::uint64_t offset;  ///< Bytes from the beginning of the file.
  std::uint64_t bytes;
};

/// The sections of a whole file, each of which lies inside it; or why it is no xclbin, with the place.
[[nodiscard]] Result<std::vector<XclbinSection>> xclbin_sections(std::span<const std::byte> file);

// Offsets and sizes of xclbin.h.
inline constexpr std::size_t kXclbinHeaderBytes = 456;
inline constexpr std::size_t kXclbinSectionBytes = 40;

}  // namespace stopbit::device
