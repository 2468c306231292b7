#include "host/nic/msg/vrbh_queue.hpp"

#include <algorithm>
#include <bit>

#include "host/nic/rma/memory.hpp"

namespace stopbit::nic {
namespace {

constexpr std::uint64_t kEndOfAddresses = std::uint64_t{1} << kNlaBits;

}  // namespace

Error VrbhQueue::check(const SegmentRing& ring) noexcept {
  if (ring.places < 2 || ring.places > kMaxSegments || !is_slot_size(ring.slot_bytes)) return Error::Command;
  if (ring.list % kLineBytes != 0 || ring.list >= kEndOfAddresses) return Error::OriginOffset;
  return Error::None;
}

std::optional<VrbhQueue::Slot> VrbhQueue::take() noexcept {
  if (has_ended()) return std::nullopt;
  if (!place_.is_valid) {
    if (next_count_ == 0) {
      if (!fetch()) {
        ++counters_.late;
        return std::nullopt;
      }
    } else {
      ++counters_.switched;
    }
    const Segment& segment = next_[next_first_];
    next_first_ = (next_first_ + 1) % kPrefetch;
    --next_count_;
    place_ = {true, segment.address, segment.slots, place_.index + 1};
    has_crossed_ = true;
    is_used_up_ = true;
  }
  const Slot slot{place_.address, place_.index};
  place_.address += ring_.slot_bytes;
  if (--place_.left == 0) place_.is_valid = false;
  is_on_trial_ = true;
  ++counters_.taken;
  return slot;
}

void VrbhQueue::commit() noexcept {
  settled_ = place_;
  is_on_trial_ = has_crossed_ = false;
}

void VrbhQueue::revoke() noexcept {
  if (!is_on_trial_) return;
  ++counters_.revoked;
  place_ = settled_;
  if (has_crossed_) {
    next_count_ = 0;
    fetch_index_ = settled_.index + 1;
  }
  is_on_trial_ = has_crossed_ = false;
}

void VrbhQueue::prefetch() noexcept {
  if (!is_used_up_) return;
  is_used_up_ = false;
  while (!has_ended() && next_count_ < kPrefetch && fetch()) {
  }
}

void VrbhQueue::end(Error error) noexcept {
  if (has_ended()) return;
  error_ = error;
  culprit_ = place_.index;
  next_count_ = 0;
}

bool VrbhQueue::is_writable(Nla address) noexcept {
  // Memory whose pages come and go cannot be waited for here.
  const Translation page = atu_->translate(owner_, address, Access::Write);
  return page.ok && page.paged == nullptr;
}

/// Copies the next descriptor in. False: it is not posted yet, or the queue ends with it.
bool VrbhQueue::fetch() noexcept {
  const std::uint64_t there = posted() - fetch_index_;
  if (there == 0 || there > ring_.places) return false;  // above: nonsense of the port
  const auto refuse = [&](Error error) {
    end(error);
    culprit_ = fetch_index_;
    return false;
  };
  const Nla at = ring_.list + fetch_index_ % ring_.places * sizeof(SegmentDescriptor);
  const Translation page = atu_->translate(owner_, at, Access::Read);
  if (!page.ok || page.paged != nullptr) return refuse(Error::TargetTranslation);
  // The port may write it at the same time: each word is read once.
  auto* const words = reinterpret_cast<std::uint64_t*>(to_memory(page.page) + at % kPageBytes);
  const std::array<std::uint64_t, 2> copy = {std::atomic_ref(words[0]).load(std::memory_order_relaxed),
                                             std::atomic_ref(words[1]).load(std::memory_order_relaxed)};
  const auto descriptor = std::bit_cast<SegmentDescriptor>(copy);
  ++counters_.fetched;
  if (descriptor.zero != 0) return refuse(Error::Command);
  if (descriptor.slots == 0 || descriptor.slots > kMaxSegmentSlots) return refuse(Error::TargetLength);
  const std::uint64_t bytes = std::uint64_t{descriptor.slots} * ring_.slot_bytes;
  if (descriptor.address % std::max<std::uint64_t>(ring_.slot_bytes, kLineBytes) != 0) {
    return refuse(Error::TargetOffset);
  }
  if (descriptor.address >= kEndOfAddresses || bytes > kEndOfAddresses - descriptor.address ||
      !is_writable(descriptor.address) || !is_writable(descriptor.address + bytes - 1)) {
    return refuse(Error::TargetTranslation);
  }
  next_[(next_first_ + next_count_) % kPrefetch] = {descriptor.address, descriptor.slots};
  ++next_count_;
  ++fetch_index_;
  return true;
}

}  // namespace stopbit::nic
