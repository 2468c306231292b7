#pragma once

#include <cstddef>
#include <cstdint>

#include "decoder/record/layout.hpp"
#include "microcode/base/limits.hpp"

/// Memory layout of a ring segment. ring.md describes it; a test compares the two.
///
/// Slots have absolute 64-bit numbers, counted from the beginning of the stream; slot n is stored at index n mod
/// slot_count. Numbers begin at slot_count, so that unwritten memory matches no phase.
namespace stopbit::ring {

inline constexpr std::uint64_t kMagic = 0x0A0D'474E'5249'4253;  ///< "SBIRNG\r\n" in memory.
inline constexpr std::uint32_t kVersion = 2;

inline constexpr std::size_t kHeaderBytes = 2048;
inline constexpr std::size_t kPageBytes = 4096;  ///< Slots begin at a multiple.
inline constexpr std::size_t kLinePair = 128;    ///< Processors fetch cache lines in pairs.

inline constexpr std::uint64_t kDefaultSlotCount = 65'536;
inline constexpr std::uint64_t kMinSlotCount = 16;
inline constexpr std::uint64_t kMaxSlotCount = 1U << 28;
inline constexpr std::uint64_t kMaxRecordShare = 8;  ///< A record takes at most an eighth of the ring.
inline constexpr std::size_t kMarks = 64;
inline constexpr std::size_t kSeats = 16;  ///< Maximum number of readers that a lossless writer waits for.

/// Selects the readers that the writer waits for.
enum class Mode : std::uint32_t {
  Lossy = 1,     ///< None: a reader that falls behind loses records and sees how many.
  Lossless = 2,  ///< The slowest of the attached readers.
};

/// Where the records come from.
enum class Origin : std::uint32_t {
  Own = 0,   ///< The writer produces them.
  Copy = 1,  ///< The writer copies them from another ring, so the ring can be made again.
};

enum class State : std::uint32_t {
  Running = 1,
  Finished = 2,  ///< The writer ended normally; no record follows.
};

/// A position to start reading: a record begins at slot `number`, and `records` records were published before it.
struct Mark {
  std::uint64_t number;  ///< 0 if never set; kMarkChanges while the mark changes.
  std::uint64_t records;
};
inline constexpr std::uint64_t kMarkChanges = 1;

enum class SeatState : std::uint32_t {
  Free = 0,
  Taken = 1,     ///< The writer overwrites nothing that this reader has not read.
  Detached = 2,  ///< The reader did not move or died; the writer no longer waits for it.
};

/// The writer's reply to one reader of a lossless ring.
struct Seat {
  std::uint64_t ticket;   ///< The reader's ticket, from its cursor; unique.
  std::uint64_t number;   ///< The reader begins at this slot.
  std::uint64_t records;  ///< Number of records published before that slot.
  std::uint32_t state;    ///< SeatState.
  std::uint32_t unused;
};

/// The beginning of the segment. Words that change have cache line pairs of their own; readers poll slots, not these.
struct Header {
  // Written once, before the segment has its name.
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t max_record_slots;
  std::uint64_t slot_count;    ///< A power of two.
  std::uint64_t slots_offset;  ///< Bytes from the segment's beginning; so are the next offsets.
  std::uint64_t segment_bytes;
  std::uint64_t image_offset;
  std::uint64_t image_bytes;
  std::uint64_t layout_hash;  ///< Of the image.
  std::uint64_t epoch;        ///< Time of creation, ns since 1970; differs for every writer.
  std::uint32_t writer_pid;
  std::uint32_t image_generation;
  std::uint32_t mode;    ///< Mode.
  std::uint32_t origin;  ///< Origin.
  /// Of a copy that shares the tables beside the ring that it copies: their ring_epoch. 0: its tables carry `epoch`.
  std::uint64_t tables_epoch;

  alignas(kLinePair) std::uint64_t heartbeat_ns;  ///< Set by the writer from time to time.
  std::uint32_t state;                            ///< State.

  /// Number of the slot after the last published record: the next record or padding begins there.
  alignas(kLinePair) std::uint64_t head;
  std::uint64_t records;  ///< Number of published records.

  alignas(kLinePair) std::uint64_t claim;  ///< Slots below this number may be written at any time.

  alignas(kLinePair) Mark marks[kMarks];  ///< Written in rotation.
  Seat seats[kSeats];
};
static_assert(sizeof(Header) <= kHeaderBytes);

/// Written by a reader of a lossless ring, in a small file of its own: `cursor.hpp`.
struct Cursor {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t reader_pid;
  std::uint64_t epoch;  ///< Epoch of the ring.
  std::uint64_t ticket;

  alignas(kLinePair) std::uint64_t position;  ///< The reader needs no slot below this number; 0 = not begun.
  std::uint64_t delivered;                    ///< Records.
  std::uint64_t lost;                         ///< Records; 0 while the reader is attached.
};
inline constexpr std::uint64_t kCursorMagic = 0x0A0D'5352'5543'4253;  ///< "SBCURS\r\n" in memory.
inline constexpr std::size_t kCursorBytes = 256;
static_assert(sizeof(Cursor) <= kCursorBytes);

/// Whether the lap is odd; `slot_count` is a power of two. (Computed for each record, hence without division.)
constexpr bool phase_of(std::uint64_t number, std::uint64_t slot_count) {
  return (number & slot_count) != 0;
}

/// The tag word of a record's first slot without the tags of its values: header tags, phase, slot number 0.
inline constexpr std::uint64_t kFirstSlotMask = 0xFF00'0000'FFFF'FFFF;
constexpr std::uint64_t first_slot_tags(bool phase) {
  return record::tag_word_base(phase, 0) | record::kHeaderTag | (record::kHeaderTag + 1ULL) << 8 |
         (record::kHeaderTag + 2ULL) << 16 | (record::kHeaderTag + 3ULL) << 24;
}

/// Distance by which the claim moves ahead of the records; also the distance between marks.
constexpr std::uint64_t claim_step(std::uint64_t slot_count) {
  return slot_count / kMarks;
}

}  // namespace stopbit::ring
