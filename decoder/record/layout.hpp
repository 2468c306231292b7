#pragma once

#include <cstddef>
#include <cstdint>

#include "microcode/base/limits.hpp"

/// Records: the memory layout of decoded messages. This is the ABI between engines (software, hardware), rings and
/// readers. layout.md describes it; a test compares the two. All words are little-endian.
///
/// A record is a run of 64-byte slots, one cache line each. Slot 0 is written last and makes the record visible.
namespace stopbit::record {

inline constexpr std::size_t kSlotBytes = 64;
inline constexpr std::size_t kSlotWords = 8;
inline constexpr std::size_t kValueWords = 7;  ///< Words 0..6 of a slot.
inline constexpr std::size_t kTagWord = 7;  ///< Bytes 0..6: a tag for each value word. Byte 7: phase and slot number.

struct alignas(kSlotBytes) Slot {
  std::uint64_t words[kSlotWords];
};
static_assert(sizeof(Slot) == kSlotBytes);

// Word 0 of slot 0: bits 0..15 template index, 16..31 total slots, 32..63 stamp (low half of the slot's number in the
// ring).
inline constexpr std::uint16_t kPadIndex = 0xFFFF;          ///< The rest of the ring up to its end is unused.
inline constexpr std::uint16_t kEventIndex = 0xFFFE;        ///< An event record.
inline constexpr std::uint16_t kMarketEventIndex = 0xFFFD;  ///< A market event: host/market/event.

// Word 1: arrival time in ns since the epoch.
// Word 2: bits 0..31 packet sequence, 32..47 channel, 48..55 string slots, 56..63 flags.
inline constexpr std::uint8_t kFlagLastOfPacket = 1U << 0;
inline constexpr std::uint8_t kFlagSnapshot = 1U << 1;
inline constexpr std::uint8_t kFlagStale = 1U << 2;
inline constexpr std::uint8_t kFlagRecovered = 1U << 3;
inline constexpr std::uint8_t kFlagPossibleDuplicate = 1U << 4;

// Word 3: bits 0..15 image generation, 16..31 message index in the packet, 32..47 sender epoch, 48..55 source, 56..63
// time quality.
enum class SourceLine : std::uint8_t { File = 0, LineA = 1, LineB = 2, Replay = 3, Snapshot = 4 };
enum class TimeQuality : std::uint8_t { Synthetic = 0, Poll = 1, Kernel = 2, Hardware = 3 };

inline constexpr std::size_t kHeaderWords = 4;  ///< The root block begins at word 4 of slot 0.
inline constexpr std::size_t kReferenceWords =
    1;  ///< A dynamic reference's root block begins after the template index.

// Tags. 0: no value, and the word is 0.
inline constexpr std::uint8_t kMaxValueTag = 247;   ///< 1 + template-wide word number mod 247.
inline constexpr std::uint8_t kHeaderTag = 248;     ///< 248..251: header words 0..3 of slot 0.
inline constexpr std::uint8_t kEventTag = 252;      ///< Words 4..6 of an event record.
inline constexpr std::uint8_t kStringTag = 253;     ///< A word of the string area.
inline constexpr std::uint8_t kReferenceTag = 255;  ///< The template index that begins a dynamic reference's block.

constexpr std::uint8_t value_tag(std::size_t template_wide_word) {
  return static_cast<std::uint8_t>(1 + template_wide_word % kMaxValueTag);
}

/// Byte 7 of the tag word: phase in bit 7, the slot's number in the record mod 128 below.
constexpr std::uint64_t tag_word_base(bool phase, std::size_t slot_number) {
  return static_cast<std::uint64_t>((phase ? 0x80U : 0U) | (slot_number & 0x7F)) << 56;
}

/// Copies a slot word by word: wider loads would wait until words that were stored just now, one by one, are in the
/// cache.
inline void copy_words(std::uint64_t (&to)[kSlotWords], const std::uint64_t* from) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kSlotWords; ++i) __atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}
/// Word 0 of a record with this stamp, whatever it had.
constexpr std::uint64_t stamped(std::uint64_t word, std::uint32_t stamp) {
  return (word & 0xFFFF'FFFF) | std::uint64_t{stamp} << 32;
}
/// The tag word of a slot with this phase, likewise.
constexpr std::uint64_t with_phase(std::uint64_t tags, bool phase) {
  return (tags & ~(std::uint64_t{1} << 63)) | std::uint64_t{phase} << 63;
}
/// A record of one slot in its place.
inline Slot in_place(const std::uint64_t (&words)[kSlotWords], std::uint32_t stamp, bool phase) {
  Slot slot;
  copy_words(slot.words, words);
  slot.words[0] = stamped(words[0], stamp);
  slot.words[kTagWord] = with_phase(words[kTagWord], phase);
  return slot;
}

/// Slots of a block whose first value is at word `base` (4, 1 or 0). An element or after-block without words has none.
constexpr std::size_t block_slots(std::size_t base, std::size_t words) {
  return (base + words + kValueWords - 1) / kValueWords;
}

// A string's word, by its byte 7: 0..7 = that many bytes inline, from byte 0; 0x80 and above = eight 7-bit characters,
// the last with its top bit set; 0x7F = long: bytes 0..3 length, bytes 4..5 slot in the string area, byte 6 zero.
// Strings of eight bytes with a byte above 0x7F are long. Decimals: exponent (sign-extended), then mantissa.
inline constexpr std::uint8_t kLongString = 0x7F;
inline constexpr std::size_t kStringSlotBytes = kValueWords * 8;

constexpr std::size_t string_slots(std::size_t length_bytes) {
  return (length_bytes + kStringSlotBytes - 1) / kStringSlotBytes;
}

/// Kind of an event record. Values are part of the layout.
enum class EventKind : std::uint8_t {
  DecodeError = 1,  ///< The rest of the datagram was dropped.
  Dropped = 2,      ///< A datagram was dropped whole: the context waits for its reset.
  Gap = 3,          ///< Sequence numbers are missing: word 5 first, word 6 count.
  Reset = 4,        ///< The dictionary was reset by the feed.
  Stale = 5,
  Recovered = 6,
  LayoutChanged = 7,
  Lost = 8,  ///< Records before this one were dropped because the ring was full: word 6 is their number.
};

// An event record is one slot: a header as in any record (template index kEventIndex), then
//   word 4: bits 0..7 kind, 8..15 error code, 16..31 template index, 32..47 block (none 0xFFFF), 48..55 word (none 255)
//   word 5: bits 0..31 byte offset in the datagram, 32..63 template identifier if the error is about one (D9), else 0
//   word 6: number of the packet in its source, from 1
// Gap events: word 5 is the first missing sequence number, word 6 how many are missing. Lost events: words 1 to 3 are
// those of the last lost record, word 6 is how many were lost.

}  // namespace stopbit::record
