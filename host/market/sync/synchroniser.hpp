#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "host/market/event/event.hpp"
#include "host/market/sync/asks.hpp"
#include "host/market/sync/in_step.hpp"
#include "host/market/sync/numbers.hpp"
#include "host/market/sync/options.hpp"
#include "host/market/sync/queues.hpp"
#include "host/market/sync/sink.hpp"

namespace stopbit::market {

/// Decides which entries a book gets and when, which snapshots are loaded, and what can be said of a book: it is the
/// exchange's, it may not be, it is not. README.md has the rules. One for each channel of increments.
///
/// Inputs of a message: begin(); product(), where the scope is the product; entry() for each entry; end(). Those of a
/// part of a snapshot: part(); if that says so, the caller adds the part's entries to a picture beside the books;
/// part_end(), which may load the picture. Numbers are of 64 bits: the caller continues those that wrap.
///
/// One thread. Allocates when it is made only, reads no clock. No input looks at all instruments, but for reset(). The
/// sink must outlive it and calls none of its inputs.
class Synchroniser {
 public:
  Synchroniser(const SyncOptions& options, SyncSink& sink);

  /// The product of an instrument, where that is the scope. An instrument that moves loses its book.
  void attach(std::uint32_t row, std::uint32_t product) noexcept;
  /// Whether the product has had numbers since the last reset. A snapshot of one that has none does not move an
  /// instrument of one that has: it is that of a sender before.
  [[nodiscard]] bool is_numbered(std::uint32_t product) const noexcept {
    return options_.scope == ScopeOf::Product && product - 1 < options_.products && scopes_[product].numbers.is_seen;
  }

  /// A message of the increments: in order, late, replayed, or a copy.
  void begin(std::uint64_t number) noexcept {
    message_ = number_ = number;
    product_ = 0;
    is_new_ = true;
    may_heal_ = is_over_ = false;
    is_newest_ = is_in_order_ = true;
    if (number == channel_.numbers.high + 1 && is_joined_) {
      channel_.numbers.high = number;
      channel_missing_before_ = channel_missing_;
      return;
    }
    begin_slowly(number);
  }
  /// Its number in the product. Before its entries; false: they are not new, and entry() refuses them.
  bool product(std::uint32_t product, std::uint64_t number) noexcept {
    if (options_.scope == ScopeOf::Product && product - 1 < options_.products && !may_heal_) {
      Scope& scope = scopes_[product];
      if (number == scope.numbers.high + 1 && scope.numbers.is_seen && scope.proof >= channel_missing_) {
        scope.numbers.high = number_ = number;
        missing_before_ = scope.numbers.missing;
        product_ = product;
        was_doubtful_ = false;
        return is_new_ = is_in_order_ = true;
      }
    }
    return product_slowly(product, number);
  }
  /// `number`: the instrument's, where that is the scope. True: the caller applies the event now. False: it waits, is
  /// not new, or the sink has got it.
  [[nodiscard]] bool entry(std::uint32_t row, std::uint64_t number, const Event& event) noexcept {
    return entry(row, number, std::span(&event, 1));
  }
  /// The same of an entry that is several events. False: none of them is the caller's.
  [[nodiscard]] bool entry(std::uint32_t row, std::uint64_t number, std::span<const Event> events) noexcept {
    if (is_each()) {
      if (row - 1 < taken_rows_ && in_step_.take(row, number)) return is_new_entry_ = true;
      return entry_slowly(row, number, events);
    }
    if (is_in_order_ && is_known(row) && in_step_.is(row, product_)) {
      rows_[row].last = number_;
      return is_new_entry_ = true;
    }
    is_new_entry_ = is_new_;
    if (!is_new_) [[unlikely]]
      ++counts_.repeats;
    return is_new_ && shared_entry(row, events);
  }
  /// Whether the last entry was no repetition. What it says beside the book does not wait.
  [[nodiscard]] bool is_new_entry() const noexcept { return is_new_entry_; }
  /// Whether nothing is missing between the entries that an instrument's book has, refreshed or not, and this one.
  /// Where instruments share numbers it is the message's, whatever `number` is.
  [[nodiscard]] bool follows(std::uint32_t row, std::uint64_t number) const noexcept;
  /// Only a snapshot with this number, or with a later one, will do: the book cannot be continued over it.
  void need(std::uint32_t row, std::uint64_t number) noexcept;
  void end() noexcept {
    if (may_heal_) heal();
    may_heal_ = false;
    taken_rows_ = options_.instruments;
  }
  /// The message that begin() was called with cannot be read to its end: it is lost, but for what was read. Before its
  /// end(). Whoever sends it again leaves out what was read.
  void damage(std::uint64_t now_ns) noexcept;

