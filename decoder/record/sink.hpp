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
  /// Two whole words: a copy by parts would be read back before its parts are written.
  class Place {
   public:
    constexpr Place() noexcept = default;
    constexpr Place(Slot* space, std::uint32_t stamp, bool phase) noexcept
        : slots(space), marks_(stamp | std::uint64_t{phase} << 32) {}

    /// Low half of slot 0's number in the ring.
    [[nodiscard]] constexpr std::uint32_t stamp() const noexcept { return static_cast<std::uint32_t>(marks_); }
    /// Of every slot of this record.
    [[nodiscard]] constexpr bool phase() const noexcept { return marks_ >> 32 != 0; }

    /// Space for max_record_slots of the program; content undefined. Slot 0 is written by commit.
    Slot* slots = nullptr;

   private:
    std::uint64_t marks_ = 0;
  };

  virtual ~RecordSink() = default;
  /// Never fails: there is always space for one record. Calling it again without commit returns the same place.
  [[nodiscard]] virtual Place open() noexcept = 0;
  /// Makes the record at the open place visible. `first` is the finished slot 0, `slots` the length of the record.
  virtual void commit(const Slot& first, std::uint32_t slots) noexcept = 0;
  /// Both for a record of one slot, which gets stamp and phase here.
  virtual void put(const std::uint64_t (&words)[kSlotWords]) noexcept {
    const Place place = open();
    commit(in_place(words, place.stamp(), place.phase()), 1);
  }
};

/// Stores a word that another thread or process may read at the same time.
inline void store_word(std::uint64_t& word, std::uint64_t value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

}  // namespace stopbit::record
