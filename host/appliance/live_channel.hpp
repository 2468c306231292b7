#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>

#include "host/appliance/agent_event.hpp"
#include "host/appliance/card_channel.hpp"
#include "host/appliance/counter_set.hpp"
#include "host/appliance/error_sample.hpp"
#include "host/appliance/known_runs.hpp"
#include "host/appliance/record_output.hpp"
#include "host/appliance/recording.hpp"
#include "host/appliance/refill/link.hpp"
#include "host/feed/channel/channel_decoder.hpp"
#include "host/feed/description/description.hpp"
#include "host/os/spsc_queue.hpp"

namespace stopbit::appliance {

/// What a channel shares with the others of its thread.
struct Shared {
  os::SpscQueue<AgentEvent>& notices;
  os::SpscQueue<ErrorSample>& error_samples;
  const AgentCounterSet& counter_set;
  feed::ChannelOptions channel_options;
  std::uint64_t datagrams = 0;        ///< Of all channels: numbers the packets.
  std::uint64_t now_ns = 0;           ///< Monotonic: when the present batch was taken.
  std::uint64_t read_until_ns = 0;    ///< The same: up to where the turn before had read every live port.
  std::uint64_t dropped_here_ns = 0;  ///< The same of the last drop by card or kernel on the ports of the thread.
  /// When the thread did not run, the latest ones.
  struct Stall {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
  };
  std::array<Stall, 16> stalls{};
  std::size_t stall_count = 0;
  bool is_live = true;                     ///< Arrivals are of this time; else those of a capture.
  std::uint64_t newest_ns = 0;             ///< Arrival of the datagram that came last.
  recorder::Recorder* recorder = nullptr;  ///< Null: nothing is recorded.
};

/// One channel of a live feed: the decoder that replays use too, and what people learn of it: counters, notices,
/// samples of errors, and packets on disk that stay because of a gap. One thread; allocates when it is made, never
/// later.
class LiveChannel final : private feed::Watcher {
 public:
  /// `index` names it in notices. The output and what is shared must outlive it. The counter set is ready.
  LiveChannel(const feed::Channel& description, std::uint32_t index, RecordOutput& output,
              const ChannelCounterSet& counter_set, Shared& shared, KnownRun* run);

  [[nodiscard]] feed::ChannelDecoder& decoder() noexcept { return decoder_; }

  // A card that receives the channel from its own port. Until it is left, datagrams of the ports go nowhere but to the
  // recorder, and the decoder waits.

  /// At set-up, after resume_after. `templates`: how many the card's image has.
  void give_to_card(std::size_t templates) {
    card_.emplace(description_, target_, counts_, static_cast<feed::Watcher&>(*this),
                  shared_.channel_options.stale_after, templates);
    if (known_) card_->resume_after(*known_);
  }
  [[nodiscard]] bool is_on_card() const noexcept { return card_.has_value() && !has_left_card_; }
  /// Whether it was given to a card, which may have left it.
  [[nodiscard]] bool has_card() const noexcept { return card_.has_value(); }
  /// The card brings records again, beside software.
  void card_is_back() noexcept {
    epoch_at_return_ = decoder_.arbiter().epoch();
    overlaps_in_.reset();  // of a card that failed before it had the channel
    beside_.reset();
  }
  /// What becomes of a record of a card that has come back, while software has the channel.
  enum class Offer : std::uint8_t {
    Passed,  ///< Software has it, or will have it. The channel is on the card if this was software's last one.
    Waits,   ///< It is ahead of software, and the card does not have everything in between.
    Taken,   ///< The channel is on the card from here on; the record has yet to be taken.
    Wrong,   ///< It has a fault: `take` says which, and changes nothing.
  };
  /// What is to be done with a record that would wait.
  enum class Patience : std::uint8_t {
    Wait,  ///< Software may come up to it.
    Pass,  ///< It does not, but hears the channel: it goes on, and may come up to a later one.
    Lose,  ///< It does not, and hears nothing: what is missing is a gap.
  };
  [[nodiscard]] Offer offer(std::span<const record::Slot> record, Patience patience) noexcept;
  /// Whether a datagram has come after a batch at this time.
  [[nodiscard]] bool was_heard_after(std::uint64_t now_ns) const noexcept {
    return std::max(heard_ns_[0], heard_ns_[1]) > now_ns;
  }
  /// A record that the card has made. @returns why it was not taken.
  CardFault take(std::span<const record::Slot> record) noexcept { return card_->take(record, shared_.now_ns); }
  /// A datagram of a port, while the channel is on the card: what only its preamble tells is kept.
  void note_beside_card(std::span<const std::byte> datagram) noexcept;
  /// Software goes on after the last number that the card has brought.
  void leave_card() noexcept;
  /// After that, until `end_recall`: whether the card has not brought this datagram.
  [[nodiscard]] bool is_after_card(std::span<const std::byte> datagram) const noexcept;
  void end_recall() noexcept { has_just_left_ = false; }

