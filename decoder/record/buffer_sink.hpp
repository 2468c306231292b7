#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "decoder/record/sink.hpp"

namespace stopbit::record {

/// A sink over private memory: `on_record(std::span<const Slot>)` is called with each complete record, valid until it
/// returns. Allocates only when constructed.
///
/// By default the buffer holds one record, always at the same address. A larger buffer is filled like a ring, so that a
/// benchmark writes to as much memory as a ring has.
template <class OnRecord>
class BufferSink final : public RecordSink {
 public:
  BufferSink(std::size_t max_record_slots, OnRecord on_record, std::size_t buffer_slots = 0)
      : slots_(std::max(buffer_slots, max_record_slots)),
        max_record_slots_(max_record_slots),
        on_record_(std::move(on_record)) {}

  [[nodiscard]] Place open() noexcept override {
    if (slots_.size() - at_ < max_record_slots_) {
      number_ += slots_.size() - at_;
      at_ = 0;
      phase_ = !phase_;
    }
    return {slots_.data() + at_, static_cast<std::uint32_t>(number_), phase_};
  }

  void commit(const Slot& first, std::uint32_t slots) noexcept override {
    const std::span<Slot> record(slots_.data() + at_, slots);
    copy_words(record[0].words, first.words);
    at_ += slots;
    number_ += slots;
    on_record_(std::span<const Slot>(record));
  }
  void put(const std::uint64_t (&words)[kSlotWords]) noexcept override {
    const Place place = open();  // of this class, so it can be inlined
    commit(in_place(words, place.stamp(), place.phase()), 1);
  }

 private:
  std::vector<Slot> slots_;
  std::size_t max_record_slots_;
  OnRecord on_record_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;  ///< Of the slot at at_, counted over the laps.
  bool phase_ = false;
};

}  // namespace stopbit::record
