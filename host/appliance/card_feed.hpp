#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "decoder/record/views.hpp"
#include "host/appliance/card_channel.hpp"
#include "host/appliance/counter_set.hpp"
#include "host/appliance/live_channel.hpp"
#include "host/device/live_card.hpp"

namespace stopbit::appliance {

/// A card that receives from its own port, for the thread of its channels: gives them its records, watches that it goes
/// on, and counts what it does. When it fails, it is left for good, and software goes on. So it is after kMostFaults
/// records and events that no working card sends (CardFault).
///
/// Polling a quiet card reads memory only. Its registers are looked at in turns without records, ten times a second, or
/// once a second if there are always records: a step of LiveCard::look a turn, so that records do not wait for 70
/// reads. A thread that sleeps between its turns does all steps in one.
class CardFeed {
 public:
  static constexpr std::uint64_t kMostFaults = 16;

  CardFeed(std::unique_ptr<device::LiveCard> card, const PortCounterSet& port, const CardCounterSet& counter_set)
      : card_(std::move(card)), port_(port), counter_set_(counter_set) {}

  /// At set-up: gives it the channel.
  void add(LiveChannel& channel) {
    channels_.at(channel.number()) = &channel;
    channel.give_to_card(card_->templates());
  }
  /// At set-up, as the last step: the card receives from now on.
  [[nodiscard]] Status begin();

  // For the thread of its channels.

  /// Whether its channels have this output.
  [[nodiscard]] bool is_of(const RecordOutput& output) const noexcept {
    return std::any_of(channels_.begin(), channels_.end(),
                       [&](const LiveChannel* channel) { return channel != nullptr && &channel->output() == &output; });
  }
  /// Whether it still brings records.
  [[nodiscard]] bool is_live() const noexcept { return state_.load(std::memory_order_relaxed) == State::Live; }
  /// Takes at most `most` records; `took(channel, record)` is called after each. @returns how many there were.
  template <class Took>
  std::size_t poll(std::size_t most, const Took& took) noexcept {
    std::size_t count = 0;
    for (; count < most && faults_ < kMostFaults; ++count) {
      const ring::Poll poll = card_->poll();
      if (poll == ring::Poll::Nothing) break;
      if (poll != ring::Poll::Record) {
        fail(card_->problem());
        break;
      }
      const record::HeaderView header(card_->record()[0]);
      LiveChannel* const channel = header.channel() < channels_.size() ? channels_[header.channel()] : nullptr;
      const CardFault fault = channel == nullptr ? CardFault::Channel : channel->take(card_->record());
      if (fault != CardFault::None) {
        note(fault);
      } else {
        took(*channel, header);
      }
    }
    return count;
  }
  /// How many records can wait in memory.
  [[nodiscard]] std::uint64_t room() const noexcept { return card_->room(); }
  /// Once a turn: looks at the registers if that is due. `is_quiet`: this turn has brought no record.
  void look(std::uint64_t now_ns, bool is_quiet) noexcept;
  /// A port of the host has received a datagram of one of the channels: so should the card.
  void note_beside(std::uint64_t now_ns) noexcept;
  /// Something else makes the card useless: an image or a channel changes.
  void retire(std::string why) noexcept {
    if (is_live()) fail(std::move(why));
  }
  /// At the end: the card receives no more, and its counters are final. What it has decoded can still be polled.
  void finish(std::uint64_t now_ns) noexcept;
  /// Software has gone on, with this many datagrams of the recorder.
  void left(std::uint64_t recalled) noexcept;

  // For another thread.

  /// Once software goes on: why, and with how many datagrams of the recorder; else, and after that, empty.
  [[nodiscard]] std::string take_failure();
  /// Once the card has sent what no working card sends: what that was; else, and after that, empty.
  [[nodiscard]] std::string take_fault();

 private:
  enum class State : std::uint8_t { Live, Failed, Left };
  void fail(std::string why) noexcept;
  void note(CardFault fault) noexcept;
  void watch(std::uint64_t now_ns) noexcept;
  void serve(std::uint64_t now_ns, bool is_slow) noexcept;
  void publish() const noexcept;

  static constexpr std::uint64_t kLookNs = 100'000'000;
  static constexpr std::uint64_t kLatestLookNs = 1'000'000'000;
  static constexpr std::uint64_t kSlowTurnNs = 1'000'000;
  /// For this long the ports have brought datagrams of which the card has nothing.
  static constexpr std::uint64_t kDeafNs = 1'000'000'000;

  std::unique_ptr<device::LiveCard> card_;
  const PortCounterSet& port_;
  const CardCounterSet& counter_set_;
  std::array<LiveChannel*, device::kChannels> channels_{};  ///< By number; null: not the card's.
  std::uint64_t last_look_ns_ = 0;
  std::uint64_t last_turn_ns_ = 0;
  // Datagrams beside the card since it decoded something.
  std::uint64_t decoded_ = 0;
  std::uint64_t beside_ = 0;
  std::uint64_t first_beside_ns_ = 0;
  std::uint64_t last_beside_ns_ = 0;
  std::uint64_t recalled_ = 0;
  std::uint64_t faults_ = 0;
  std::atomic<CardFault> first_fault_ = CardFault::None;
  bool has_told_fault_ = false;
  std::string problem_;  ///< Does not change once state_ is Failed.
  std::atomic<State> state_ = State::Live;
  bool has_told_ = false;
};

}  // namespace stopbit::appliance
