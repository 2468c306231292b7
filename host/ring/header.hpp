#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "host/ring/layout.hpp"
#include "microcode/program.hpp"

namespace stopbit::ring {

/// Where things lie in a segment that holds an image of so many bytes. Offsets from its beginning.
struct SegmentPlan {
  std::uint64_t slots_offset = 0;
  std::uint64_t segment_bytes = 0;
};
[[nodiscard]] SegmentPlan plan_segment(std::size_t image_bytes, std::uint64_t slot_count);

/// Why a ring of so many slots cannot take the program's records; empty if it can.
[[nodiscard]] std::string slot_count_problem(const Program& program, std::uint64_t slot_count);

/// Writes the words that do not change and the image to zeroed memory of plan_segment's size; `magic` comes last. The
/// writer's part follows: head, marks, claim.
Header& write_header(std::byte* memory, const Program& program, std::span<const std::byte> image,
                     std::uint64_t slot_count, std::uint32_t image_generation, Mode mode, Origin origin = Origin::Own);

/// Nanoseconds since 1970, the clock of `epoch` and `heartbeat_ns`.
[[nodiscard]] std::uint64_t wall_clock_ns();

}  // namespace stopbit::ring
