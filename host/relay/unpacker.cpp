#include "host/relay/unpacker.hpp"

#include <cstring>

namespace stopbit::relay {

std::uint64_t Unpacker::begin_ring(const Head& head, record::RecordSink& sink, std::uint32_t max_record_slots) {
  const std::uint64_t cut = writer_ && !writer_->is_between() ? 1 : 0;
  writer_.emplace(sink, max_record_slots);
  ring_ = Ring{head.epoch, head.layout, head.first, head.records, true};
  return cut;
}

Taken Unpacker::take(const Head& head, std::span<const std::byte> slots) noexcept {
  Taken taken;
  // A stream that begins in the middle of a record lacks that record, which began earlier.
  const bool continues = head.kind == Kind::Records && head.part != 0;
  if (!ring_->is_new && (head.first < ring_->end || head.records < ring_->records)) {
    taken.is_repeated = true;
    return taken;
  }
  taken.lost = head.records - ring_->records;
  const bool is_next_part = continues && !ring_->is_new && head.first == ring_->end && taken.lost == 0;
  bool drops_part = continues && (!is_next_part || writer_->is_between());
  if (!is_next_part && !writer_->is_between()) {
    writer_->give_up();
    ++taken.lost;
  }
  ring_->is_new = false;
  ring_->end = head.end;
  ring_->records = head.records_after();
  if (head.kind == Kind::Lost) {
    taken.lost_unknown = head.count == kUnknownCount;
    if (!taken.lost_unknown) taken.lost += head.count;
  }
  std::uint64_t begun = 0;
  for (; slots.size() >= record::kSlotBytes; slots = slots.subspan(record::kSlotBytes)) {
    record::Slot slot;
    std::memcpy(&slot, slots.data(), sizeof(slot));
    if (drops_part && !remote::SlotWriter::is_first(slot)) continue;
    drops_part = false;
    if (writer_->is_between()) ++begun;
    switch (writer_->take(slot)) {
      case remote::SlotWriter::Outcome::Whole: ++taken.records; continue;
      case remote::SlotWriter::Outcome::Part: continue;
      case remote::SlotWriter::Outcome::Bad: break;
    }
    // Records can be found again at the next beginning of one.
    taken.is_damaged = true;
    drops_part = true;
  }
  if (!taken.is_damaged && (begun != head.count && head.kind == Kind::Records)) taken.is_damaged = true;
  return taken;
}

}  // namespace stopbit::relay
