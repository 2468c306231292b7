// Any contents of a port's pages while its process reads them: mailboxes, notifications and events give out no
// more than there is, lengths lie within the longest message, commands go in or do not, and every call ends.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "host/nic/msg/mailbox.hpp"
#include "host/nic/notify/events.hpp"
#include "host/nic/notify/ring.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace {

using namespace stopbit::nic;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  PageMemory memory;
  const Page page = memory.page();
  memory.set_state(PortState::Enabled);
  page.word(PageWord::SlotBytes).store((data[0] & 1U) != 0 ? 128 : 64);
  std::array<MailboxReader, kPriorities> boxes{MailboxReader(page, Priority::Low), MailboxReader(page, Priority::High)};
  std::array<MailboxWriter, kPriorities> writers{MailboxWriter(page, Priority::Low, (data[0] & 1U) != 0 ? 128 : 64),
                                                 MailboxWriter(page, Priority::High, (data[0] & 1U) != 0 ? 128 : 64)};
  NotificationReader notifications(page);
  NotificationWriter teller(page);
  EventCounters events(page);
  EventSource source(page);
  std::size_t calls = 0;
  for (std::size_t event = 1; event < EventLayout::kEvents; event += 9) {
    events.arm(event, [&](std::size_t) { require(++calls <= 4096); });
  }
  const std::size_t slots = (data[0] & 1U) != 0 ? 128 : 64;
  // Chunks: a byte that says how long it is, a byte that says what it is for, and the chunk.
  for (std::size_t at = 1; at + 2 <= size;) {
    const std::size_t length = std::min<std::size_t>(data[at], size - at - 2);
    const std::uint8_t kind = data[at + 1];
    const std::uint8_t* const chunk = data + at + 2;
    at += 2 + length;
    if (kind % 4 == 0 && length > 2) {  // anything anywhere, but for the counts of events: those are the node's word
      const std::size_t where = (std::size_t{chunk[0]} << 8U | chunk[1]) % (PageLayout::kEventsAt - 256);
      std::memcpy(memory.span().data() + where, chunk + 2, length - 2);
    } else if (kind % 4 == 1 && length >= 8) {  // statuses of slots, one after another
      const std::size_t ring = (kind & 4U) != 0 ? PageLayout::kHighAt : PageLayout::kLowAt;
      for (std::size_t i = 0; i + 8 <= length; i += 8) {
        const std::size_t slot = (std::size_t{kind} / 8 + i / 8) % PageLayout::kMailboxSlots;
        std::memcpy(memory.span().data() + ring + slot * slots + slots - 8, chunk + i, 8);
      }
    } else if (kind % 4 == 2) {  // what an honest node writes, among all that
      MessageHead head;
      head.length = static_cast<std::uint16_t>(std::max<std::size_t>(length, 1));
      (void)writers[kind / 4 % kPriorities].put(
          head, std::as_bytes(std::span(data + at - length, head.length)).first(length == 0 ? 0 : head.length));
      Notification notification;
      notification.teller = Teller::Completer;
      (void)teller.put(notification);
      (void)source.signal(kind);
    } else {
      const std::array<Command, 3> commands = [&] {
        std::array<Command, 3> made;
        for (Command& command : made) command.operation = static_cast<Operation>(kind / 4 % 20);
        return made;
      }();
      for (const CommandRing ring : {CommandRing::Low, CommandRing::High, CommandRing::Transfer}) {
        const CommandQueue queue(page, ring);
        require(queue.insert(commands).accepted <= commands.size());
        const Issue whole = queue.insert_whole(commands);
        require(whole.accepted == 0 || whole.accepted == commands.size());
      }
    }
    std::array<std::byte, kMaxMessageBytes> into;
    for (MailboxReader& box : boxes) {
      for (std::size_t messages = 0; const auto head = box.poll(into); ++messages) {
        require(head->length >= 1 && head->length <= kMaxMessageBytes && !head->is_erroneous);
        require(messages <= 2 * PageLayout::kMailboxSlots);
      }
    }
    Notification notification;
    for (std::size_t told = 0; notifications.take(notification); ++told) {
      require(told <= PageLayout::kNotifications);
      (void)to_text(notification.teller);
      (void)to_text(notification.operation);
    }
    calls = 0;
    (void)events.dispatch();
    for (std::size_t event = 1; event < EventLayout::kEvents; event += 10) (void)events.poll(event);
  }
  return 0;
}
