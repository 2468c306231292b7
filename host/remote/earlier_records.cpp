#include "host/remote/earlier_records.hpp"

#include <algorithm>
#include <cstring>

namespace stopbit::remote {
namespace {

constexpr std::uint64_t kChunkSlots = 4096;    // 256 KiB
constexpr std::uint64_t kNewReaderShare = 16;  // of the ring that must lie between the first record and the claim
constexpr unsigned kMaxIdleRounds = 1000;      // each time the marks changed
constexpr std::size_t kSecondHeaderAt = nic::kPageBytes / 2;
constexpr std::size_t kSlotsAt = nic::kPageBytes;
static_assert(ring::kHeaderBytes <= kSecondHeaderAt);

}  // namespace

Result<std::unique_ptr<EarlierRecords>> EarlierRecords::make(NodePort& port, const Fetch::From& from,
                                                             const Accept& accept,
                                                             const std::optional<RingPosition>& begin) {
  std::unique_ptr<EarlierRecords> made(new EarlierRecords(port, from, accept, begin));
  Result<PortMemory> memory = PortMemory::make(
      port, "stopbit-history", kSlotsAt + accept.slot_count * record::kSlotBytes, nic::Access::ReadWrite);
  if (!memory) return Failure{memory.message()};
  made->memory_ = std::move(memory).value();
  std::byte* const data = made->memory_.span().data();
  const ring::Geometry geometry{.slot_count = accept.slot_count,
                                .max_record_slots = accept.max_record_slots,
                                .claim_step = ring::claim_step(accept.slot_count)};
  made->core_ = ring::ReaderCore<ring::SharedMemory>(*reinterpret_cast<const ring::Header*>(data),
                                                     reinterpret_cast<const record::Slot*>(data + kSlotsAt), geometry);
  made->copy_.resize(accept.max_record_slots);
  made->chunk_ = std::clamp<std::uint64_t>(accept.slot_count / ring::kMaxRecordShare, 1, kChunkSlots);
  return made;
}

EarlierRecords::State EarlierRecords::fail(const char* problem) noexcept {
  problem_ = problem;
  return State::Failed;
}

EarlierRecords::State EarlierRecords::step(EarlierRecordsSink& sink) {
  if (!is_round_) {
    is_round_ = true;
    asks_ = 0;
  }
  if (asks_ < 3 && !ask()) return State::Working;
  if (!fetch_.is_done()) return State::Working;
  if (fetch_.error() != nic::Error::None) return fail(to_meaning(fetch_.error()));
  is_round_ = false;
  asked_ = next_asked_;
  merge_headers();
  if (++idle_rounds_ > kMaxIdleRounds) return fail("the ring is inconsistent");
  if (!is_begun_ && !find_begin()) return State::Working;
  return read(sink);
}

/// A round: the next slots, and then the header twice, in this order.
bool EarlierRecords::ask() {
  const nic::Nla to = memory_.address();
  if (asks_ == 0) {
    next_asked_ = asked_;
    if (is_begun_) {
      next_asked_ = std::max(asked_, core_.position());
      const std::uint64_t place = next_asked_ & (accept_.slot_count - 1);
      const std::uint64_t count = std::min({chunk_, accept_.slot_count - place, accept_.begin.number - next_asked_});
      if (count != 0 &&
          !fetch_.start(accept_.slots_offset + place * record::kSlotBytes, to + kSlotsAt + place * record::kSlotBytes,
                        static_cast<std::uint32_t>(count * record::kSlotBytes))) {
        return false;
      }
      next_asked_ += count;
    }
    asks_ = 1;
  }
  for (; asks_ < 3; ++asks_) {
    const std::size_t at = asks_ == 1 ? 0 : kSecondHeaderAt;
    if (!fetch_.start(0, to + at, ring::kHeaderBytes)) return false;
  }
  return true;
}

/// A mark is two words, and a get may read one before a change and the other after it. A mark that reads the same twice
/// did not change in between, because its number is voided first and never comes back.
void EarlierRecords::merge_headers() noexcept {
  std::byte* const data = memory_.span().data();
  auto& header = *reinterpret_cast<ring::Header*>(data);
  const auto& second = *reinterpret_cast<const ring::Header*>(data + kSecondHeaderAt);
  for (std::size_t i = 0; i < ring::kMarks; ++i) {
    if (std::memcmp(&header.marks[i], &second.marks[i], sizeof(ring::Mark)) != 0) {
      header.marks[i].number = ring::kMarkChanges;
    }
  }
}

/// False: not in this round.
bool EarlierRecords::find_begin() noexcept {
  ring::Mark mark{};
  if (begin_) {
    mark = {begin_->number, begin_->records};
  } else {
    mark = core_.find_start(0, accept_.slot_count / kNewReaderShare);
    if (mark.number == ring::kMarkChanges) return false;
  }
  // Nothing that is older than what comes anyway.
  if (mark.number < accept_.slot_count || mark.number > accept_.begin.number) {
    mark = {accept_.begin.number, accept_.begin.records};
  }
  core_.begin_at(mark);
  asked_ = mark.number;
  is_begun_ = true;
  return true;
}

EarlierRecords::State EarlierRecords::read(EarlierRecordsSink& sink) {
  while (core_.position() < accept_.begin.number) {
    const bool is_there = asked_ == accept_.begin.number || core_.position() + accept_.max_record_slots <= asked_;
    if (!is_there) return State::Working;
    const std::uint64_t records_before = core_.next_record();
    std::uint64_t slots = 0;
    switch (core_.poll(copy_.data(), slots)) {
      case ring::Poll::Record:
        if (core_.position() > accept_.begin.number) return fail("a record exceeds its bounds");
        if (!sink.earlier_record({copy_.data(), slots})) return fail("the ring holds data that is not a record");
        break;
      case ring::Poll::Lost: {
        // Records lost after the end are reported by the live part.
        const ring::Mark lost = core_.lost();
        const bool is_all = core_.position() >= accept_.begin.number;
        const std::uint64_t end = is_all ? accept_.begin.records : records_before + lost.records;
        if (end < records_before) return fail("the ring is inconsistent");
        if (is_all) core_.begin_at({accept_.begin.number, accept_.begin.records});
        if (end != records_before) sink.earlier_lost(end - records_before);
        asked_ = std::max(asked_, core_.position());
        break;
      }
      case ring::Poll::Nothing:
        if (core_.position() != accept_.begin.number) return State::Working;  // look at the marks again
        break;
      case ring::Poll::Damaged: return fail("the ring is damaged");
    }
    idle_rounds_ = 0;
  }
  return State::Done;
}

}  // namespace stopbit::remote
