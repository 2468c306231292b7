#pragma once

#include <cstdint>

#include "decoder/record/layout.hpp"

namespace stopbit::record {

/// Where an engine writes records: a shared-memory ring, a buffer that prints, a buffer that is timed.
///
/// One writer. The engine calls open, writes slots 1..n-1 with relaxed atomic stores and builds slot 0 in memory of its
/// own; commit copies that slot, its tag word last and with release order. So the line that readers poll is written
/// once. An engine that meets an error just opens again.
class RecordSink {
 public:
  struct Place {
    Slot* slots = nullptr;    ///< Room for the program's max_record_slots; content undefined. Slot 0 is commit's.
    std::uint32_t stamp = 0;  ///< Low half of slot 0's number in the ring.
    bool phase = false;       ///< Of every slot of this record.
  };

  virtual ~RecordSink() = default;
  /// Never fails: room for one record is there from the start. Calling it again without commit gives the same place.
  [[nodiscard]] virtual Place open() noexcept = 0;
  /// Makes the record at the open place visible. `first` is the finished slot 0, `slots` the length of the record.
  virtual void commit(const Slot& first, std::uint32_t slots) noexcept = 0;
};

/// A word that another thread or process may read meanwhile.
inline void store_word(std::uint64_t& word, std::uint64_t value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

}  // namespace stopbit::record
