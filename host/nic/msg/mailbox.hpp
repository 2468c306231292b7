#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/nic/queue/command.hpp"
#include "host/nic/queue/page.hpp"

/// Mailboxes: the rings of a port in which its node puts messages (message unit, second release, of EXTOLL).
///
/// A slot has 64 or 128 bytes; its last word is the status, stored last. The bytes of a message fill slot after slot;
/// in the last one they are at its end, directly before the status, so that a short message is one short write. A
/// partial word is padded with zeros.
namespace stopbit::nic {

enum class Priority : std::uint8_t { Low = 0, High = 1 };
inline constexpr std::size_t kPriorities = 2;

/// What a port learns about a message besides its bytes.
struct MessageHead {
  NodeId node = 0;            ///< The sender; set by the nodes, not by the sender itself.
  Vpid vpid = 0;              ///< Its port.
  std::uint8_t tag = 0;       ///< The sender's.
  std::uint8_t type = 0;      ///< 0 to 3, the sender's.
  std::uint16_t length = 0;   ///< 1 to kMaxMessageBytes.
  bool is_erroneous = false;  ///< Its sender began it and did not finish it.
};

/// The status word of a slot, as it lies in memory. From bit 0: node 16, port 16, tag 8, length of the message 12, type
/// 2, end of message 1, erroneous 1, lap 8. The lap is 1 to 255 and changes each time around, so that slots need not be
/// cleared: a status of the previous lap, or 0, is not valid.
struct SlotStatus {
  MessageHead head;
  bool is_end = false;
  std::uint8_t lap = 0;
};
[[nodiscard]] std::uint64_t to_word(const SlotStatus& status) noexcept;
[[nodiscard]] SlotStatus from_word(std::uint64_t word) noexcept;
/// Of slot `number`, counted from the first message on.
[[nodiscard]] constexpr std::uint8_t lap_of(std::uint64_t number) noexcept {
  return static_cast<std::uint8_t>(number / PageLayout::kMailboxSlots % 255 + 1);
}

/// 64 or 128; anything else is taken for 64.
[[nodiscard]] constexpr std::size_t valid_slot_bytes(std::uint64_t bytes) noexcept {
  return bytes == 128 ? 128 : 64;
}
[[nodiscard]] constexpr std::size_t slots_of(std::size_t length, std::size_t slot_bytes) noexcept {
  return length <= slot_bytes - 8 ? 1 : (length + slot_bytes - 9) / (slot_bytes - 8);
}

/// The node's side. One thread. What the port says about how far it has read is believed only within the ring.
class MailboxWriter {
 public:
  MailboxWriter(const Page& page, Priority priority, std::size_t slot_bytes) noexcept;

  /// Puts the message in, whole; false if there is no room for all of it, then nothing is written. `payload` has
  /// head.length bytes.
  [[nodiscard]] bool put(const MessageHead& head, std::span<const std::byte> payload) noexcept;
  /// Slots that may be written now.
  [[nodiscard]] std::size_t room() noexcept;
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }

 private:
  Page page_;
  std::size_t at_;
  PageWord read_word_;
  std::size_t slot_bytes_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;  ///< As the port's page had it at the last look.
};

/// The port's side. One thread. It writes nothing but how far it has read, and that lazily.
class MailboxReader {
 public:
  MailboxReader(const Page& page, Priority priority) noexcept;

  /// Copies the next message to `into`, which has room for kMaxMessageBytes; nothing if there is none. Messages that
  /// are erroneous are left out and counted. Polls one word, which stays in the cache until the node writes it.
  [[nodiscard]] std::optional<MessageHead> poll(std::span<std::byte, kMaxMessageBytes> into) noexcept;
  [[nodiscard]] std::uint64_t erroneous() const noexcept { return erroneous_; }
  /// The last erroneous message: whose it was; of its bytes nothing is kept.
  [[nodiscard]] const std::optional<MessageHead>& cut() const noexcept { return cut_; }
  /// Messages that were no messages: a node that writes nonsense.
  [[nodiscard]] std::uint64_t malformed() const noexcept { return malformed_; }

 private:
  static constexpr std::uint64_t kTellEvery = PageLayout::kMailboxSlots / 4;

  void tell() noexcept;

  Page page_;
  std::size_t at_;
  PageWord read_word_;
  std::size_t slot_bytes_;
  std::uint64_t read_ = 0;
  std::uint64_t told_ = 0;
  std::uint64_t erroneous_ = 0;
  std::uint64_t malformed_ = 0;
  std::optional<MessageHead> cut_;
};

}  // namespace stopbit::nic
