#pragma once

#include <cstdint>

#include "decoder/record/layout.hpp"

namespace stopbit::record {

/// Where an engine writes records: a shared-memory ring, a buffer that prints, a buffer that is timed.
///
/// One writer. The engine calls open, writes slots 1..n-1 and words 1..7 of slot 0 with relaxed atomic stores, then
/// calls commit, which writes word 0 with release order. An engine that meets an error just opens again.
class RecordSink {
 public:
  struct Place {
    Slot* slots = nullptr;    ///< Room for the program's max_record_slots; content undefined.
    std::uint32_t stamp = 0;  ///< Low half of slot 0's number in the ring.
    bool phase = false;       ///< Of every slot of this record.
  };

  virtual ~RecordSink() = default;
  /// Never fails: room for one record is there from the start. Calling it again without commit gives the same place.
  [[nodiscard]] virtual Place open() noexcept = 0;
  /// Makes the record at the open place visible. `word0` is the finished first word of slot 0.
  virtual void commit(std::uint64_t word0, std::uint32_t slots) noexcept = 0;
};

/// A word that another thread or process may read meanwhile.
inline void store_word(std::uint64_t& word, std::uint64_t value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

}  // namespace stopbit::record
