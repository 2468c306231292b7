#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "decoder/record/views.hpp"
#include "host/market/book/book_set.hpp"
#include "host/market/event/event.hpp"
#include "host/market/event/fixed.hpp"
#include "host/market/instrument/table.hpp"
#include "host/market/map/map.hpp"
#include "host/market/stage/continuity.hpp"
#include "host/market/stage/counts.hpp"
#include "host/market/stage/exchange_time.hpp"
#include "host/market/stage/extractor.hpp"
#include "host/market/stage/groups.hpp"
#include "host/market/stage/key_index.hpp"
#include "host/market/state/publisher.hpp"

namespace stopbit::market {

/// Turns records into events, in one straight line:
///
///     record -> plan of its template -> entries -> rule -> instrument -> continuity -> publisher: books, ring, states
///
/// One thread. Allocates when it is made only. Map, program, table, books and publisher must outlive it.
class Translator {
 public:
  /// `publisher` is that of the books. `salt`: any number that senders do not know.
  Translator(const Map& map, const Program& program, InstrumentTable& instruments, BookSet& books, Publisher& publisher,
             std::uint64_t salt);

  /// A record, message or event, that is complete in its place.
  void take(std::span<const record::Slot> slots) noexcept;
  /// At the end of the feed: an event that waits for its packet's end is written.
  void finish() noexcept;

  [[nodiscard]] const MarketCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] const Map& map() const noexcept { return map_; }

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
  void trace(Tracer* tracer) noexcept { tracer_ = tracer; }

 private:
  /// How an instrument's entries follow each other.
  enum class Footing : std::uint8_t {
    Lost,     ///< Something is missing before the next entry, or none has been seen.
    Follows,  ///< Nothing is missing since the last entry; no snapshot has said what the book was before.
    InStep,   ///< A snapshot has said what the book is, and nothing is missing since.
  };
  /// The last snapshot of an instrument.
  struct Picture {
    bool is_open = false;     ///< It is being taken.
    bool is_skipped = false;  ///< It is not, and its last part has not come yet.
    bool has_number = false;
    std::uint32_t sequence = 0;  ///< Packet of its last part so far.
    std::uint64_t number = 0;    ///< Of the newest entry, or message, that is in it.

    void skip() noexcept {
      is_skipped = is_skipped || is_open;
      is_open = false;
    }
  };
  struct RowState {
    Footing footing = Footing::Lost;
    bool is_shaped = false;       ///< Its books have been defined.
    bool has_increments = false;  ///< `channel` is that of its increments, else of its snapshots.
    std::uint16_t channel = 0;
    Picture picture;
    std::uint64_t message = 0;            ///< Number of the newest message that is in the book.
    std::uint64_t snapshot_message = 0;   ///< Of the newest message that a snapshot had: not to be applied again.
    std::int64_t reset_ns = 0;            ///< The exchange's time of the last reset: older snapshots have old numbers.
    std::int64_t number_ns = 0;           ///< The exchange's time of the message with the last entry number.
    std::uint32_t losses = 0;             ///< Of its channel, when its last entry came.
    std::uint16_t depth[kMaxBooks] = {};  ///< Of the definition; 0: none.
    std::int64_t tick = 0;

    void lose() noexcept {
      footing = Footing::Lost;
      picture.skip();
    }
  };
  struct Key {
    enum class Found : std::uint8_t {
      Nothing,  ///< No field of the key: what is said concerns all instruments.
      Part,     ///< Some fields: which instrument it is cannot be known.
      Whole,
    };
    Found found = Found::Nothing;
    std::uint32_t row = 0;  ///< 0: no room for it, or not found.
    [[nodiscard]] bool exists() const noexcept { return found == Found::Whole; }
  };
  struct ChannelState {
    bool has_increments = false;
    bool has_snapshots = false;
    bool is_open = false;  ///< An event has begun, and its end was not written.
    bool is_seen = false;
    std::uint32_t sequence = 0;  ///< Packet of the last record.
    std::uint32_t losses = 0;    ///< How often messages of it were missing.
  };
  static constexpr std::size_t kChannels = 65'536;
  struct OnMessage;  ///< Calls back for the entries of the message that is read.

  void read_message(const TemplatePlan& plan, std::span<const record::Slot> slots) noexcept;
  void feed_event(const record::Slot& slot) noexcept;

