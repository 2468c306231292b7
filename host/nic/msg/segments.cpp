#include "host/nic/msg/segments.hpp"

#include <algorithm>

#include "host/nic/rma/memory.hpp"

namespace stopbit::nic {

SegmentWriter::Put SegmentWriter::put(const MessageHead& head, std::span<const std::byte> payload) noexcept {
  const std::size_t slots = slots_of(payload.size(), ring_.slot_bytes);
  if (queue_.has_ended()) return Put::Ended;
  // Cached, so that polling does not rescan all segments.
  if (late_slots_ != 0 && slots >= late_slots_ && queue_.posted() == late_posted_) return Put::Late;
  std::array<SlotPlace, slots_of(kMaxMessageBytes, 16)> places;
  Nla page_address = ~Nla{0};
  std::byte* page = nullptr;
  const std::uint64_t posted = queue_.posted();
  for (std::size_t i = 0; i < slots; ++i) {
    const std::optional<VrbhQueue::Slot> slot = queue_.take();
    if (!slot) {
      queue_.revoke();
      late_slots_ = slots;
      late_posted_ = posted;
      return queue_.has_ended() ? Put::Ended : Put::Late;
    }
    if (slot->address / kPageBytes != page_address) {
      page_address = slot->address / kPageBytes;
      const Translation translation = atu_->translate(owner_, slot->address, Access::Write);
      if (!translation.ok || translation.paged != nullptr) {
        queue_.end(Error::TargetTranslation);
        queue_.revoke();
        return Put::Ended;
      }
      page = to_memory(translation.page);
    }
    places[i] = {reinterpret_cast<std::uint64_t*>(page + slot->address % kPageBytes), lap_of_segment(slot->segment)};
  }
  write_slots(head, payload, ring_.slot_bytes, [&](std::size_t i) { return places[i]; });
  queue_.commit();
  queue_.prefetch();
  late_slots_ = 0;
  ++written_;
  return Put::Done;
}

SegmentReader::SegmentReader(const Page& page, Priority priority, std::span<SegmentDescriptor> list,
                             std::uint32_t slot_bytes) noexcept
    : page_(page),
      posted_word_(posted_word(priority)),
      list_(list.first(std::min<std::size_t>(list.size(), kMaxSegments))),
      slot_bytes_(is_slot_size(slot_bytes) ? slot_bytes : 64) {
  page_.word(posted_word_).store(0, std::memory_order_relaxed);
}

bool SegmentReader::add(Nla address, std::span<std::byte> memory) noexcept {
  const std::size_t slots = std::min<std::size_t>(memory.size() / slot_bytes_, kMaxSegmentSlots);
  if (slots == 0 || segments() >= list_.size()) return false;
  // Old content must not look like a message.
  for (std::size_t i = 1; i <= slots; ++i) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory.data() + i * slot_bytes_ - sizeof(std::uint64_t)))
        .store(0, std::memory_order_relaxed);
  }
  post({{address, static_cast<std::uint32_t>(slots), 0}, memory.data()});
  return true;
}

void SegmentReader::post(const Segment& posted) noexcept {
  segment(posted_) = posted;
  auto* const words = reinterpret_cast<std::uint64_t*>(&list_[posted_ % list_.size()]);
  std::atomic_ref(words[0]).store(posted.descriptor.address, std::memory_order_relaxed);
  std::atomic_ref(words[1]).store(posted.descriptor.slots, std::memory_order_relaxed);
  page_.word(posted_word_).store(++posted_, std::memory_order_release);
}

void SegmentReader::go_on(std::size_t slots) noexcept {
  slot_ += static_cast<std::uint32_t>(slots);
  while (reading_ != posted_ && slot_ >= segment(reading_).descriptor.slots) {
    const Segment read = segment(reading_);
    slot_ -= read.descriptor.slots;
    ++reading_;
    post(read);
  }
}

std::optional<MessageHead> SegmentReader::poll(std::span<std::byte, kMaxMessageBytes> into) noexcept {
  for (;;) {
    // Slots are requested from the first one on, so the position of the next one is at hand.
    std::uint64_t number = reading_;
    std::uint32_t before = 0;  // slots of the segments between
    const auto at = [&](std::size_t i) -> SlotPlace {
      const auto wanted = static_cast<std::uint32_t>(slot_ + i);
      if (wanted < before) {
        number = reading_;
        before = 0;
      }
      while (number != posted_ && wanted - before >= segment(number).descriptor.slots) {
        before += segment(number).descriptor.slots;
        ++number;
      }
      if (number == posted_) return {};
      return {reinterpret_cast<std::uint64_t*>(segment(number).memory + std::size_t{wanted - before} * slot_bytes_),
              lap_of_segment(number)};
    };
    const SlotsRead read = read_slots(slot_bytes_, into, at);
    switch (read.what) {
      case SlotsRead::What::Nothing: return std::nullopt;
      case SlotsRead::What::Malformed:
        ++malformed_;
        go_on(1);
        continue;
      case SlotsRead::What::Message: break;
    }
    go_on(read.slots);
    if (!read.head().is_erroneous) return read.head();
    ++erroneous_;
    cut_ = read.head();
  }
}

}  // namespace stopbit::nic
