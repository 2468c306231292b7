#pragma once

#include <cstdint>

#include "decoder/record/layout.hpp"
#include "decoder/record/sink.hpp"

namespace stopbit::remote {

/// Writes records that come from elsewhere into a ring of this host, or another sink, slot by slot. What it writes is
/// what came, but for what numbers the slots of this sink: the stamp (upper half of word 0) and the phase (upper bit of
/// each tag word).
///
/// Anything may come: what would not be a record for a reader of the ring is refused. One thread; as the writer.
class SlotWriter {
 public:
  /// Records of the ring have at most `max_record_slots` slots. The sink must outlive it.
  SlotWriter(record::RecordSink& sink, std::uint32_t max_record_slots) noexcept
      : sink_(sink), max_record_slots_(max_record_slots) {}

  enum class Outcome : std::uint8_t {
    Part,   ///< More slots of the record must follow.
    Whole,  ///< It was the last slot of a record, which is published now.
    Bad,    ///< The slot cannot follow here. Nothing was published; the record in progress is dropped.
  };
  [[nodiscard]] Outcome take(const record::Slot& slot) noexcept;
  /// Whether a record may begin with the slot, and not go on with it.
  [[nodiscard]] static bool is_first(const record::Slot& slot) noexcept;
  /// No record is begun.
  [[nodiscard]] bool is_between() const noexcept { return taken_ == 0; }
  /// Forgets a record that was begun.
  void give_up() noexcept { taken_ = 0; }

 private:
  record::RecordSink& sink_;
  std::uint32_t max_record_slots_;
  std::uint32_t total_ = 0;
  std::uint32_t taken_ = 0;  ///< Slots of the record so far; 0: none was begun.
  record::RecordSink::Place place_;
  record::Slot first_{};
};

}  // namespace stopbit::remote