  /// The arbiter gives up messages of the channel. They may still come.
  void loss(std::uint64_t first, std::uint64_t last, std::uint64_t now_ns) noexcept;

  /// A part of a snapshot.
  struct Part {
    std::uint32_t row = 0;
    std::uint64_t place = 0;    ///< In the cycle: parts of one picture follow each other.
    std::uint64_t number = 0;   ///< In the instrument's scope, of the newest entry that the picture has.
    std::uint64_t message = 0;  ///< Of the channel (LastMsgSeqNumProcessed); 0: not known.
    std::int64_t sent_ns = 0;   ///< By the exchange's clock.
    bool is_first = false;
    bool is_last = false;
    bool replaces = false;  ///< Becomes the book of an instrument that is latest, too, if it is not older.
  };
  /// Whether the part belongs to the picture, which the first part begins.
  [[nodiscard]] bool part(const Part& part) noexcept;
  /// After the entries of a part that belongs to it.
  void part_end() noexcept;
  /// A cycle of snapshots begins.
  void cycle(std::uint64_t now_ns) noexcept;
  /// A refreshed book that lacks something now is known to: it is to be emptied at once, and goes on with the
  /// instrument's next entry. The first number that it lacks; 0: it is none.
  [[nodiscard]] std::uint64_t end_refresh(std::uint32_t row) noexcept;
  /// Snapshots come, whatever the options said: entries are kept for them. Looks at all instruments the first time.
  void expect_snapshots() noexcept;

  /// The exchange begins anew: books are empty. `sent_ns`: by its clock; older snapshots are of no use. `number`: the
  /// channel's next message has the one after it.
  void reset(std::int64_t sent_ns, std::uint64_t number = 0) noexcept;
  /// Nothing is known any more: the numbers begin anew, and books need not be empty, or an unknown part of the feed is
  /// missing. The next message is one that joins. Snapshots sent before are of no use.
  void forget(Cause cause, std::int64_t sent_ns) noexcept;
  /// The numbers of one instrument begin anew, at 1, and its book is empty. Where each has numbers of its own.
  void restart(std::uint32_t row) noexcept;
  /// After returns() has changed: snapshots that were sent before this are of no use. Other instruments' numbers may
  /// have begun anew, too.
  void refuse_before(std::int64_t sent_ns) noexcept { reset_ns_ = std::max(reset_ns_, sent_ns); }
  /// The book is not the exchange's: an entry contradicts it, or it had no room.
  void distrust(std::uint32_t row, Cause cause) noexcept;
  /// Time passes: asks that are due, cycles that did not come.
  void tick(std::uint64_t now_ns) noexcept;

  [[nodiscard]] Mark mark(std::uint32_t row) const noexcept;
  /// Whether it has one that the exchange has had, stale or not.
  [[nodiscard]] bool has_book(std::uint32_t row) const noexcept { return is_known(row) && rows_[row].has_book; }
  /// Number in its scope that the book of an instrument, if it is not stale, has reached.
  [[nodiscard]] std::uint64_t reached(std::uint32_t row) const noexcept;
  /// What a snapshot of an instrument's book would say of itself: a number in its scope, and up to which message of the
  /// channel nothing of it is missing. Between messages. Nothing if the book is none that the exchange has had, or
  /// entries wait.
  struct Pictured {
    std::uint64_t number = 0;
    std::uint64_t message = 0;
  };
  [[nodiscard]] std::optional<Pictured> pictured(std::uint32_t row) const noexcept;
  [[nodiscard]] std::uint32_t waiting(std::uint32_t row) const noexcept { return queues_.count(row); }
  [[nodiscard]] std::uint32_t waiting() const noexcept { return queues_.count(); }
  [[nodiscard]] SyncCounts counts() const noexcept;
  [[nodiscard]] std::uint64_t losses() const noexcept { return counts_.losses; }
  [[nodiscard]] std::uint64_t holes() const noexcept { return counts_.holes; }
  /// How often the numbers of an instrument have begun anew without a word.
  [[nodiscard]] std::uint64_t returns() const noexcept { return counts_.returns; }
  [[nodiscard]] ScopeOf scope() const noexcept { return options_.scope; }
  /// A message has come, or a loss was told, or a reset.
  [[nodiscard]] bool is_joined() const noexcept { return is_joined_; }
  /// The highest message of the channel, lost ones too.
  [[nodiscard]] std::uint64_t newest() const noexcept { return channel_.numbers.high; }

