#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "host/feed/arbitrate/numbering.hpp"
#include "host/market/book/book_set.hpp"
#include "host/market/instrument/table.hpp"
#include "host/market/stage/asked.hpp"
#include "host/market/stage/counts.hpp"
#include "host/market/stage/event_writer.hpp"
#include "host/market/stage/message.hpp"
#include "host/market/stage/picture.hpp"
#include "host/market/stage/products.hpp"
#include "host/market/stage/recovery_options.hpp"
#include "host/market/stage/restarts.hpp"
#include "host/market/stage/snapshot_cycle.hpp"
#include "host/market/stage/snapshot_place.hpp"
#include "host/market/stage/state_writer.hpp"
#include "host/market/sync/synchroniser.hpp"

namespace stopbit::market {

/// What the channels of a translator share.
struct Market {
  const Message& message;  ///< The record that is read.
  EventWriter& writer;
  BookSet& books;
  InstrumentTable& instruments;
  StateWriter& states;
  Products& products;
  Restarts& restarts;
  BookBeside& beside;
  MarketCounts& counts;
  AskedFor& asked;
};

/// A channel of increments: its synchroniser, with records in and events out.
///
///     records -> numbers of 64 bits -> Synchroniser -> apply, load, state -> EventWriter
///     messages of snapshots -> Picture -┘
///
/// One thread; allocates when it is made only.
class SyncChannel final : private SyncSink {
 public:
  /// `index`: which one of its Recovery's it is, from 1.
  SyncChannel(const Market& market, const SyncOptions& options, std::uint32_t picture, std::uint16_t index);
  SyncChannel(const SyncChannel&) = delete;
  SyncChannel& operator=(const SyncChannel&) = delete;

  /// The channel whose increments these are; before the first of them.
  void bind(std::uint16_t channel, std::uint8_t sequence_bits, bool has_increments) noexcept {
    channel_ = channel;
    sequence_bits_ = sequence_bits;
    has_increments_ = has_increments;
  }
  [[nodiscard]] std::uint16_t channel() const noexcept { return channel_; }
  [[nodiscard]] std::uint16_t index() const noexcept { return index_; }
  /// Records of the channel have its numbers; else it is a channel of snapshots whose increments have not come yet.
  [[nodiscard]] bool has_increments() const noexcept { return has_increments_; }
  [[nodiscard]] bool has_packet_numbers() const noexcept { return sequence_bits_ != 0; }

  // Increments, and all else that takes a number of the channel.

  /// A record of a packet.
  void enter() noexcept;
  /// The same of a channel whose packets have no numbers: the message's.
  void enter(std::uint64_t number) noexcept;
  /// The packet has ended.
  void leave() noexcept;
  /// The message's number in its product.
  void product(std::uint32_t product, std::uint64_t number) noexcept;
  /// The instrument is of this product.
  void attach(std::uint32_t row, std::uint32_t product) noexcept;
  /// The same of a snapshot. False: it is that of a sender before.
  [[nodiscard]] bool attach_snapshot(std::uint32_t row, std::uint32_t product) noexcept;
  /// An entry. True: the events are the caller's to emit, now.
  [[nodiscard, gnu::always_inline]] bool entry(std::uint32_t row, std::uint64_t number,
                                               std::span<const Event> events) noexcept {
    const std::uint64_t holes = sync_.holes();
    const std::uint64_t returns = sync_.returns();
    if (sync_.entry(row, number, events)) [[likely]]
      return true;
    if (sync_.holes() != holes) end_refresh(row);
    if (sync_.returns() != returns) end_numbers(newest_sent_ns());
    return false;
  }
  [[nodiscard]] Synchroniser& sync() noexcept { return sync_; }
  [[nodiscard]] const Synchroniser& sync() const noexcept { return sync_; }

  /// The arbiter gave up messages, from this number on.
  void gap(std::uint64_t first, std::uint64_t count) noexcept;
  /// Of the record's packet something is missing that cannot be read.
  void damage() noexcept;
  /// All books are empty: the exchange says so in the message that is read.
  void reset() noexcept;
  /// Nothing is known any more.
  void forget(Cause cause) noexcept;
  /// The numbers of an instrument begin anew, with the message that is read.
  void restart(std::uint32_t row) noexcept;
  /// The book of a row is not the exchange's, as its events have said.
  void distrust(std::uint32_t row, Cause cause) noexcept;
  /// Says what is known of a row that has got its books just now.
  void introduce(std::uint32_t row) noexcept;
  void tick(std::uint64_t now_ns) noexcept {
    sync_.tick(now_ns);
    cycle_.tick(now_ns);
  }
  /// The clock of arrivals was set back.
  void set_back(std::int64_t by_ns) noexcept { cycle_.set_back(by_ns); }
  /// The message that is read has the exchange's time.
  void note_time() noexcept {
    const auto sent = market_.message.exchange_time();
    if (!sent) return;
    sent_ns_ = std::max(sent_ns_, *sent);
    delay_ns_ = market_.message.delay_ns;
  }
  /// How often messages were lost.
  [[nodiscard]] std::uint64_t losses() const noexcept { return sync_.losses(); }