  /// The end has come: the counters are final.
  void finish() noexcept;
  /// A datagram of the line was taken, in the present batch. `t_ns`: its time on the timeline of its port.
  void note_arrival(arbitrate::Line line, std::uint64_t t_ns) noexcept {
    heard_ns_[static_cast<std::size_t>(line)] = shared_.now_ns;
    newest_t_ns_ = std::max(newest_t_ns_, t_ns);  // of two ports neither is ahead for sure
  }
  /// Keeps the number that was delivered last, for the time after this process.
  void remember() noexcept;
  /// While the thread runs: its counters begin at 0. `before`: the channel of its name that has finished, or null;
  /// `goes_on`: its numbers and its dictionary are those of that one.
  void begin(const LiveChannel* before, bool goes_on) noexcept;
  /// From now on the lines have other groups or sources; which lines exist does not change.
  void set_lines(const std::array<std::optional<feed::Line>, 2>& lines) noexcept { description_.lines = lines; }
  /// It is not received any more: what its books had is not true for long.
  void leave() noexcept;
  [[nodiscard]] RecordOutput& output() const noexcept { return output_; }
  [[nodiscard]] std::uint16_t number() const noexcept { return description_.number; }
  [[nodiscard]] const feed::Channel& description() const noexcept { return description_; }
  /// At set-up: see feed::ChannelDecoder::resume_after.
  void resume_after(std::uint64_t sender, std::uint64_t last) noexcept {
    decoder_.resume_after(sender, last);
    known_ = static_cast<std::uint32_t>(last);
  }
  /// At set-up: its books were taken over from another process, which had them of this sender.
  void expect_sender(std::uint64_t sender) noexcept { books_sender_ = sender; }
  /// At set-up: lost messages are asked for by that way, where the channel is `key`.
  void ask_by(ReplayLink& link, std::uint32_t key) noexcept {
    link_ = &link;
    key_ = key;
  }
  /// Lost messages of the present run, as on the wire, whose replay the books want.
  void want(std::uint64_t first, std::uint64_t last) noexcept;
  /// What is wanted may be wanted no more.
  void look_if_healed() noexcept;
  /// A replay service has sent it. False: it is of no use.
  bool recover(const ReplayAnswer& answer) noexcept;
  /// A gap of this channel has done that to books.
  void tell(const market::LossEffect& effect) noexcept;
  /// Brings the counters up to date. What needs no packet to change is in them, too.
  void publish(std::uint64_t now_ns) noexcept;

  // For the thread.
  RecordLines record_as = {kNotRecorded, kNotRecorded};
  std::uint32_t place = 0;  ///< In the roster of its agent.
  bool is_dirty = false;    ///< Its counters are out of date.

 private:
  void decode_error(const Outcome& outcome, const PacketInfo& info,
                    std::span<const std::byte> datagram) noexcept override;
  void malformed(const Outcome& outcome, const PacketInfo& info, std::span<const std::byte> datagram) noexcept override;
  void stale(ErrorCode code, std::uint32_t datagrams, const PacketInfo& info) noexcept override;
  void recovered(const PacketInfo& info) noexcept override;
  void gap(const arbitrate::Gap& gap) noexcept override;
  void run_begins(const arbitrate::NewRun& run, bool is_reset) noexcept override;
  void late(const arbitrate::Packet& packet, std::uint64_t late_ns) noexcept override;
  void conflict(const arbitrate::Conflict& conflict) noexcept override;

  void return_to_card(const record::HeaderView& first, std::optional<std::uint32_t> last, bool is_sure) noexcept;
  [[nodiscard]] bool is_of_run_beside(std::uint16_t epoch_of_card) noexcept;
  /// The number that comes next, of the card or of software; nothing before the first one.
  [[nodiscard]] std::optional<std::uint64_t> next_sequence() const noexcept;
  [[nodiscard]] arbitrate::Account account() const noexcept;
  void publish_line(std::size_t line, const arbitrate::Account& account) noexcept;

