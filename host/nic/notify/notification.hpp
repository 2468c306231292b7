#pragma once

#include <cstddef>
#include <cstdint>

#include "host/nic/error.hpp"
#include "host/nic/names.hpp"
#include "host/nic/queue/command.hpp"

namespace stopbit::nic {

/// The unit that notifies. Its meaning depends on the operation; `Command` modifiers choose them independently.
enum class Teller : std::uint8_t {
  Requester = 1,    ///< The origin's memory may be used again, or its command was refused at home.
  Completer = 2,    ///< Data have arrived here: of a put at its target, of a get or an atomic at its origin.
  Responder = 3,    ///< Memory here was read, or changed, for another.
  Acknowledge = 4,  ///< The target has carried out the command, or refused it: `error`.
  Supervisor = 5,   ///< The node reports on itself, e.g. dropped messages.
};
[[nodiscard]] const char* to_text(Teller teller) noexcept;

/// A notification: 64 bytes in the port's notification ring (PageLayout::kNotificationsAt).
struct alignas(kLineBytes) Notification {
  Teller teller = {};
  Operation operation = {};  ///< Of the command that this is about.
  Error error = Error::None;
  std::uint8_t success = 0;  ///< Atomics: 1 if the word was changed.
  NodeId node = 0;           ///< The other side,
  Vpid vpid = 0;             ///< and its port.
  std::uint64_t tag = 0;     ///< Of the command.
  std::uint64_t value = 0;   ///< The word of an ImmediatePut, NotificationPut or PutWords; what an atomic gives back;
                             ///< the first word of a GetWords,
  std::uint64_t offset = 0;  ///< In the window.
  std::uint32_t length = 0;  ///< In bytes.
  std::uint16_t window = 0;
  std::uint16_t reserved = 0;
  std::uint64_t more[2] = {};  ///< and the others.
  std::uint64_t number = 0;    ///< Stored last: absolute number in this ring, plus 1.
};
static_assert(sizeof(Notification) == kLineBytes && offsetof(Notification, number) == 56);

/// Whether it reports a command of the port that reads it. Otherwise it reports an operation of another port, which has
/// chosen tag and word: check this before matching an answer by its tag.
[[nodiscard]] constexpr bool is_of_own_command(const Notification& notification) noexcept {
  const Teller teller = notification.teller;
  return teller == Teller::Requester || teller == Teller::Acknowledge ||
         (teller == Teller::Completer && is_read(notification.operation));
}

}  // namespace stopbit::nic
