#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/market/event/event.hpp"

/// Layout of a state table in memory: the newest state of each instrument. state.md describes it; a test compares the
/// two. Little-endian; words that change are read and written as whole 64-bit atomics.
namespace stopbit::market::state {

inline constexpr std::uint64_t kMagic = 0x0A0D'4554'5453'4253;  ///< "SBSTTE\r\n" in memory.
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::string_view kSuffix = ".state";  ///< Of the file.
inline constexpr std::string_view kNoun = "state table";
inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kLineWords = 8;
inline constexpr std::size_t kMaxLevels = 64;
inline constexpr std::uint64_t kMaxSegmentBytes = std::uint64_t{1} << 36;

enum class WriterState : std::uint64_t { Running = 1, Finished = 2 };

/// Begins the segment.
struct Header {
  // Written once, before the segment has its name.
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t event_schema;  ///< kEventSchemaVersion.
  std::uint32_t rows;          ///< Instruments 1 to this.
  std::uint32_t levels;        ///< Rows a side that are published beside the best.
  std::uint64_t row_bytes;
  std::uint64_t rows_offset;  ///< Of row 0, which is unused; bytes from the segment's beginning.
  std::uint64_t segment_bytes;
  std::uint64_t epoch;       ///< Time of creation, ns since 1970: another writer, another epoch.
  std::uint32_t generation;  ///< Of the instrument table whose rows these are.
  std::uint32_t writer_pid;
  std::uint64_t ring_epoch;  ///< Of the ring whose events name these rows (ring::Header); 0: there is no ring.

  alignas(128) std::uint64_t heartbeat_ns;  ///< When the writer last said that it is well.
  std::uint64_t writer_state;               ///< WriterState.
};
static_assert(sizeof(Header) == 256);

// A row is two cache lines, and further ones for its levels. The first word of each part is its version: bits 0..31 are
// odd while it changes; bits 32..63 are explained at each part.

/// The book. Version, bits 32..63: version of the day that belongs to it.
struct Book {
  std::uint64_t version;
  std::uint64_t sequence;  ///< Bits 0..31 of the packet, 32..47 channel.
  std::uint64_t arrival_ns;
  std::int64_t bid;
  std::int64_t bid_quantity;
  std::int64_t ask;
  std::int64_t ask_quantity;
  std::uint64_t state;  ///< StateWord.
};
/// The day. Version, bits 32..63: 0.
struct Day {
  std::uint64_t version;
  std::int64_t last;
  std::int64_t last_quantity;
  std::uint64_t last_ns;  ///< The exchange's time of the trade; its arrival where that is not known.
  std::int64_t high;
  std::int64_t low;
  std::int64_t volume;
  std::uint64_t
      exchange_state;  ///< Bits 0..31 the exchange's code, 32..39 its scale, 40..41 aggressor of the last trade.
};
static_assert(sizeof(Book) == 8 * kLineWords && sizeof(Day) == 8 * kLineWords);

/// The levels: version, then a word with the rows of bids (bits 0..15) and asks (16..31), then bids and asks, each
/// Header::levels of these. Version, bits 32..63: version of the book that belongs to it.
struct Level {
  std::int64_t price;
  std::int64_t quantity;
  std::uint64_t orders;  ///< Bits 0..31 orders, all ones: not known; bit 32: the row is known.
};
inline constexpr std::size_t kLevelWords = 3;
inline constexpr std::size_t kLevelsHeadWords = 2;

[[nodiscard]] constexpr std::size_t levels_words(std::size_t levels) noexcept {
  return levels == 0 ? 0 : kLevelsHeadWords + 2 * levels * kLevelWords;
}
/// Whole pairs of cache lines, as processors fetch them in pairs.
[[nodiscard]] constexpr std::size_t row_bytes(std::size_t levels) noexcept {
  return (sizeof(Book) + sizeof(Day) + 8 * levels_words(levels) + 127) / 128 * 128;
}

inline constexpr std::uint8_t kWhole = 255;  ///< `known_to`: all rows are known, and there are no others.

/// What the last word of the book says.
struct StateWord {
  std::uint8_t trading = 0;    ///< TradingState.
  std::uint8_t standing = 0;   ///< A `Standing`.
  std::uint8_t cause = 0;      ///< Cause, of a book that is not the latest.
  std::uint8_t bid_known = 0;  ///< Rows from the best before which there is no unknown one, at most 254; kWhole.
  std::uint8_t ask_known = 0;

  [[nodiscard]] constexpr std::uint64_t packed() const noexcept {
    return std::uint64_t{trading} | std::uint64_t{standing} << 8 | std::uint64_t{cause} << 16 |
           std::uint64_t{bid_known} << 24 | std::uint64_t{ask_known} << 32;
  }
  [[nodiscard]] static constexpr StateWord of(std::uint64_t word) noexcept {
    return {static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8),
            static_cast<std::uint8_t>(word >> 16), static_cast<std::uint8_t>(word >> 24),
            static_cast<std::uint8_t>(word >> 32)};
  }
};

}  // namespace stopbit::market::state