  void note_error(const Outcome& outcome, const PacketInfo& info, std::span<const std::byte> datagram) noexcept;
  void keep_error_sample(const counters::ErrorFact& fact, std::uint32_t data_offset,
                         std::span<const std::byte> datagram) noexcept;

  /// A gap of which numbers may still come, and what has come.
  struct RememberedGap {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint16_t epoch = 0;
    std::uint64_t late = 0;       ///< Numbers that came too late.
    std::uint64_t told_late = 0;  ///< Of these, in notices.
    std::uint64_t late_by_ns = 0;
    std::uint64_t replayed = 0;  ///< Numbers that a replay service has brought.
    std::uint64_t told_replayed = 0;
    // What came, so that no number is counted twice: one bit each for the first, then the next one beyond them.
    std::bitset<512> came = {};
    std::uint64_t beyond = 0;
    // Of the number in several chunks that is coming.
    std::uint64_t chunked = 0;
    std::uint64_t chunks = 0;  ///< A bit per chunk.
    [[nodiscard]] bool is_new(std::uint64_t at, const net::Preamble& preamble) noexcept;
  };
  void tell_late(RememberedGap& gap) noexcept;
  void tell_replayed(std::uint64_t now_ns) noexcept;
  void freeze() noexcept;
  [[nodiscard]] std::uint64_t stall_of(const arbitrate::Gap& gap) const noexcept;
  void watch_for_silence(const arbitrate::Account& account) noexcept;
  static constexpr std::uint64_t kTellReplayedNs = 100'000'000;
  static constexpr std::size_t kRememberedGaps = 16;
  /// Cards report drops a little later, and windows report the gap.
  static constexpr std::uint64_t kDropsExplainNs = 1'000'000'000;

  feed::Channel description_;  ///< Its own: the settings may change.
  std::uint32_t index_;
  RecordOutput& output_;
  const feed::Target& target_;
  const ChannelCounterSet counter_set_;
  Shared& shared_;
  feed::Counts counts_;
  feed::ChannelDecoder decoder_;
  std::optional<CardChannel> card_;  ///< Nothing: software decodes from the start.
  bool has_left_card_ = false;
  bool has_just_left_ = false;
  std::uint32_t messages_left_open_ = 0;  ///< Messages of the datagram after the card's last one that were published.
  std::uint16_t epoch_at_return_ = 0;     ///< Of software, when the card came back.
  std::optional<std::uint16_t> overlaps_in_;  ///< The card's numbers begin before software's last one, of this epoch.
  /// A run of the card, by its count, and the sender that software had when both had that run.
  struct Beside {
    std::uint16_t epoch_of_card = 0;
    std::uint64_t sender = 0;
  };
  std::optional<Beside> beside_;
  std::optional<std::uint32_t> known_;    ///< The last number of an earlier process.
  std::uint64_t sender_beside_card_ = 0;  ///< Of the datagram of a port that came last.
  std::array<RememberedGap, kRememberedGaps> gaps_{};
  std::size_t next_gap_ = 0;
  KnownRun* run_;  ///< Null: not kept.
  std::uint64_t remembered_ = ~std::uint64_t{0};
  std::uint64_t remembered_era_ = 0;
  std::optional<std::uint64_t> books_sender_;  ///< Of the books that were taken over.
  std::array<std::uint64_t, 3> heard_ns_{};    ///< Monotonic, by line.
  std::uint64_t newest_t_ns_ = 0;              ///< Of the datagram that came last, by which windows end.
  bool has_told_conflict_ = false;             ///< Of the present run.
  ReplayLink* link_ = nullptr;                 ///< Null: nothing is asked for.
  std::uint32_t key_ = 0;
  bool is_asking_ = false;  ///< Messages are wanted, as far as is known here.
  std::uint64_t told_replayed_ns_ = 0;
  // Packets come, and nothing is delivered.
  std::uint64_t last_delivered_ = 0;  ///< Packets.
  std::uint64_t last_in_vain_ = 0;    ///< Packets that were neither delivered nor copies.
  std::uint64_t in_vain_since_ns_ = 0;
  bool is_blind_ = false;
};

}  // namespace stopbit::appliance
