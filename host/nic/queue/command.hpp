#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "host/nic/names.hpp"

namespace stopbit::nic {

/// Commands of a port to its node. 0 is not a command, so unwritten memory has no effect.
enum class Operation : std::uint8_t {
  FastSend = 1,         ///< A message of up to 40 bytes, carried in the command.
  Send = 2,             ///< A message from registered memory.
  Put = 3,              ///< Registered memory into a window.
  ImmediatePut = 4,     ///< The word of the command into a window.
  NotificationPut = 5,  ///< The word of the command into a notification.
  Get = 6,              ///< From a window into registered memory.
  SendPart = 7,     ///< Up to 40 bytes of a message of up to 2048; the parts may come in any order (msg/combine.hpp).
  FetchAdd = 8,     ///< Adds to a 64-bit word of a window; gives back what it was.
  CompareSwap = 9,  ///< Changes a 64-bit word of a window if it is what was expected; gives back what it was.
  FetchCompareAdd = 10,  ///< Adds to a 32-bit word of a window if it is not above a limit; gives back what it is then.
  LockWindow = 11,       ///< From now on the window is refused to all other ports.
  UnlockWindow = 12,     ///< By its holder.
  Signal = 13,           ///< An event of the target's port.
  Fence = 14,            ///< No later transfer of this port starts before all earlier ones are carried out, anywhere.
  Swap = 15,             ///< Changes a 64-bit word of a window; gives back what it was.
  Synchronize = 16,      ///< A step at a lock, queue or semaphore (sync/word.hpp); gives back what its word was.
  PutWords = 17,         ///< Up to 24 bytes of the command into a window, all or some of them.
  GetWords = 18,         ///< Up to 24 bytes of a window into the notification.
};
inline constexpr Operation kLastOperation = Operation::GetWords;
[[nodiscard]] const char* to_text(Operation operation) noexcept;
/// Changes a word of a window, and gives back what it was or is.
[[nodiscard]] constexpr bool is_atomic(Operation operation) noexcept {
  return operation == Operation::FetchAdd || operation == Operation::CompareSwap ||
         operation == Operation::FetchCompareAdd || operation == Operation::Swap || operation == Operation::Synchronize;
}
/// Gives something of the target back to its origin.
[[nodiscard]] constexpr bool is_read(Operation operation) noexcept {
  return operation == Operation::Get || operation == Operation::GetWords || is_atomic(operation);
}

inline constexpr std::size_t kMaxFastBytes = 40;
inline constexpr std::size_t kPayloadAt = 16;  ///< Of a FastSend or SendPart, in the command.
inline constexpr std::size_t kMaxMessageBytes = 2048;
inline constexpr std::size_t kMaxTransferBytes = 1U << 20U;
inline constexpr std::size_t kMaxWordsBytes = 24;

/// What a Fence waits for.
enum class FenceOf : std::uint8_t {
  All = 0,
  Reads = 1,   ///< Gets and atomics.
  Writes = 2,  ///< Everything else.
};

/// Notifications, and options of a message.
enum Modifier : std::uint8_t {
  kNotifyRequester = 1,  ///< The origin, as soon as its memory may be used again.
  kNotifyCompleter = 2,  ///< The receiver of the data: the target of a put, the origin of a get.
  kNotifyResponder = 4,  ///< The target of a get or an atomic, when its memory has been read or changed.
  kAcknowledge = 8,      ///< The origin, when the target has done it, or refused.
  kHighPriority = 16,    ///< A message that low ones never hold up.
  kGroup = 32,           ///< The target port of a message is a group: everyone in it gets a copy.
  kAbort = 64,           ///< SendPart: the message ends here, cut short. Its receiver gets it as erroneous.
  kNotifyRefusal = 128,  ///< The origin, if the target refuses a transfer. Costs nothing if it does not.
};
inline constexpr std::uint8_t kAllMessageModifiers = 127;

/// A command: 64 bytes, one cache line. What a field means depends on the operation; unused ones are 0.
///
/// The bytes of a FastSend are bytes 16 to 55. The origin is not in it: whose page it lies in, is who it is from.
struct alignas(kLineBytes) Command {
  Operation operation = {};
  std::uint8_t modifiers = 0;
  std::uint16_t target_vpid = 0;
  NodeId target_node = 0;
  std::uint16_t window = 0;      ///< The target's, where there is one. FastSend: number of bytes, from 1.
  std::uint64_t tag = 0;         ///< The user's; comes back in every notification, and with a message its low byte.
                                 ///< PutWords of more than 16 bytes: the third word, and no tag.
  std::uint64_t capability = 0;  ///< The window's.
  std::uint64_t address = 0;  ///< Send, Put, Get: the origin's NLA. ImmediatePut, NotificationPut: the word. FetchAdd:
                              ///< what to add. CompareSwap: what is expected. FetchCompareAdd: the limit, signed.
                              ///< Swap: the new word. Synchronize: a SyncRequest. PutWords: the first word.
  std::uint64_t offset = 0;   ///< Into the target's window, in bytes.
  std::uint32_t length = 0;   ///< Send, Put, Get, PutWords, GetWords: in bytes, from 1.
  std::uint32_t mask = 0;     ///< PutWords: bits 0 to 23, the bytes that are left as they are; 24 to 31, the event.
  std::uint64_t more =
      0;  ///< CompareSwap: the new word. FetchCompareAdd: what to add, signed. Put, ImmediatePut, Signal: the event of
          ///< the target to signal after it; 0 for none. PutWords: the second word. Fence: a FenceOf.
  std::uint64_t number = 0;  ///< The valid word, stored last: the command's absolute number in its queue, plus 1.
};
static_assert(sizeof(Command) == kLineBytes);
static_assert(offsetof(Command, tag) == 8 && offsetof(Command, capability) == 16 && offsetof(Command, address) == 24);
static_assert(offsetof(Command, offset) == 32 && offsetof(Command, length) == 40 && offsetof(Command, number) == 56);

}  // namespace stopbit::nic
