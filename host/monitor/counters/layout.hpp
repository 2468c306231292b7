#pragma once

#include <cstddef>
#include <cstdint>

/// Layout of a segment of counters in memory. README.md has the same as tables, and a test compares the two.
/// Little-endian; words that change are read and written as whole 64-bit atomics.
namespace stopbit::counters {

inline constexpr std::uint64_t kMagic = 0x0A0D'544E'5543'4253;  ///< "SBCUNT\r\n" in memory.
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kLinePair = 128;

inline constexpr std::size_t kMaxEntries = 65'536;
inline constexpr std::size_t kMaxNameBytes = 512;
inline constexpr std::size_t kMaxHelpBytes = 512;
inline constexpr std::size_t kMaxSegmentBytes = 256U << 20;

enum class Kind : std::uint8_t {
  Counter = 1,    ///< Goes up.
  Gauge = 2,      ///< Any value, unsigned.
  Histogram = 3,  ///< Log-linear; see histogram.hpp.
  Text = 4,       ///< Up to kTextBytes bytes.
  Errors = 5,     ///< Distinct errors, each with its first place and how often it came.
};

enum class Unit : std::uint8_t {
  Number = 0,
  Bytes = 1,
  Nanoseconds = 2,  ///< A duration.
  Time = 3,         ///< Nanoseconds since 1970; 0 = never.
};

enum class State : std::uint32_t { Running = 1, Finished = 2 };

/// Begins the segment.
struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t entries;
  std::uint64_t entries_offset;  ///< Bytes from the segment's beginning, as the next ones.
  std::uint64_t names_offset;
  std::uint64_t names_bytes;
  std::uint64_t values_offset;
  std::uint64_t segment_bytes;
  std::uint64_t epoch;  ///< Time of creation, ns since 1970: another writer, another epoch.
  std::uint32_t writer_pid;
  std::uint32_t unused;

  alignas(kLinePair) std::uint64_t heartbeat_ns;  ///< When the writer last said that it is well.
  std::uint64_t state;                            ///< State.
};
static_assert(sizeof(Header) == 2 * kLinePair);

/// One per counter. Names and help are in the area of names.
struct Entry {
  std::uint32_t name_offset;
  std::uint32_t help_offset;
  std::uint16_t name_bytes;
  std::uint16_t help_bytes;
  std::uint8_t kind;   ///< Kind.
  std::uint8_t unit;   ///< Unit.
  std::uint16_t size;  ///< Errors: places for distinct ones; else 0.
  std::uint64_t value_offset;
};
static_assert(sizeof(Entry) == 24);

// Values. Counter and gauge: one word.

inline constexpr std::size_t kSubBuckets = 8;  ///< Of each power of two: values are kept to one part in eight.
inline constexpr std::size_t kBuckets = (64 - 3) * kSubBuckets + kSubBuckets;

struct HistogramValue {
  std::uint64_t count;
  std::uint64_t sum;
  std::uint64_t largest;
  std::uint64_t buckets[kBuckets];
};

inline constexpr std::size_t kTextBytes = 112;

struct TextValue {
  std::uint64_t version;  ///< Odd while it changes.
  std::uint64_t bytes;
  std::uint64_t words[kTextBytes / 8];
};
static_assert(sizeof(TextValue) == kLinePair);

inline constexpr std::size_t kSampleBytes = 24;

struct ErrorValue {
  std::uint64_t version;  ///< Odd while it changes; 0 = nothing there yet.
  std::uint64_t count;
  std::uint64_t first_ns;
  std::uint64_t last_ns;
  std::uint64_t place;   ///< Bits 0..15 channel, 16..31 template index, 32..47 block, 48..55 word, 56..63 error code.
  std::uint64_t packet;  ///< Of the first: bits 0..31 sequence, 32..63 template identifier.
  std::uint64_t offset;  ///< Bits 0..31 byte offset in the datagram, 32..63 offset of the sample's first byte.
  std::uint64_t sample_bytes;
  std::uint64_t sample[kSampleBytes / 8];
  std::uint64_t unused;
};
static_assert(sizeof(ErrorValue) == 96);

struct ErrorsValue {
  std::uint64_t distinct;  ///< Places in use.
  std::uint64_t beyond;    ///< Errors that found no place.
  // ErrorValue[Entry::size] follows.
};

/// Bytes of a value; `size` is Entry::size. 0 for a kind that there is not.
[[nodiscard]] constexpr std::size_t value_bytes(Kind kind, std::size_t size) noexcept {
  switch (kind) {
    case Kind::Counter:
    case Kind::Gauge: return sizeof(std::uint64_t);
    case Kind::Histogram: return sizeof(HistogramValue);
    case Kind::Text: return sizeof(TextValue);
    case Kind::Errors: return sizeof(ErrorsValue) + size * sizeof(ErrorValue);
  }
  return 0;
}

}  // namespace stopbit::counters
