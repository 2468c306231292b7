#pragma once

#include <cstdint>
#include <span>

#include "decoder/engine/engine.hpp"
#include "decoder/record/layout.hpp"
#include "decoder/record/sink.hpp"
#include "decoder/record/views.hpp"

namespace stopbit::device {

/// `word` with `width` bits from `shift` on replaced by those of `value`.
[[nodiscard]] constexpr std::uint64_t with_bits(std::uint64_t word, unsigned shift, unsigned width,
                                                std::uint64_t value) noexcept {
  const std::uint64_t mask = ((std::uint64_t{1} << width) - 1) << shift;
  return (word & ~mask) | (value << shift & mask);
}

/// What an event record of a device says of its datagram, as an engine's outcome.
[[nodiscard]] inline Outcome outcome_of(const record::EventView& event) noexcept {
  Outcome outcome;
  outcome.dropped = event.kind() == record::EventKind::Dropped;
  outcome.error = event.kind() == record::EventKind::DecodeError ? event.code() : ErrorCode::None;
  outcome.offset_bytes = event.offset_bytes();
  outcome.template_id = event.template_id();
  outcome.template_index = event.template_index();
  outcome.block = event.block();
  outcome.word = event.word();
  return outcome;
}

/// Publishes a record of a device's ring in another one, with `head` as its first slot: what says where a record is
/// (stamp, phase) becomes that of its new place.
inline void copy_record(std::span<const record::Slot> record, const record::Slot& head,
                        record::RecordSink& sink) noexcept {
  record::Slot first = head;
  const record::RecordSink::Place place = sink.open();
  const std::uint64_t phase = place.phase() ? 1 : 0;
  for (std::size_t i = 1; i < record.size(); ++i) {
    for (std::size_t word = 0; word < record::kValueWords; ++word) {
      record::store_word(place.slots[i].words[word], record[i].words[word]);
    }
    record::store_word(place.slots[i].words[record::kTagWord],
                       with_bits(record[i].words[record::kTagWord], 63, 1, phase));
  }
  first.words[0] = with_bits(first.words[0], 32, 32, place.stamp());
  first.words[record::kTagWord] = with_bits(first.words[record::kTagWord], 63, 1, phase);
  sink.commit(first, static_cast<std::uint32_t>(record.size()));
}

}  // namespace stopbit::device
