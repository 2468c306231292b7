#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "decoder/record/layout.hpp"
#include "host/feed/arbitrate/account.hpp"
#include "host/feed/channel/datagram_decoder.hpp"
#include "host/feed/description/description.hpp"

namespace stopbit::appliance {

/// What no working card sends after what it has sent before.
enum class CardFault : std::uint8_t {
  None,
  Channel,   ///< A record of a channel that is not the card's.
  Template,  ///< One of a template that the image does not have.
  Event,     ///< An event of a kind that the card does not make, of an unknown error, or of several slots.
  Number,    ///< A record whose number is lower than the last one, or follows after too many without a record.
  Gap,       ///< A gap that does not come after the last number, or whose numbers have more than 32 bits.
};

/// Of a fault, for people: "a gap that ...". Empty for None.
[[nodiscard]] std::string_view describe(CardFault fault) noexcept;

/// A channel that a card receives, arbitrates and decodes: what feed::ChannelDecoder is for datagrams, this is for the
/// records and events that a card has made of them. Publishes them, keeps the account as far as records tell it, and
/// reports to the same watcher.
///
/// A datagram without messages leaves no record: its number is counted with the next record of the channel. Copies that
/// the card has dropped are known for the card only.
///
/// The card is not trusted: what it cannot have made (CardFault) is neither published nor counted here. It may have
/// said what became of some numbers, so those from the last number to the next one are then reported as a gap.
///
/// One thread; allocates nothing.
class CardChannel {
 public:
  /// Numbers in a row that pass without a record, at most: hours of a line with nothing but empty datagrams.
  static constexpr std::uint32_t kMostUnseen = 1U << 24;

  /// All references must outlive it. `stale_after` as in feed::DatagramDecoder. `templates`: how many the card's image
  /// has.
  CardChannel(const feed::Channel& description, const feed::Target& target, feed::Counts& counts,
              feed::Watcher& watcher, std::uint32_t stale_after, std::size_t templates);

  /// The next record of the channel, at least one slot. Valid during the call. `now_ns`: monotonic. @returns why it was
  /// not taken.
  CardFault take(std::span<const record::Slot> record, std::uint64_t now_ns) noexcept;

  /// Why it is not taken, whatever has come before it; nothing is changed.
  [[nodiscard]] CardFault fault_in_itself(std::span<const record::Slot> record) const noexcept;

  /// Before the first record: the number that another process delivered last. What is missing after it is a gap.
  void resume_after(std::uint32_t last) noexcept { known_ = last; }

  /// Software had the channel and has delivered this number last, in this epoch: the card goes on after it, in the run
  /// that has `sender_epoch` there. `is_sure`: the numbers up to its next record have passed without one; else they are
  /// lost.
  void go_on_after(std::uint32_t last, std::uint16_t epoch, std::uint16_t sender_epoch, bool is_sure) noexcept {
    has_begun_ = true;
    known_.reset();
    last_ = last;
    epoch_ = epoch;
    sender_epoch_ = sender_epoch;
    is_unsure_ = !is_sure;
    open_messages_ = 0;
  }

  /// Before another one goes on: if the last datagram has not come to its end, it counts as never come. @returns how
  /// many of its messages were published; 0: it has.
  std::uint32_t take_back() noexcept;

  /// Packets are first copies; packets.received those by the line that brought them.
  [[nodiscard]] const arbitrate::Account& account() const noexcept { return account_; }
  /// By line: the last number that it brought first, and when; the other members are 0.
  [[nodiscard]] const arbitrate::LineStats& line(std::size_t line) const noexcept { return lines_[line]; }
  [[nodiscard]] std::uint64_t gaps() const noexcept { return gaps_; }
  [[nodiscard]] bool has_numbers() const noexcept { return has_numbers_; }
  /// The last number of the present run; nothing before the first record, or if packets have none.
  [[nodiscard]] std::optional<std::uint32_t> last() const noexcept {
    return has_numbers_ && has_begun_ ? std::optional(last_) : std::nullopt;
  }
  [[nodiscard]] std::uint16_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] feed::Quality quality() const noexcept { return health_.quality(); }

 private:
  [[nodiscard]] CardFault fault_of(std::span<const record::Slot> record) const noexcept;
  [[nodiscard]] bool can_follow(const record::Slot& first) const noexcept;
  [[nodiscard]] bool can_follow_gap(const record::Slot& first) const noexcept;
  void begin_run(const record::Slot& first, std::uint32_t sequence) noexcept;
  void go_on_after_known(std::uint32_t sequence, std::uint64_t arrival_ns, std::uint64_t now_ns) noexcept;
  void note_number(const record::Slot& first, std::uint64_t now_ns) noexcept;
  void take_gap(const record::Slot& first, std::uint64_t now_ns) noexcept;
  void take_event(const record::Slot& first) noexcept;
  void lose(std::uint32_t first, std::uint32_t count, arbitrate::GapReason reason, std::uint64_t arrival_ns,
            std::uint64_t now_ns) noexcept;
  void publish(std::span<const record::Slot> record) noexcept;
  void note_success(const PacketInfo& info) noexcept;
  [[nodiscard]] PacketInfo info_of(const record::Slot& first) const noexcept;

  const feed::Channel& description_;
  const bool has_numbers_;
  const std::size_t templates_;
  const feed::Target& target_;
  feed::Counts& counts_;
  feed::Watcher& watcher_;
  feed::DecodeHealth health_;
  arbitrate::Account account_;
  std::array<arbitrate::LineStats, 2> lines_{};
  std::uint64_t gaps_ = 0;
  std::optional<std::uint32_t> known_;
  bool has_begun_ = false;
  bool is_unsure_ = false;  ///< After a fault: what became of the numbers after last_ is not known.
  std::uint32_t last_ = 0;
  std::uint8_t last_line_ = 0;
  std::uint32_t open_messages_ = 0;  ///< Of the last datagram, while more may come; 0: it is complete.
  std::uint16_t epoch_ = 0;          ///< Counts runs, as software does.
  std::uint16_t sender_epoch_ = 0;   ///< As the card counts them.
};

}  // namespace stopbit::appliance
