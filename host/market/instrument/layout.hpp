#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "host/market/event/event.hpp"

/// The instrument table in memory: the ABI between the process that builds books and its readers.
///
///     header (4,096 bytes) | rows (256 bytes each; row 0 means all instruments) | index by key | index by name
///
/// The writer appends; a row's number, key and place never change. What does change in a row is written between two
/// increments of its version, which is odd meanwhile.
namespace stopbit::market {

inline constexpr std::uint64_t kInstrumentMagic = 0x0031'534E'4954'4253;  ///< "SBTINS1"
/// Changes when the layout or a meaning changes.
inline constexpr std::uint32_t kInstrumentSchemaVersion = 2;

inline constexpr std::string_view kInstrumentSuffix = ".instruments";  ///< Of the file.
inline constexpr std::string_view kInstrumentNoun = "table of instruments";
inline constexpr std::size_t kInstrumentHeaderBytes = 4'096;
inline constexpr std::size_t kInstrumentKeyBytes = 32;
inline constexpr std::size_t kInstrumentNameBytes = 32;
inline constexpr std::size_t kInstrumentProductBytes = 16;
inline constexpr std::uint32_t kMaxInstruments = kMaxInstrument;  ///< 24 bits of an event.
inline constexpr std::uint32_t kMaxQuantityDecimals = 18;

struct InstrumentHeader {
  std::uint64_t magic;
  std::uint32_t schema_version;
  std::uint32_t row_bytes;
  std::uint32_t capacity;           ///< Rows, without row 0.
  std::uint32_t index_slots;        ///< Of each index: a power of two, at least twice the capacity.
  std::uint64_t generation;         ///< Changes at the start of a day; 0 never occurs.
  std::uint32_t count;              ///< Rows in use; grows with release order, after the row and the index.
  std::uint32_t quantity_decimals;  ///< Of the map: quantities of events and states are in units of 10^-this.
  std::uint64_t refused;            ///< Instruments that found no room: first sights, so one may count more than once.
  std::uint64_t changes;            ///< Of any row.
  std::uint32_t channel_state;      ///< As InstrumentRow::state, of all instruments together.
  std::uint32_t pad2;
  char map_name[64];
  std::uint64_t salt;           ///< Of both indexes: senders cannot choose keys and names that collide.
  std::uint64_t refused_names;  ///< Names that found no room in the index; a row is still found by its key.
  std::uint64_t ring_epoch;     ///< Of the ring whose events name these rows (ring::Header); 0: there is no ring.
};
static_assert(sizeof(InstrumentHeader) <= kInstrumentHeaderBytes);

// Flags of a row.
inline constexpr std::uint32_t kRowDefined = 1U << 0;    ///< A definition was seen.
inline constexpr std::uint32_t kRowRemoved = 1U << 1;    ///< The exchange has removed it.
inline constexpr std::uint32_t kRowKeyCut = 1U << 2;     ///< The key was too long: its end is a hash.
inline constexpr std::uint32_t kRowNameCut = 1U << 3;    ///< The name or the product was too long.
inline constexpr std::uint32_t kRowTickMoved = 1U << 4;  ///< A later definition has another tick.
/// The definition was taken over from long ago, and none has come since: the exchange may have given the key to another
/// instrument.
inline constexpr std::uint32_t kRowEarlier = 1U << 5;

struct alignas(64) InstrumentRow {
  std::uint64_t version;
  std::uint32_t flags;
  std::uint16_t channel;  ///< Of its increments; before them of its snapshots, else of the first sight.
  std::uint8_t key_bytes;
  std::uint8_t name_bytes;
  char key[kInstrumentKeyBytes];    ///< The map's key fields as text, with / between them.
  char name[kInstrumentNameBytes];  ///< Of the definition.
  char product[kInstrumentProductBytes];
  std::int64_t tick;          ///< 1e-9; 0: not known.
  std::uint16_t depth[2];     ///< Direct, implied; 0: not known.
  std::uint8_t book_kind[2];  ///< BookKind.
  std::uint8_t product_bytes;
  std::uint8_t state;        ///< TradingState.
  std::uint32_t state_code;  ///< As the exchange has it.
  std::uint32_t state_scale;
  std::uint64_t session;
  std::uint64_t first_number;         ///< Entry number at the first sight; 0: entries have none.
  std::uint64_t first_ns;             ///< Arrival at the first sight.
  std::uint64_t definition_ns;        ///< Arrival of the last definition.
  std::uint32_t definition_sequence;  ///< Its packet: sequence and channel.
  std::uint16_t definition_channel;
  std::uint16_t pad;
  std::uint64_t complex;  ///< The exchange's product complex, as it has it.
  std::uint64_t key_hash;
  std::uint8_t reserved[40];
};
static_assert(sizeof(InstrumentRow) == 256);

constexpr std::size_t instrument_index_slots(std::uint32_t capacity) noexcept {
  std::size_t slots = 16;
  while (slots < std::size_t{capacity} * 2) slots *= 2;
  return slots;
}
constexpr std::size_t instrument_table_bytes(std::uint32_t capacity) noexcept {
  return kInstrumentHeaderBytes + (std::size_t{capacity} + 1) * sizeof(InstrumentRow) +
         2 * instrument_index_slots(capacity) * sizeof(std::uint32_t);
}

}  // namespace stopbit::market
