#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "decoder/record/layout.hpp"
#include "host/market/event/event.hpp"
#include "host/market/instrument/layout.hpp"

/// What a process leaves of its instruments and books for the next one, as a file:
///
///     SavedHead | for each instrument: SavedRow, then its book as events of a snapshot | SavedEnd
///
/// All of it is slots of 64 bytes. README.md says what is taken from such a file, and when.
namespace stopbit::market {

inline constexpr std::uint64_t kSavedMagic = 0x3165'7661'7362'7473;  ///< "stbsave1"
/// Changes when the layout or a meaning changes.
inline constexpr std::uint32_t kSavedVersion = 1;
inline constexpr std::size_t kSavedScopeFields = 4;

struct alignas(record::kSlotBytes) SavedHead {
  std::uint64_t magic = kSavedMagic;
  std::uint32_t version = kSavedVersion;
  std::uint32_t reserved = 0;
  std::uint64_t image = 0;  ///< Hash of its record layout.
  std::uint64_t map = 0;    ///< Hash of the feed map.
  std::uint64_t ring = 0;   ///< Hash of the name of the ring of events.
  std::uint64_t saved_ns = 0;
  std::uint64_t unused[2] = {};

  /// Whether both are of one image, map and ring.
  [[nodiscard]] bool is_of(const SavedHead& other) const noexcept {
    return image == other.image && map == other.map && ring == other.ring;
  }
};
static_assert(sizeof(SavedHead) == record::kSlotBytes && std::is_trivially_copyable_v<SavedHead>);

enum class SavedKind : std::uint32_t { Row = 1, End = 2 };

// Flags of a row.
inline constexpr std::uint8_t kSavedBook = 1U << 0;  ///< Its entries are a book; else only the instrument is known.
inline constexpr std::uint8_t kSavedIncrements = 1U << 1;  ///< Its increments have been seen.

struct alignas(record::kSlotBytes) SavedRow {
  SavedKind kind = SavedKind::Row;
  std::uint32_t entries = 0;  ///< Slots that follow.
  std::uint64_t era = 0;      ///< Of its channel of increments.
  std::uint64_t newest = 0;   ///< The channel's newest message.
  std::uint64_t number = 0;   ///< As snapshots have them: in its scope, and of the channel.
  std::uint64_t message = 0;
  std::uint64_t session = 0;
  std::uint64_t complex = 0;
  std::int64_t tick = 0;
  std::array<std::uint64_t, kSavedScopeFields> scope = {};  ///< Names the product whose numbers it has.
  std::int64_t sent_ns = 0;                                 ///< The exchange's time of its last entry.
  std::uint64_t first_number = 0;
  std::uint64_t first_ns = 0;
  std::uint64_t definition_ns = 0;
  std::uint32_t flags = 0;  ///< Of InstrumentRow.
  std::uint32_t definition_sequence = 0;
  std::uint16_t definition_channel = 0;
  std::uint16_t channel = 0;  ///< Of its increments.
  std::uint16_t depth[2] = {};
  std::uint8_t key_bytes = 0;
  std::uint8_t name_bytes = 0;
  std::uint8_t product_bytes = 0;
  std::uint8_t has = 0;  ///< kSavedBook, kSavedIncrements.
  std::uint8_t book_kind[2] = {};
  std::uint8_t unused[2] = {};
  char key[kInstrumentKeyBytes] = {};
  char name[kInstrumentNameBytes] = {};
  char product[kInstrumentProductBytes] = {};
  std::uint64_t reserved[3] = {};
};
inline constexpr std::uint32_t kSavedRowSlots = 4;
static_assert(sizeof(SavedRow) == kSavedRowSlots * record::kSlotBytes && std::is_trivially_copyable_v<SavedRow>);

struct alignas(record::kSlotBytes) SavedEnd {
  SavedKind kind = SavedKind::End;
  std::uint32_t rows = 0;
  std::uint64_t slots = 0;     ///< Of the file, this one included.
  std::uint64_t left_out = 0;  ///< Books that were too large.
  std::uint64_t check = 0;     ///< SavedSum of all slots before this one, and of the fields above.
  std::uint64_t unused[4] = {};
};
static_assert(sizeof(SavedEnd) == record::kSlotBytes && std::is_trivially_copyable_v<SavedEnd>);

/// Shows any damage of a file but a wilful one.
class SavedSum {
 public:
  constexpr void add(std::uint64_t word) noexcept {
    value_ = (value_ ^ word) * 0x9E37'79B9'7F4A'7C15U;
    value_ = value_ << 29 | value_ >> 35;
  }
  constexpr void add(const record::Slot& slot) noexcept {
    for (const std::uint64_t word : slot.words) add(word);
  }
  /// What SavedEnd says.
  [[nodiscard]] constexpr std::uint64_t with(const SavedEnd& end) const noexcept {
    SavedSum sum = *this;
    sum.add(std::uint64_t{end.rows} << 32 | static_cast<std::uint32_t>(end.kind));
    sum.add(end.slots);
    sum.add(end.left_out);
    return sum.value_;
  }

 private:
  std::uint64_t value_ = kSavedMagic;
};

}  // namespace stopbit::market