 private:
  /// In one cache line.
  struct alignas(64) Scope {
    [[no_unique_address]] Numbers numbers;
    std::uint64_t proof = 0;     ///< Up to this message of the channel, what the scope lost is known.
    std::uint64_t pictured = 0;  ///< The same by snapshots from before the first message.
    std::uint64_t hole_ns = 0;   ///< When the newest hole opened.
  };
  static_assert(sizeof(Scope) == 64);
  /// `at` is where the book was put last. While nothing is missing after it, the book follows its scope.
  struct Row {
    std::uint64_t at = 0;
    std::uint64_t last = 0;       ///< Of the last entry that was applied, or `at`: where instruments share numbers.
    std::uint64_t lost = 0;       ///< Only a snapshot with this number, or a later one, will do.
    std::uint64_t refreshed = 0;  ///< The missing number after which the refreshed book began.
    std::uint64_t since = 0;      ///< Of a row without a book.
    std::uint64_t pictured = 0;   ///< Entries of messages up to this may be in the snapshot that was loaded last.
    std::uint64_t high_in = 0;    ///< Message that brought the highest number; 0: one before the newest loss.
    std::uint64_t proved = 0;     ///< Messages before the proof of its scope have numbers up to this.
    std::uint32_t scope = 0;
    std::uint32_t next_ahead = 0;
    Cause cause = Cause::Join;  ///< Of a row without a book.
    bool has_book = false;
    bool is_ahead = false;  ///< Listed in `ahead_`.
    bool is_refreshed = false;
  };
  struct Picture {
    Part part;  ///< The newest one.
    bool is_open = false;
  };
  static constexpr std::uint64_t kEver = ~std::uint64_t{0};
  /// Snapshots are ahead of the first message by no more than this, which the arbiter may hold back.
  static constexpr std::uint64_t kMostAhead = 64;
  static constexpr std::uint64_t kMost = kEver / 2;  ///< Higher numbers are refused: the next one has to exist.

  [[nodiscard]] bool is_channel() const noexcept { return options_.scope == ScopeOf::Channel; }
  [[nodiscard]] bool is_known(std::uint32_t row) const noexcept { return row - 1 < options_.instruments; }
  [[nodiscard]] bool is_each() const noexcept { return options_.scope == ScopeOf::Instrument; }
  /// The highest number of an instrument in step is known to `in_step_` alone.
  void note_high(std::uint32_t row, std::uint64_t next) const noexcept {
    if (is_each() && next != 0) scopes_[row].numbers.high = next - 1;
  }
  void end_step(std::uint32_t row) noexcept {
    note_high(row, in_step_.what(row));
    in_step_.end(row);
  }
  void end_steps() noexcept {
    in_step_.end_all([this](std::uint32_t row, std::uint64_t what) { note_high(row, what); });
  }
  /// To be changed, in anything but `last` and `high_in`.
  [[nodiscard]] Row& change(std::uint32_t row) noexcept {
    end_step(row);
    return rows_[row];
  }
  /// Of an instrument with numbers of its own, to be changed.
  [[nodiscard]] Scope& scope_of(std::uint32_t row) noexcept {
    if (is_each()) end_step(row);
    return is_channel() ? channel_ : scopes_[rows_[row].scope];
  }
  [[nodiscard]] const Scope& scope_of(std::uint32_t row) const noexcept {
    if (is_each()) note_high(row, in_step_.what(row));
    return is_channel() ? channel_ : scopes_[rows_[row].scope];
  }
  [[nodiscard]] std::uint64_t missing(const Scope& scope) const noexcept {
    return &scope == &channel_ ? channel_missing_ : scope.numbers.missing;
  }
  [[nodiscard]] std::uint64_t proof(const Scope& scope) const noexcept;
  [[nodiscard]] bool is_doubtful(const Scope& scope) const noexcept {
    return !is_channel() && proof(scope) < channel_missing_;
  }
  [[nodiscard]] bool is_blocked(const Row& row, const Scope& scope) const noexcept;
  [[nodiscard]] Mark doubt(const Scope& scope) const noexcept;
  [[nodiscard]] std::uint64_t first_missing(const Numbers& numbers, std::uint64_t n) const noexcept;

