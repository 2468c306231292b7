#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "decoder/record/views.hpp"
#include "host/market/book/book_set.hpp"
#include "host/market/book/entries.hpp"
#include "host/market/event/event.hpp"
#include "host/market/instrument/table.hpp"
#include "host/market/map/map.hpp"
#include "host/market/saved/saved_books.hpp"
#include "host/market/stage/amounts.hpp"
#include "host/market/stage/counts.hpp"
#include "host/market/stage/directory.hpp"
#include "host/market/stage/entry_events.hpp"
#include "host/market/stage/event_writer.hpp"
#include "host/market/stage/exchange_time.hpp"
#include "host/market/stage/extractor.hpp"
#include "host/market/stage/message.hpp"
#include "host/market/stage/products.hpp"
#include "host/market/stage/recovery.hpp"
#include "host/market/stage/replacements.hpp"
#include "host/market/stage/restarts.hpp"
#include "host/market/stage/routes.hpp"
#include "host/market/stage/shapes.hpp"
#include "host/market/stage/state_writer.hpp"
#include "host/market/state/publisher.hpp"

namespace stopbit::market {

/// How long books wait to be right. 0: none does, or nothing is known.
struct MarketDelays {
  std::uint64_t stale_ns = 0;            ///< The book that is stale longest, of those that were right before.
  std::uint64_t joining_ns = 0;          ///< The instrument that waits longest for its first book that is right.
  std::uint64_t cycle_ns = 0;            ///< Cycle of snapshots, of the channel where it exceeds its announcement most.
  std::uint64_t announced_cycle_ns = 0;  ///< What is announced for that channel.
};

/// Turns records into events:
///
///     record -> plan of its template -> entries -> rule -> instrument -> its channel's synchroniser
///            -> writer -> publisher: books, ring, states
///
/// translator.cpp has records and losses, entries.cpp messages, entries and snapshots, definitions.cpp definitions and
/// states.
/// One thread. Allocates when it is made only. Map, program, table, books and publisher must outlive it.
class Translator {
 public:
  /// `publisher` is that of the books. `salt`: any number that senders do not know. `beside`: room for the book of one
  /// snapshot.
  Translator(const Map& map, const Program& program, InstrumentTable& instruments, BookSet& books, Publisher& publisher,
             std::uint64_t salt, const RecoveryOptions& recovery = {}, const BookRoom& beside = one_book());

  /// A record, message or event, that is complete in its place.
  void take(std::span<const record::Slot> slots) noexcept;
  /// Time passes, on the clock of arrivals.
  void tick(std::uint64_t now_ns) noexcept {
    note_time(now_ns);
    recovery_.tick(now_ns);
  }
  /// Takes what a loss of messages has done to books, if there is news of one. `is_last`: the feed has ended.
  [[nodiscard]] bool next_effect(LossEffect& effect, bool is_last) noexcept {
    return writer_.losses().next(effect, message_.arrival_ns, is_last);
  }
  /// Takes lost messages of which a replay is wanted, if there are some.
  [[nodiscard]] bool next_asked(Asked& asked) noexcept { return asked_.next(asked); }
  /// Ranges that found no room there.
  [[nodiscard]] std::uint64_t asked_lost() const noexcept { return asked_.lost(); }
  // Over a restart of the process: saver.cpp. Between datagrams.

  /// A channel of increments, and where another process has left it.
  struct Left {
    std::uint16_t channel = 0;
    std::uint64_t era = 0;   ///< As SyncChannel.
    std::uint64_t last = 0;  ///< The number that was delivered last, as in records.
  };
  struct Restored {
    std::uint32_t instruments = 0;
    std::uint32_t books = 0;
    std::uint32_t left_out = 0;  ///< Definitions for which there would be room, but not for today's as well.
  };
  /// Before the first record: takes the instruments over, and the books of channels that go on. A book is what it would
  /// be after a snapshot that the exchange has sent before the first message. Writes their events.
  [[nodiscard]] Restored restore(const SavedBooks& saved, std::span<const Left> left, std::uint64_t now_ns) noexcept;
  /// Instead of restore(), from a file that is too old for it: takes over what was defined since `since_ns`, as far as
  /// there is room for as many others. Its row says so until the exchange defines it anew (kRowEarlier). No depths,
  /// which are a matter of right books.
  [[nodiscard]] Restored restore_definitions(const SavedBooks& saved, std::uint64_t since_ns,
                                             std::uint64_t now_ns) noexcept;
  /// What SyncChannel::era() is to be on a channel of increments; before the first record.
  void begin_era(std::uint16_t channel, std::uint64_t era) noexcept;
  /// The eras go on from those of another translator of the same channels.
  void continue_eras(Translator& before) noexcept;
  [[nodiscard]] std::uint64_t era(std::uint16_t channel) noexcept {
    const SyncChannel* const known = recovery_.of(channel);
    return known == nullptr ? 0 : known->era();
  }
  /// What was restored of this channel is of no use: it has begun anew. Before its first record.
  void begin_anew(std::uint16_t channel, std::uint64_t now_ns) noexcept;

