#include "host/nic/msg/mailbox.hpp"

#include "host/nic/msg/slots.hpp"
#include "host/nic/protocol/protocol.hpp"

namespace stopbit::nic {
namespace {

constexpr std::size_t ring_at(Priority priority) noexcept {
  return priority == Priority::High ? PageLayout::kHighAt : PageLayout::kLowAt;
}
constexpr PageWord read_word(Priority priority) noexcept {
  return priority == Priority::High ? PageWord::HighRead : PageWord::LowRead;
}
constexpr std::size_t slot_at(std::size_t ring, std::uint64_t number, std::size_t slot_bytes) noexcept {
  return ring + number % PageLayout::kMailboxSlots * slot_bytes;
}

SlotPlace place_of_slot(const Page& page, std::size_t ring, std::uint64_t number, std::size_t slot_bytes) noexcept {
  return {static_cast<std::uint64_t*>(page.line(slot_at(ring, number, slot_bytes))), lap_of(number)};
}

}  // namespace

std::uint64_t to_word(const SlotStatus& status) noexcept {
  const MessageHead& head = status.head;
  return protocol::kVeloSlotNode.put(head.node) | protocol::kVeloSlotVpid.put(head.vpid) |
         protocol::kVeloSlotTag.put(head.tag) | protocol::kVeloSlotLength.put(head.length) |
         protocol::kVeloSlotKind.put(head.type) | protocol::kVeloSlotIsLast.put(status.is_end ? 1 : 0) |
         protocol::kVeloSlotErroneous.put(head.is_erroneous ? 1 : 0) | protocol::kVeloSlotLap.put(status.lap);
}

SlotStatus from_word(std::uint64_t word) noexcept {
  SlotStatus status;
  status.head.node = static_cast<NodeId>(protocol::kVeloSlotNode.of(word));
  status.head.vpid = static_cast<Vpid>(protocol::kVeloSlotVpid.of(word));
  status.head.tag = static_cast<std::uint8_t>(protocol::kVeloSlotTag.of(word));
  status.head.length = static_cast<std::uint16_t>(protocol::kVeloSlotLength.of(word));
  status.head.type = static_cast<std::uint8_t>(protocol::kVeloSlotKind.of(word));
  status.is_end = protocol::kVeloSlotIsLast.of(word) != 0;
  status.head.is_erroneous = protocol::kVeloSlotErroneous.of(word) != 0;
  status.lap = static_cast<std::uint8_t>(protocol::kVeloSlotLap.of(word));
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
  const std::size_t slots = slots_of(payload.size(), slot_bytes_);
  // The port's word lies in a line that the port writes: it is looked at only when that is needed.
  if (written_ - read_ > PageLayout::kMailboxSlots - slots && room() < slots) return false;
  write_slots(head, payload, slot_bytes_,
              [&](std::size_t i) { return place_of_slot(page_, at_, written_ + i, slot_bytes_); });
  written_ += slots;
  return true;
}

MailboxReader::MailboxReader(const Page& page, Priority priority) noexcept
    : page_(page),
      at_(ring_at(priority)),
      read_word_(read_word(priority)),
      slot_bytes_(valid_slot_bytes(page.word(PageWord::SlotBytes).load(std::memory_order_relaxed))) {}

std::optional<MessageHead> MailboxReader::poll(std::span<std::byte, kMaxMessageBytes> into) noexcept {
  for (;;) {
    const SlotsRead read =
        read_slots(slot_bytes_, into, [&](std::size_t i) { return place_of_slot(page_, at_, read_ + i, slot_bytes_); });
    switch (read.what) {
      case SlotsRead::What::Nothing: tell(); return std::nullopt;
      case SlotsRead::What::Malformed:
        ++malformed_;
        ++read_;
        continue;
      case SlotsRead::What::Message: break;
    }
    read_ += read.slots;
    if (read_ - told_ >= kTellEvery) tell();
    if (!read.head().is_erroneous) return read.head();
    ++erroneous_;
    cut_ = read.head();
  }
}

void MailboxReader::tell() noexcept {
  if (told_ == read_) return;
  told_ = read_;
  page_.word(read_word_).store(read_, std::memory_order_release);
}

}  // namespace stopbit::nic