  // Over a restart of the process.

  /// Which stretch of the channel this is: another number after each reset, and after all that makes books and numbers
  /// from before of no use.
  [[nodiscard]] std::uint64_t era() const noexcept { return era_; }
  /// The channel's newest message; 0: nothing has come, not even in a process before this one.
  [[nodiscard]] std::uint64_t newest() const noexcept { return has_number_ ? number_ : 0; }
  [[nodiscard]] std::uint32_t picture_room() const noexcept { return picture_.room(); }
  void set_era(std::uint64_t era) noexcept { era_ = era; }
  /// Before the first record: what restore() says ends at `newest`, a message of the channel, and the numbers have gone
  /// on since, up to `last` as in records. Again for what ends at another message. False: they have not, and nothing
  /// has changed. If the first record is not after `last`, the numbers have begun anew, and nothing that was restored
  /// is known any more.
  [[nodiscard]] bool resume_after(std::uint64_t newest, std::uint64_t last) noexcept;
  /// Before the first record: a picture of the row's book, as a snapshot. False: it contradicts itself.
  [[nodiscard]] bool restore(std::uint32_t row, const Synchroniser::Pictured& at,
                             std::span<const Event> events) noexcept;

  // Snapshots.

  /// A message of a snapshot. True: its entries go to picture(), and end_part() follows.
  [[nodiscard]] bool part(const SnapshotPart& part) noexcept;
  void end_part() noexcept;
  [[nodiscard]] Picture& picture() noexcept { return picture_; }
  [[nodiscard]] const SnapshotCycle& cycle() const noexcept { return cycle_; }

 private:
  void apply(const Event& event) noexcept override;
  void load(std::uint32_t row, std::uint64_t number) noexcept override;
  [[nodiscard]] bool audit(std::uint32_t row, std::uint64_t number) noexcept override;
  void refresh(std::uint32_t row, Cause cause, std::uint64_t missing) noexcept override;
  void restarted() noexcept override;
  void forgotten(Cause cause) noexcept override;
  void state(std::uint32_t row, const Mark& mark) noexcept override;
  void state_of(std::uint32_t scope, const Mark& mark) noexcept override;
  void healed(std::uint32_t scope, Basis basis, std::uint64_t to, const Mark& mark) noexcept override;
  void ask(std::uint64_t first, std::uint64_t last) noexcept override {
    if (has_packet_numbers()) market_.asked.add({.channel = channel_, .first = first, .last = last});
  }
  void lost(std::uint32_t, std::uint64_t) noexcept override {}
  void overdue(std::uint64_t) noexcept override {}

  [[nodiscard]] std::uint64_t extend(std::uint64_t wire) noexcept;
  void begin(std::uint64_t number) noexcept;
  /// An event of the channel, at the moment of the record that is read.
  [[nodiscard]] Content content(Kind kind, std::uint32_t row) const noexcept;
  void empty(std::uint32_t row, Cause cause, std::uint64_t missing) noexcept;
  void end_refresh(std::uint32_t row) noexcept;
  void end_refreshes() noexcept;
  void end_numbers(std::int64_t sent_ns) noexcept;
  [[nodiscard]] std::int64_t newest_sent_ns() const noexcept;
  [[nodiscard]] std::uint64_t judge_resumed(std::uint64_t number) noexcept;

  Market market_;
  const std::uint16_t index_;
  std::uint16_t channel_ = 0;
  std::uint8_t sequence_bits_ = 32;
  bool has_increments_ = false;
  Synchroniser sync_;
  Picture picture_;
  SnapshotPlace place_;
  SnapshotCycle cycle_;
  bool is_taken_ = false;  ///< The part that is read belongs to the picture.
  bool is_last_part_ = false;
  bool has_doubts_ = false;       ///< Readers have been told of a loss of messages.
  std::uint32_t silent_row_ = 0;  ///< Whose next state its events have said already.

  bool is_in_packet_ = false;
  bool has_number_ = false;   ///< `number_` is one.
  bool is_resumed_ = false;   ///< The same, of a process before this one; no record has come yet.
  std::uint32_t packet_ = 0;  ///< As in records.
  std::uint64_t number_ = 0;  ///< The same, continued.
  std::uint64_t era_ = 0;
  std::int64_t sent_ns_ = 0;  ///< The exchange's newest time on the channel; 0: none.
  std::int64_t delay_ns_ = kNoDelay;
};

}  // namespace stopbit::market