  /// Whether all that was read is in the books.
  [[nodiscard]] bool is_settled() const noexcept { return writer_.pending() == nullptr; }
  /// The instrument of a row, to be saved, and how many entries its book has.
  [[nodiscard]] SavedRow saved(std::uint32_t row) const noexcept;
  /// Calls take(event) for each of these entries.
  template <class Take>
  void for_each_entry(std::uint32_t row, const Take& take) const {
    for (const BookOf of : {BookOf::Direct, BookOf::Implied}) {
      for (const Side side : {Side::Bid, Side::Ask}) market::for_each_entry(books_, row, side, of, take);
    }
  }

  /// At the end of the feed: an event that waits for its packet's end is written.
  void finish() noexcept;

  /// How long books wait to be right, up to the last record or tick().
  [[nodiscard]] MarketDelays delays() const noexcept;
  /// On the clock of arrivals: the last record, or tick().
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_; }

  [[nodiscard]] MarketCounts counts() const noexcept {
    MarketCounts counts = counts_;
    recovery_.add_counts(counts);
    return counts;
  }
  [[nodiscard]] const Map& map() const noexcept { return map_; }
  /// Room for one book of any kind, but not a large one.
  [[nodiscard]] static BookRoom one_book() noexcept {
    return {.instruments = 1,
            .implied = 1,
            .rows = 1'024,
            .orders = 1'024,
            .levels = 1'024,
            .listed = 1'024,
            .ladders = 2,
            .placed = 1'024,
            .positions = 2'048};
  }

  /// For explanations. An event is written when the next one is made, or later: made() tells whose it is.
  struct Tracer {
    virtual ~Tracer() = default;
    /// Before an entry's events. `rule` is -1 if none fits.
    virtual void entry(const Values& values, const TemplatePlan& plan, int rule, std::uint32_t row) = 0;
    /// After the last entry's events were made: those that follow are the message's.
    virtual void entry_end() = 0;
    /// An event was made; those before it are written, it is not.
    virtual void made() = 0;
  };
  void trace(Tracer* tracer) noexcept;

 private:
  struct OnMessage;  ///< Calls back for the entries of the message that is read.

  // translator.cpp: records, the message kinds, losses.
  void begin_packet(const record::HeaderView& header) noexcept;
  /// Whether the packet may cause this much more work; if not, nothing more of it is read, and nothing is known of its
  /// channel's books.
  [[nodiscard]] bool afford(std::uint64_t rows) noexcept;
  void end_record(const record::HeaderView& header) noexcept;
  void feed_event(const record::Slot& slot) noexcept;
  void lose_packet(bool has_number) noexcept;
  void begin() noexcept;
  void number_message() noexcept;
  /// The message's number in its product; where an entry names it, with the first entry.
  void number_product() noexcept {
    if (scope_ == ScopeOf::Product && !is_numbered_) number_in_product();
  }
  void number_in_product() noexcept;
  void other() noexcept;
  [[nodiscard]] bool holds(const CompiledCondition& condition) const noexcept;

  // entries.cpp: a message and its entries, those of increments and snapshots.
  void read_message(std::span<const record::Slot> slots) noexcept;
  [[gnu::always_inline]] void entry() noexcept;
  void any_entry() noexcept;
  template <bool kIsSnapshot>
  [[gnu::always_inline]] void market_entry() noexcept;
  void rowless_entry(const Route& route, const Key& key) noexcept;
  [[gnu::always_inline]] void book_entry(const Route& route, std::uint32_t row, Side side, bool is_also) noexcept;
  void plain_entry(const Route& route, Kind kind, std::uint32_t row) noexcept;
  [[gnu::always_inline]] void make_events(const Route& route, std::uint32_t row) noexcept;
  [[nodiscard, gnu::always_inline]] bool begin_increment(std::uint32_t row) noexcept;
  [[gnu::always_inline]] void send_increment(std::uint32_t row) noexcept;
  void send_unnumbered(std::uint32_t row) noexcept;
  void end_unknown(std::uint32_t row) noexcept;
  /// Ends the book of the session before, if the session has changed. True: what is missing may belong to the new
  /// session, so no event can say that its book is empty.
  [[nodiscard, gnu::always_inline]] bool begin_session(std::uint32_t row, std::uint64_t number) noexcept {
    const std::uint8_t slot = message_.slots->session;
    return values_.has(slot) && values_.bits(slot) != instruments_.row(row).session && change_session(row, number);
  }
  [[nodiscard]] bool change_session(std::uint32_t row, std::uint64_t number) noexcept;
  void restart_if_new(std::uint32_t row, std::uint64_t number) noexcept;
  void empty_all() noexcept;
  void begin_snapshot() noexcept;
  void end_snapshot() noexcept;

  // saver.cpp: over a restart of the process.
  void check_restored(std::uint32_t of, std::uint64_t number) noexcept {
    if (restored_left_ != 0 && restored_[of] != 0) [[unlikely]]
      judge_restored(of, number);
  }
  void judge_restored(std::uint32_t of, std::uint64_t number) noexcept;
  [[nodiscard]] std::uint32_t restored_index(std::uint32_t row) const noexcept {
    return scope_ == ScopeOf::Product ? products_.of(row) : row;
  }
  /// The row; 0: it is not taken.
  [[nodiscard]] std::uint32_t restore_instrument(const SavedRow& saved) noexcept;
  [[nodiscard]] bool restore_book(std::uint32_t row, const SavedRow& saved, std::span<const Event> events,
                                  std::span<const Left> left) noexcept;

  // definitions.cpp: definitions, trading states.
  void definition() noexcept;
  void depth_element() noexcept;
  void forget_depths() noexcept;
  void forget_earlier(InstrumentRow& row) const noexcept;
  void states(std::span<const std::uint8_t> slots, std::span<const Span> scales, std::span<const StateField> fields,
              bool only_if_new) noexcept;

  /// Work that the messages of one packet may cause for instruments that they do not name, as a multiple of all of
  /// them: a message of one byte may be for all.
  static constexpr std::uint64_t kMostRounds = 64;
  static constexpr std::uint64_t kResetRounds = 16;  ///< That a reset counts for.
  static constexpr std::uint64_t kTickNs = 100'000'000;
  static constexpr std::uint64_t kSetBackNs = 10'000'000'000;
  static constexpr std::uint64_t kMostSetBackNs = std::uint64_t{1} << 62;  ///< What a file says may be any time.

  /// Arrivals of several ports go back by as much as one is read after another; clocks are set back by more. So are
  /// datagrams that waited for a process that was stopped for long, in turns with the present time: what goes forth by
  /// as much was not set back.
  void note_time(std::uint64_t now_ns) noexcept {
    if (now_ns < now_ns_ && now_ns_ - now_ns > kSetBackNs) [[unlikely]] {
      set_back(std::min(now_ns_ - now_ns, kMostSetBackNs - set_back_ns_), true);
    } else if (set_back_ns_ != 0 && now_ns > now_ns_ && now_ns - now_ns_ > kSetBackNs) [[unlikely]] {
      set_back(std::min(now_ns - now_ns_, set_back_ns_), false);
    }
    now_ns_ = now_ns;
  }
  void set_back(std::uint64_t ns, bool is_back) noexcept {
    set_back_ns_ += is_back ? ns : 0 - ns;
    const auto by_ns = is_back ? static_cast<std::int64_t>(ns) : -static_cast<std::int64_t>(ns);
    writer_.healing().set_back(by_ns);
    recovery_.set_back(by_ns);
  }

  const Map& map_;
  InstrumentTable& instruments_;
  BookSet& books_;
  Extractor extractor_;
  const Values& values_;
  const ScopeOf scope_;
  Amounts amounts_;
  Routes routes_;
  ExchangeClock exchange_clock_;
  MarketCounts counts_;
  Message message_;  ///< That is read.
  EventWriter writer_;
  StateWriter states_;
  Directory directory_;
  Shapes shapes_;
  Products products_;
  Restarts restarts_;
  BookBeside beside_;
  AskedFor asked_;
  Recovery recovery_;
  Replacements replacements_;
  /// Of instruments or products whose books were restored, until their first number: theirs; else 0.
  std::unique_ptr<std::uint64_t[]> restored_;
  std::uint32_t restored_left_ = 0;
  Tracer* tracer_ = nullptr;
  std::uint64_t ticked_ns_ = 0;
  std::uint64_t now_ns_ = 0;       ///< On the clock of arrivals: the last record, or tick().
  std::uint64_t set_back_ns_ = 0;  ///< By how much that was set back in all, at most kMostSetBackNs.

  // Of the packet that is read.
  bool has_packet_ended_ = true;
  bool is_packet_void_ = false;  ///< Its rest is not read.
  std::uint16_t packet_channel_ = 0;
  std::uint16_t packet_epoch_ = 0;
  std::uint32_t packet_ = 0;
  std::uint64_t spent_ = 0;  ///< Work for instruments that it does not name, in rows.

  // Of the message that is read.
  SyncChannel* increments_ = nullptr;   ///< Of its channel; null: it is none of increments, or not known yet.
  Picture* picture_ = nullptr;          ///< The snapshot that it is a part of; null: none that is taken.
  SyncChannel* snapshot_of_ = nullptr;  ///< Whose books that snapshot heals.
  bool is_numbered_ = false;            ///< Its number in a product is known to the synchroniser, or it has none.
  bool has_cleared_ = false;            ///< It has emptied all books.
  bool is_void_ = false;                ///< The rest of its entries is not applied.
  bool is_unknown_ = false;             ///< What the entry does to the book is not known.
  std::uint32_t product_ = 0;           ///< Whose number it has; 0: none.
  std::uint16_t depth_[kMaxBooks] = {};
  Event head_{};      ///< Of the message: an event without what its entries say.
  EntryEvents made_;  ///< Of the entry.
};

}  // namespace stopbit::market
