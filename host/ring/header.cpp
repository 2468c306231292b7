#include "host/ring/header.hpp"

#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <new>

#include "decoder/record/layout.hpp"
#include "host/os/clock.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::ring {
SegmentPlan plan_segment(std::size_t image_bytes, std::uint64_t slot_count) {
  const std::uint64_t slots_offset = round_up<std::uint64_t>(kHeaderBytes + image_bytes, kPageBytes);
  return {.slots_offset = slots_offset, .segment_bytes = slots_offset + slot_count * record::kSlotBytes};
}

Status check_slot_count(const Program& program, std::uint64_t slot_count) {
  if (!std::has_single_bit(slot_count) || slot_count < kMinSlotCount || slot_count > kMaxSlotCount) {
    return Failure{"the ring's slots must be a power of two from " + std::to_string(kMinSlotCount) + " to " +
                   std::to_string(kMaxSlotCount)};
  }
  if (program.max_record_slots == 0 || program.max_record_slots > slot_count / kMaxRecordShare) {
    return Failure{"a record can take at most an eighth of the ring: records of " +
                   std::to_string(program.max_record_slots) + " slots need a ring of " +
                   std::to_string(std::bit_ceil(kMaxRecordShare * std::uint64_t{program.max_record_slots}))};
  }
  return Done{};
}

Header& write_header(std::byte* memory, const Program& program, std::span<const std::byte> image,
                     std::uint64_t slot_count, std::uint32_t image_generation, Mode mode, Origin origin) {
  const SegmentPlan plan = plan_segment(image.size(), slot_count);
  auto* header = new (memory) Header{};
  header->version = kVersion;
  header->max_record_slots = program.max_record_slots;
  header->slot_count = slot_count;
  header->slots_offset = plan.slots_offset;
  header->segment_bytes = plan.segment_bytes;
  header->image_offset = kHeaderBytes;
  header->image_bytes = image.size();
  header->layout_hash = layout_hash(program);
  header->epoch = os::wall_clock_ns();
  header->heartbeat_ns = header->epoch;
  header->writer_pid = static_cast<std::uint32_t>(::getpid());
  header->image_generation = image_generation;
  header->state = static_cast<std::uint32_t>(State::Running);
  header->mode = static_cast<std::uint32_t>(mode);
  header->origin = static_cast<std::uint32_t>(origin);
  if (!image.empty()) std::memcpy(memory + kHeaderBytes, image.data(), image.size());
  header->magic = kMagic;
  return *header;
}

}  // namespace stopbit::ring
