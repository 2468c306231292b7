#include "host/nic/msg/mailbox.hpp"

#include <algorithm>
#include <cstring>

namespace stopbit::nic {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
constexpr unsigned kVpidAt = 16;
constexpr unsigned kTagAt = 32;
constexpr unsigned kLengthAt = 40;
constexpr unsigned kTypeAt = 52;
constexpr unsigned kEndAt = 54;
constexpr unsigned kErroneousAt = 55;
constexpr unsigned kLapAt = 56;

constexpr std::size_t ring_at(Priority priority) noexcept {
  return priority == Priority::High ? PageLayout::kHighAt : PageLayout::kLowAt;
}
constexpr PageWord read_word(Priority priority) noexcept {
  return priority == Priority::High ? PageWord::HighRead : PageWord::LowRead;
}
constexpr std::size_t slot_at(std::size_t ring, std::uint64_t number, std::size_t slot_bytes) noexcept {
  return ring + number % PageLayout::kMailboxSlots * slot_bytes;
}

/// Word of the slot at which `bytes` bytes begin that end right before the status.
constexpr std::size_t first_word(std::size_t bytes, std::size_t slot_bytes) noexcept {
  return slot_bytes / kWordBytes - 1 - (bytes + kWordBytes - 1) / kWordBytes;
}

}  // namespace

std::uint64_t to_word(const SlotStatus& status) noexcept {
  const MessageHead& head = status.head;
  return std::uint64_t{head.node} | std::uint64_t{head.vpid} << kVpidAt | std::uint64_t{head.tag} << kTagAt |
         std::uint64_t{head.length & 0xFFFU} << kLengthAt | std::uint64_t{head.type & 3U} << kTypeAt |
         std::uint64_t{status.is_end} << kEndAt | std::uint64_t{head.is_erroneous} << kErroneousAt |
         std::uint64_t{status.lap} << kLapAt;
}

SlotStatus from_word(std::uint64_t word) noexcept {
  SlotStatus status;
  status.head.node = static_cast<NodeId>(word);
  status.head.vpid = static_cast<Vpid>(word >> kVpidAt);
  status.head.tag = static_cast<std::uint8_t>(word >> kTagAt);
  status.head.length = static_cast<std::uint16_t>(word >> kLengthAt & 0xFFFU);
  status.head.type = static_cast<std::uint8_t>(word >> kTypeAt & 3U);
  status.is_end = (word >> kEndAt & 1U) != 0;
  status.head.is_erroneous = (word >> kErroneousAt & 1U) != 0;
  status.lap = static_cast<std::uint8_t>(word >> kLapAt);
  return status;
}

MailboxWriter::MailboxWriter(const Page& page, Priority priority, std::size_t slot_bytes) noexcept
    : page_(page), at_(ring_at(priority)), read_word_(read_word(priority)), slot_bytes_(valid_slot_bytes(slot_bytes)) {}

std::size_t MailboxWriter::room() noexcept {
  // Acquire: the port has read what lay in the slots that it gives back.
  read_ = page_.word(read_word_).load(std::memory_order_acquire);
  const std::uint64_t used = written_ - read_;
  return used > PageLayout::kMailboxSlots ? 0 : PageLayout::kMailboxSlots - used;  // above: nonsense of the port
}

bool MailboxWriter::put(const MessageHead& head, std::span<const std::byte> payload) noexcept {
  const std::size_t per_slot = slot_bytes_ - kWordBytes;
  const std::size_t slots = slots_of(payload.size(), slot_bytes_);
  // The port's word lies in a line that the port writes: it is looked at only when that is needed.
  if (written_ - read_ > PageLayout::kMailboxSlots - slots && room() < slots) return false;
  const std::size_t status_word = per_slot / kWordBytes;
  for (std::size_t i = 0; i < slots; ++i) {
    const std::span<const std::byte> part =
        payload.subspan(i * per_slot, std::min(per_slot, payload.size() - i * per_slot));
    const std::size_t at = slot_at(at_, written_ + i, slot_bytes_);
    for (std::size_t done = 0, word = first_word(part.size(), slot_bytes_); done < part.size(); done += kWordBytes) {
      std::uint64_t value = 0;
      std::memcpy(&value, part.data() + done, std::min(kWordBytes, part.size() - done));
      page_.word(at, word++).store(value, std::memory_order_relaxed);
    }
  }
  // The first slot's status last: who sees it has the whole message before it.
  for (std::size_t i = slots; i-- > 0;) {
    const std::uint64_t number = written_ + i;
    page_.word(slot_at(at_, number, slot_bytes_), status_word)
        .store(to_word({head, i + 1 == slots, lap_of(number)}),
               i == 0 ? std::memory_order_release : std::memory_order_relaxed);
  }
  written_ += slots;
  return true;
}

MailboxReader::MailboxReader(const Page& page, Priority priority) noexcept
    : page_(page),
      at_(ring_at(priority)),
      read_word_(read_word(priority)),
      slot_bytes_(valid_slot_bytes(page.word(PageWord::SlotBytes).load(std::memory_order_relaxed))) {}

SlotStatus MailboxReader::status_of(std::uint64_t number) const noexcept {
  const std::size_t status_word = slot_bytes_ / kWordBytes - 1;
  return from_word(page_.word(slot_at(at_, number, slot_bytes_), status_word).load(std::memory_order_acquire));
}

std::optional<MessageHead> MailboxReader::poll(std::span<std::byte, kMaxMessageBytes> into) noexcept {
  for (;;) {
    const SlotStatus first = status_of(read_);
    if (first.lap != lap_of(read_)) {
      tell();
      return std::nullopt;
    }
    const MessageHead& head = first.head;
    const std::size_t per_slot = slot_bytes_ - kWordBytes;
    const std::size_t slots = slots_of(head.length, slot_bytes_);
    bool is_whole = head.length >= 1 && head.length <= kMaxMessageBytes && first.is_end == (slots == 1);
    for (std::size_t i = 1; is_whole && i < slots; ++i) {
      const SlotStatus next = status_of(read_ + i);
      is_whole = next.lap == lap_of(read_ + i) && next.is_end == (i + 1 == slots);
    }
    if (!is_whole) {
      ++malformed_;
      ++read_;
      continue;
    }
    for (std::size_t i = 0; i < slots; ++i) {
      const std::size_t begin = i * per_slot;
      const std::size_t bytes = std::min(per_slot, head.length - begin);
      const std::size_t at = slot_at(at_, read_ + i, slot_bytes_);
      for (std::size_t done = 0, word = first_word(bytes, slot_bytes_); done < bytes; done += kWordBytes) {
        const std::uint64_t value = page_.word(at, word++).load(std::memory_order_relaxed);
        std::memcpy(into.data() + begin + done, &value, std::min(kWordBytes, bytes - done));
      }
    }
    read_ += slots;
    if (read_ - told_ >= kTellEvery) tell();
    if (!head.is_erroneous) return head;
    ++erroneous_;
  }
}

void MailboxReader::tell() noexcept {
  if (told_ == read_) return;
  told_ = read_;
  page_.word(read_word_).store(read_, std::memory_order_release);
}

}  // namespace stopbit::nic
