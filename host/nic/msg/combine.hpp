#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/nic/error.hpp"
#include "host/nic/queue/command.hpp"

namespace stopbit::nic {

/// A part of a message, in the tag of a SendPart command: from bit 0: tag 8, number of the message 8, place of the part
/// in it 12 (bytes), length of the message 12, type 2. The command's `window` is the length of the part, 1 to 40; all
/// parts but the last have 40 bytes, or another multiple of 8.
struct PartHead {
  std::uint8_t tag = 0;
  std::uint8_t message = 0;  ///< The sender's number, the same in all its parts.
  std::uint16_t offset = 0;  ///< A multiple of 8.
  std::uint16_t total = 0;   ///< In the part with offset 0; those of the others are not looked at.
  std::uint8_t type = 0;
};
[[nodiscard]] std::uint64_t to_tag(const PartHead& part) noexcept;
[[nodiscard]] PartHead part_of(std::uint64_t tag) noexcept;

/// A message whose parts are all there, or that was cut short.
struct Combined {
  Command header;  ///< The command with offset 0: target and modifiers of the message. Of one that its sender cut
                   ///< before that came: the command that cut it.
  PartHead part;
  std::span<const std::byte> payload;  ///< Valid until the next call. Cut: what came, zeros in its gaps.
  bool is_cut = false;
};

/// Puts messages together from parts that come in any order, the first one not necessarily first: the write-combining
/// buffer of EXTOLL, one per port. Two messages may be under way at once; their numbers distinguish them.
///
/// With the fixes that its description lacks: each 8 bytes come once, a part that does not fit its message is refused
/// and spoils it, a message that is not complete after `patience_ns` gives its place to the next one, and its sender
/// may cut it short (kAbort).
class WriteCombiner {
 public:
  explicit WriteCombiner(std::uint64_t patience_ns) noexcept : patience_ns_(patience_ns) {}

  struct Outcome {
    Error error = Error::None;
    std::optional<Combined> message;
  };
  [[nodiscard]] Outcome take(const Command& command, std::uint64_t now_ns) noexcept;
  /// Removes and returns a message that was not completed in time. Nothing if there is none with a known target. Call
  /// it repeatedly before `take`, which drops them silently.
  [[nodiscard]] std::optional<Combined> expire(std::uint64_t now_ns) noexcept;
  /// The same, of any age.
  [[nodiscard]] std::optional<Combined> give_up() noexcept;
  /// When the oldest message under way will have lasted too long; nothing if there is none.
  [[nodiscard]] std::optional<std::uint64_t> expires_ns() const noexcept;
  /// Messages that were given up because parts of them did not come, or were wrong, or their sender cut them.
  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_; }

 private:
  static constexpr std::size_t kSlots = 2;
  static constexpr std::size_t kWords = kMaxMessageBytes / 8;

  struct Slot {
    bool is_used = false;
    std::uint8_t message = 0;
    std::uint16_t total = 0;  ///< 0: not known yet.
    std::uint16_t words = 0;  ///< That have come.
    std::uint64_t since_ns = 0;
    Command header;
    std::array<std::uint64_t, kWords / 64> here{};  ///< Bit i: word i has come.
    std::array<std::byte, kMaxMessageBytes> bytes;
    std::uint16_t end = 0;  ///< The furthest byte that has come.
  };

  [[nodiscard]] Slot* slot_for(std::uint8_t message, std::uint64_t now_ns) noexcept;
  Outcome refuse(Slot& slot, Error error) noexcept;
  /// What there is of it; the slot is free then.
  [[nodiscard]] Combined cut(Slot& slot, const Command& header) noexcept;
  template <class IsOver>
  [[nodiscard]] std::optional<Combined> give_up_if(const IsOver& is_over) noexcept;

  std::uint64_t patience_ns_;
  std::uint64_t given_up_ = 0;
  std::array<Slot, kSlots> slots_;
};

}  // namespace stopbit::nic
