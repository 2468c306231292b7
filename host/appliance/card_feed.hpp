#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "decoder/record/views.hpp"
#include "host/appliance/card_channel.hpp"
#include "host/appliance/counter_set.hpp"
#include "host/appliance/live_channel.hpp"
#include "host/device/live_card.hpp"

namespace stopbit::appliance {

/// A card that receives from its own port, for the thread of its channels: gives them its records, watches that it goes
/// on, and counts what it does. When it fails, it is left, and software goes on. So it is after kMostFaults records and
/// events that no working card sends (CardFault).
///
/// Another thread may bring the card back, set up anew (come_back). Then its records run beside software, and each
/// channel changes over where the numbers show that nothing is missing and nothing comes twice: at the first datagram
/// beyond software's last one, if it is the next one, or the card has brought one that software has brought as well. A
/// record that is ahead of software waits for it, and what comes after it waits, too, but no longer than kWaitNs.
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
    ++channels_on_card_;
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
  /// Whether it still brings records, those of this turn included.
  [[nodiscard]] bool has_turn() const noexcept { return is_live() && !is_new_; }
  /// Whether it still brings records.
  [[nodiscard]] bool is_live() const noexcept { return state_.load(std::memory_order_acquire) == State::Live; }
  /// At the beginning of a turn, before the ports are read: what a card that has come back is compared with.
  void begin_turn() noexcept {
    if (!is_live() || !std::exchange(is_new_, false)) return;
    for (LiveChannel* const channel : channels_) {
      if (channel != nullptr) channel->card_is_back();
    }
  }
  /// Of a turn of the thread, monotonic: when it began, and up to where every port had been read before.
  struct Turn {
    std::uint64_t now_ns = 0;
    std::uint64_t read_until_ns = 0;
  };
  /// Takes at most `most` records; `took(channel, record)` is called after each. @returns how many there were.
  template <class Took>
  std::size_t poll(std::size_t most, const Turn& turn, const Took& took) noexcept {
    std::size_t count = 0;
    if (is_live() && is_over_.load(std::memory_order_relaxed)) {
      fail("its channels, or their image, have changed while it came back");
      faults_ = kMostFaults;  // nothing of it is taken
      return 0;
    }
    for (; count < most && faults_ < kMostFaults; ++count) {
      const ring::Poll poll = std::exchange(is_waiting_, false) ? ring::Poll::Record : card_->poll();
      if (poll == ring::Poll::Nothing) {
        waits_since_ns_.reset();
        break;
      }
      if (poll != ring::Poll::Record) {
        fail(card_->problem());
        break;
      }
      const record::HeaderView header(card_->record()[0]);
      LiveChannel* const channel = header.channel() < channels_.size() ? channels_[header.channel()] : nullptr;
      if (channel != nullptr && !channel->is_on_card()) {
        const LiveChannel::Offer offer = offer_to(*channel, turn);
        is_waiting_ = offer == LiveChannel::Offer::Waits;
        if (is_waiting_) break;
        if (offer == LiveChannel::Offer::Passed) {
          if (channel->is_on_card()) took(*channel, header);
          continue;
        }
      }
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
    is_over_.store(true, std::memory_order_relaxed);
    if (is_live()) return fail(std::move(why));
    channels_ = {};  // they may end
  }
  /// At the end: the card receives no more, and its counters are final. What it has decoded can still be polled.
  void finish(std::uint64_t now_ns) noexcept;
  /// Software has gone on, with this many datagrams of the recorder.
  void left(std::uint64_t recalled) noexcept;

  // For another thread.

  /// Software has the channels, and the card may come back.
  [[nodiscard]] bool is_missed() const noexcept {
    return state_.load(std::memory_order_acquire) == State::Left && !is_over_.load(std::memory_order_relaxed);
  }
  /// Software has the channels, and the card does not come back: its channels, or their image, have changed.
  [[nodiscard]] bool is_over() const noexcept {
    return state_.load(std::memory_order_acquire) == State::Left && is_over_.load(std::memory_order_relaxed);
  }
  /// While it is missed: the card as it was is given up, before it is set up anew.
  void give_up() noexcept { card_.reset(); }
  /// While it is missed: the card receives again.
  void come_back(std::unique_ptr<device::LiveCard> card) noexcept;
  /// Once software goes on: why, and with how many datagrams of the recorder; else, and after that, empty.
  [[nodiscard]] std::string take_failure();
  /// Once the card has sent what no working card sends: what that was; else, and after that, empty.
  [[nodiscard]] std::string take_fault();

 private:
  enum class State : std::uint8_t { Live, Failed, Left };
  void fail(std::string why) noexcept;
  [[nodiscard]] LiveChannel::Offer offer_to(LiveChannel& channel, const Turn& turn) noexcept;
  void note(CardFault fault) noexcept;
  void watch(std::uint64_t now_ns) noexcept;
  void serve(std::uint64_t now_ns, bool is_slow) noexcept;
  void publish() const noexcept;

  static constexpr std::uint64_t kLookNs = 100'000'000;
  static constexpr std::uint64_t kLatestLookNs = 1'000'000'000;
  /// For this long a record of a card that is back waits for software to come up to it.
  static constexpr std::uint64_t kWaitNs = 100'000'000;
  static constexpr std::uint64_t kSlowTurnNs = 1'000'000;
  /// For this long the ports have brought datagrams of which the card has nothing.
  static constexpr std::uint64_t kDeafNs = 1'000'000'000;

  std::unique_ptr<device::LiveCard> card_;
  const PortCounterSet& port_;
  const CardCounterSet& counter_set_;
  std::array<LiveChannel*, device::kChannels> channels_{};  ///< By number; null: not the card's.
  std::size_t channels_on_card_ = 0;
  bool is_new_ = false;      ///< It has come back since the last turn.
  bool is_waiting_ = false;  ///< The record that was polled last waits for software.
  /// Since then a record has waited, or those that came meanwhile are taken.
  std::optional<std::uint64_t> waits_since_ns_;
  // Of the card before it has come back.
  device::Counters counters_before_;
  device::StationCounters station_before_;
  std::uint64_t jumps_before_ = 0;
  std::uint64_t recalled_before_ = 0;
  std::uint64_t faults_before_ = 0;
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
  std::atomic<bool> is_over_ = false;  ///< It does not come back: its channels, or their image, have changed.
};

}  // namespace stopbit::appliance
