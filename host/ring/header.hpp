#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "host/ring/layout.hpp"
#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

namespace stopbit::ring {

/// Layout of a segment: offsets from its beginning, in bytes.
struct SegmentPlan {
  std::uint64_t slots_offset = 0;
  std::uint64_t segment_bytes = 0;
};
[[nodiscard]] SegmentPlan plan_segment(std::size_t image_bytes, std::uint64_t slot_count);

/// Checks that a ring of `slot_count` slots can hold the program's records.
[[nodiscard]] Status check_slot_count(const Program& program, std::uint64_t slot_count);

/// Writes the constant words and the image to zeroed memory of plan_segment's size; `magic` last. The writer then sets
/// head, marks and claim.
Header& write_header(std::byte* memory, const Program& program, std::span<const std::byte> image,
                     std::uint64_t slot_count, std::uint32_t image_generation, Mode mode, Origin origin = Origin::Own);

}  // namespace stopbit::ring