  // Numbers.
  void begin_slowly(std::uint64_t number) noexcept;
  [[nodiscard]] bool product_slowly(std::uint32_t product, std::uint64_t number) noexcept;
  void lose(std::uint64_t first, std::uint64_t last) noexcept;
  [[nodiscard]] bool take(Scope& scope, std::uint64_t n) noexcept;
  [[nodiscard]] bool step(Scope& scope, std::uint64_t known, bool was_seen, std::uint64_t n) noexcept;
  bool prove(Scope& scope, std::uint64_t message) noexcept;
  void forget_pictured(std::uint64_t message) noexcept;
  void hit(std::uint32_t scope, std::uint64_t first) noexcept;
  void correct_ahead(std::uint32_t scope, std::uint64_t first) noexcept;
  void heal() noexcept;
  void heal_product() noexcept;
  void drain_waiting() noexcept;

  // Entries.
  [[nodiscard]] bool goes_back(std::uint32_t row, std::uint64_t number) const noexcept;
  [[nodiscard]] bool goes_back(const Part& part) const noexcept;
  [[nodiscard]] bool is_of_another_run(const Part& part) const noexcept;
  [[nodiscard]] bool is_of_before(std::uint32_t row, std::uint64_t message, std::uint64_t number) const noexcept;
  void begin_anew(std::uint32_t row, std::uint64_t number, std::uint64_t over) noexcept;
  [[nodiscard]] bool entry_slowly(std::uint32_t row, std::uint64_t number, std::span<const Event> events) noexcept;
  [[nodiscard]] bool shared_entry(std::uint32_t row, std::span<const Event> events) noexcept;
  [[nodiscard]] bool is_refreshed(const Row& row, const Scope& scope) const noexcept {
    return row.is_refreshed && row.refreshed >= missing(scope);
  }
  void keep(std::uint32_t row, std::uint64_t number, const Event& event, Mark& told) noexcept;
  void wait(std::uint32_t row, std::uint64_t number, const Event& event) noexcept;
  [[nodiscard]] std::uint32_t longest_blocked() const noexcept;
  void give_up(std::uint32_t row, std::uint64_t number) noexcept;
  void refresh(std::uint32_t row, std::uint64_t number, const Event& event, Mark& told) noexcept;
  void settle(std::uint32_t row) noexcept;
  void tell_from(std::uint32_t row, const Mark& before, bool is_retold) noexcept;

  // Snapshots.
  [[nodiscard]] bool is_useful(const Row& row, const Scope& scope, std::uint64_t number) const noexcept;
  void load(std::uint32_t row, std::uint64_t number) noexcept;

  void clear(const Scope& scope, const Row& row) noexcept;

  SyncOptions options_;
  SyncSink& sink_;
  bool keeps_;  ///< Entries of stale instruments, for snapshots or late messages.
  Holes holes_;
  Queues queues_;
  Asks asks_;
  /// Instruments whose books get the next number of their scope: theirs, or that of the product or channel.
  InStep in_step_;
  std::unique_ptr<Scope[]> scopes_;  ///< By instrument or product.
  std::unique_ptr<Row[]> rows_;
  Scope channel_;
  std::uint64_t channel_missing_ = kEver;  ///< Its highest missing message; before the first one kEver.
  std::uint64_t over_ = 0;                 ///< Messages below this that come late have numbers that are over.
  std::uint64_t joined_ = kEver;           ///< Messages up to this were before the first one.
  std::uint64_t pictured_ = 0;             ///< Before the first message: that of the newest snapshot.
  std::int64_t pictured_ns_ = INT64_MIN;   ///< When the newest snapshot that was loaded was sent.
  bool is_joined_ = false;
  std::uint32_t ahead_ = 0;  ///< Rows whose snapshot was ahead of their scope, in a list.
  Picture picture_;
  std::int64_t reset_ns_ = INT64_MIN;
  std::uint64_t now_ns_ = 0;
  std::uint64_t cycle_ns_ = 0;  ///< When the newest cycle began; 0: none has.
  SyncCounts counts_;

  // Of the message that is read.
  std::uint64_t message_ = 0;
  std::uint64_t number_ = 0;   ///< In its scope, where instruments share one.
  std::uint32_t product_ = 0;  ///< 0: none was given.
  bool is_new_ = false;
  std::uint32_t taken_rows_ = 0;  ///< Entries of these may be the next ones: all, or none of a message that is late.
  bool is_over_ = false;          ///< Its numbers are from before they began anew.
  bool is_newest_ = false;        ///< It came in order, and for the first time.
  bool is_in_order_ = false;      ///< Its number is the next one of the scope that instruments share.
  bool is_new_entry_ = false;
  bool may_heal_ = false;
  std::uint64_t missing_before_ = 0;  ///< Of the scope.
  std::uint64_t channel_missing_before_ = 0;
  bool was_doubtful_ = false;  ///< The scope.
};

}  // namespace stopbit::market