  // Of the message kinds: before its entries, one entry, after them.
  void begin_snapshot() noexcept;
  void end_snapshot() noexcept;
  [[nodiscard]] bool is_old(std::uint32_t row, bool has_number, std::uint64_t number) const noexcept;
  void tear(std::uint32_t row) noexcept;
  [[nodiscard]] bool is_whole_from_here() const noexcept;
  void begin() noexcept;
  void entry() noexcept;
  void market_entry() noexcept;
  [[nodiscard]] bool follow(std::uint32_t row) noexcept;
  void book_entry(const CompiledEntry& rule, std::uint32_t row, Side side, bool is_also) noexcept;
  void plain_entry(const CompiledEntry& rule, Kind kind, std::uint32_t row) noexcept;
  void empty_entry(const Key& key) noexcept;
  void lose_some(std::uint64_t first) noexcept;
  void lose_all(Cause cause, std::uint64_t number) noexcept;
  /// Calls take(row) for the instruments that a loss or a reset of the channel concerns. A channel-wide event does not
  /// reach those with snapshots only: they get a stale event each.
  template <class Take>
  void for_each_of_channel(Cause cause, std::uint64_t number, const Take& take) noexcept;
  void mark_reset(RowState& row) noexcept;
  void definition() noexcept;
  void depth_element() noexcept;
  void forget_depths() noexcept;
  void states(std::span<const std::uint8_t> slots, std::span<const Span> scales, std::span<const StateField> fields,
              bool only_if_new) noexcept;
  void other() noexcept;

  /// A snapshot has said what the book is, and it is still whole.
  [[nodiscard]] bool is_in_step(std::uint32_t row) const noexcept;
  [[nodiscard]] bool holds(const CompiledCondition& condition) const noexcept;
  [[nodiscard]] int rule_for() const noexcept;
  /// The row of the key in the slots; adds one at first sight.
  [[nodiscard]] Key instrument() noexcept;
  [[nodiscard]] std::uint32_t add_instrument(const KeyBits& key) noexcept;
  [[nodiscard]] std::string_view key_text(std::array<char, 256>& room, bool& is_cut) const noexcept;
  void join_group(std::uint32_t row, std::uint8_t slot) noexcept;
  void shape(std::uint32_t row) noexcept;
  void change_session(std::uint32_t row) noexcept;
  [[nodiscard]] std::optional<std::int64_t> exchange_time() const noexcept;

  [[nodiscard]] std::int64_t price(std::uint8_t slot, bool& is_wide) const noexcept;
  [[nodiscard]] std::int64_t number(std::uint8_t slot, std::int32_t unit, std::int32_t of_integers, std::int64_t none,
                                    bool& is_wide) const noexcept;
  [[nodiscard]] std::int64_t quantity(std::uint8_t slot, bool& is_wide) const noexcept;
  [[nodiscard]] std::uint64_t identifier(std::uint8_t slot, bool& is_wide) const noexcept;
  [[nodiscard]] std::uint64_t integer(std::uint8_t slot) const noexcept;

  [[nodiscard]] Content content(Kind kind, std::uint32_t row) const noexcept;
  void state_event(std::uint32_t row, TradingState state, std::uint64_t code, std::uint8_t scale) noexcept;
  [[nodiscard]] TradingState trading_state(std::uint32_t row) const noexcept;
  void stale_event(std::uint32_t row, Cause cause, std::uint64_t number) noexcept;
  /// The event waits for the next one, which may say that it was not the last.
  void emit(const Content& content) noexcept;
  void flush(bool is_last) noexcept;

  const Map& map_;
  const Program& program_;
  InstrumentTable& instruments_;
  BookSet& books_;
  Publisher& publisher_;
  Extractor extractor_;
  const Values& values_;
  KeyIndex keys_;
  Continuity continuity_;
  Groups groups_;
  std::unique_ptr<RowState[]> rows_;
  MarketCounts counts_;
  Tracer* tracer_ = nullptr;

  // Of the message that is read.
  const TemplatePlan* plan_ = nullptr;
  const MessageRule* rule_ = nullptr;
  const MessageSlots* slots_ = nullptr;
  const TypedRules* typed_ = nullptr;
  std::uint64_t arrival_ns_ = 0;
  std::uint32_t sequence_ = 0;
  std::uint16_t channel_ = 0;
  std::uint8_t flags_ = 0;
  std::int64_t delay_ns_ = kNoDelay;
  bool has_begun_ = false;          ///< What goes before the entries is done.
  bool has_cleared_ = false;        ///< It has emptied all books.
  bool is_void_ = false;            ///< The rest of its entries is not applied.
  std::uint32_t snapshot_row_ = 0;  ///< Whose picture the message is; 0: none that is taken.
  std::uint16_t depth_[kMaxBooks] = {};

  KeyBits last_key_{};  ///< Most messages name one instrument only.
  std::uint32_t last_row_ = 0;
  std::int64_t reset_ns_ = 0;  ///< The newest reset of any channel.
  std::unique_ptr<ChannelState[]> channels_;
  Event pending_{};
  bool has_pending_ = false;
};

}  // namespace stopbit::market
