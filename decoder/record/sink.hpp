#pragma once

#include <cstdint>

#include "decoder/record/layout.hpp"

namespace stopbit::record {

/// Destination of an engine's records: a ring in shared memory, or a buffer.
///
/// One writer. The engine calls open, writes slots 1..n-1 with relaxed atomic stores and builds slot 0 in private
/// memory; commit copies that slot, its tag word last and with release order. The line that readers poll is thus
/// written once. After an error the engine calls open again.
class RecordSink {
 public:
  struct Place {
    // Two whole words, which are copied in registers: a copy by parts waits for the stores of the parts.
    Slot* slots =
        nullptr;  ///< Space for max_record_slots of the program; content undefined. Slot 0 is written by commit.
    std::uint32_t stamp = 0;  ///< Low half of slot 0's number in the ring.
    bool phase = false;       ///< Of every slot of this record.
    std::uint8_t unused = 0;
    std::uint16_t unused_too = 0;
  };

  virtual ~RecordSink() = default;
  /// Never fails: there is always space for one record. Calling it again without commit returns the same place.
  [[nodiscard]] virtual Place open() noexcept = 0;
  /// Makes the record at the open place visible. `first` is the finished slot 0, `slots` the length of the record.
  virtual void commit(const Slot& first, std::uint32_t slots) noexcept = 0;
  /// Both for a record of one slot, which gets stamp and phase here.
  virtual void put(const std::uint64_t (&words)[kSlotWords]) noexcept {
    const Place place = open();
    commit(in_place(words, place.stamp, place.phase), 1);
  }
};

/// Stores a word that another thread or process may read at the same time.
inline void store_word(std::uint64_t& word, std::uint64_t value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

}  // namespace stopbit::record
