#include "host/remote/slot_writer.hpp"

#include "decoder/record/views.hpp"
#include "host/ring/protocol.hpp"

namespace stopbit::remote {
namespace {

constexpr std::uint64_t kPhaseBit = std::uint64_t{1} << 63;
constexpr std::uint64_t kHeaderTags = ring::first_slot_tags(false) & 0xFFFF'FFFF;

}  // namespace

bool SlotWriter::is_first(const record::Slot& slot) noexcept {
  return (slot.words[record::kTagWord] & ring::kFirstSlotMask & ~kPhaseBit) == ring::first_slot_tags(false);
}

SlotWriter::Outcome SlotWriter::take(const record::Slot& slot) noexcept {
  const std::uint64_t tags = slot.words[record::kTagWord];
  const std::uint64_t number = tags >> 56 & 0x7F;
  if (taken_ == 0) {
    const record::HeaderView head(slot);
    if (!is_first(slot) || head.is_pad() || head.slots() == 0 || head.slots() > max_record_slots_) return Outcome::Bad;
    total_ = head.slots();
    place_ = sink_.open();
    first_ = slot;
    first_.words[0] = record::stamped(slot.words[0], place_.stamp());
    first_.words[record::kTagWord] = record::with_phase(tags, place_.phase());
  } else {
    // Header tags are at the beginning of a record and nowhere else: a reader finds records by them.
    if (number != (taken_ & 0x7FU) || (tags & 0xFFFF'FFFF) == kHeaderTags) {
      give_up();
      return Outcome::Bad;
    }
    record::Slot& to = place_.slots[taken_];
    for (std::size_t word = 0; word < record::kTagWord; ++word) record::store_word(to.words[word], slot.words[word]);
    record::store_word(to.words[record::kTagWord], record::with_phase(tags, place_.phase()));
  }
  if (++taken_ < total_) return Outcome::Part;
  sink_.commit(first_, total_);
  taken_ = 0;
  return Outcome::Whole;
}

}  // namespace stopbit::remote
