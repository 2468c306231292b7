// Books that lose messages and get them back: a simulated exchange, whose books are known, sends increments and
// snapshots through the stage; a reader applies the events.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "host/market/stage/translator.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/random.hpp"

namespace stopbit::market::recovery_test {

constexpr const char* kTemplates = R"(<templates>
  <template name="Refresh" id="1">
    <uInt32 name="MsgSeqNum"/><uInt32 name="Product" presence="optional"/><uInt64 name="SendingTime"/>
    <sequence name="Entries">
      <uInt32 name="Security" presence="optional"/><uInt32 name="RptSeq" presence="optional"/>
      <uInt32 name="Action" presence="optional"/><string name="Type"/>
      <int64 name="Price" presence="optional"/><uInt32 name="Size" presence="optional"/>
    </sequence>
  </template>
  <template name="Snapshot" id="2">
    <uInt32 name="MsgSeqNum" presence="optional"/><uInt64 name="SendingTime"/>
    <uInt32 name="Product" presence="optional"/><uInt32 name="Security"/>
    <uInt32 name="Number"/><uInt32 name="Processed"/><uInt32 name="First"/><uInt32 name="Last"/>
    <sequence name="Entries"><string name="Type"/><int64 name="Price"/><uInt32 name="Size"/></sequence>
  </template>
</templates>)";

constexpr const char* kMap = R"([feed]
name = "test"
time = "SendingTime"
time_format = "ns"
[sequence]
SEQUENCE
[instrument]
key = ["Security"]
[[book]]
by = "price"
action = "Action"
actions = { 0 = "new", 1 = "change", 2 = "delete" }
price = "Price"
quantity = "Size"
[[message]]
kind = "incremental"
templates = ["Refresh"]
entries = "Entries"
[[message]]
kind = "snapshot"
templates = ["Snapshot"]
entries = "Entries"
number = "Number"
processed = "Processed"
first = { First = 1 }
last = { Last = 1 }
[[entry]]
when = { Type = "J" }
role = "empty"
[[entry]]
when = { Type = ["0", "1"] }
role = "book"
side_field = "Type"
sides = { 0 = "bid", 1 = "ask" }
[[entry]]
role = "trade"
)";

constexpr std::uint64_t kBegin = 1'700'000'000'000'000'000;
constexpr std::uint16_t kIncrements = 3;
constexpr std::uint16_t kSnapshots = 4;

/// Price -> quantity, of both sides.
using Side2 = std::map<std::int64_t, std::int64_t>;
struct TrueBook {
  Side2 bids;
  Side2 asks;
  std::uint32_t number = 0;  ///< Of its newest entry, where instruments have numbers.
  bool operator==(const TrueBook&) const = default;
};

/// The stage, and a reader of its events that must have the same books.
class Stage {
 public:
  Stage(ScopeOf scope, std::uint32_t instruments, RecoveryOptions options = {})
      : program_(compile()),
        schema_(record::Schema::make(program_).value()),
        map_(compile_map_of(scope)),
        table_(InstrumentTable::make({.capacity = instruments}).value()),
        room_({.instruments = instruments, .rows = instruments * 256}),
        books_(room_),
        reader_books_(room_),
        events_(1, TakeEvent{this}),
        publisher_(books_, &events_, nullptr),
        translator_(map_, program_, table_, books_, publisher_, 1, planned(std::move(options))),
        json_(schema_),
        records_(program_.max_record_slots, TakeRecord{this}) {}

  void message(std::uint16_t channel, std::uint32_t sequence, const std::string& json, std::uint16_t epoch = 0) {
    channel_ = channel;
    sequence_ = sequence;
    epoch_ = epoch;
    ASSERT_EQ(json_.read(json, records_), record::JsonReader::Line::Message) << json_.problem().message << json;
  }
  void event(std::uint16_t channel, record::EventKind kind, std::uint32_t first, std::uint64_t count = 1) {
    channel_ = channel;
    sequence_ = first;
    record::BufferSink sink(program_.max_record_slots, TakeRecord{this});
    record::Builder(program_).write_event(sink, record::Header(), {.kind = kind, .word5 = first, .word6 = count}, 0);
  }

  BookSet& books() { return books_; }
  MarketCounts counts() const { return translator_.counts(); }
  InstrumentTable& table() { return table_; }
  /// Row of a security; 0: it was not seen.
  std::uint32_t row(std::uint32_t security) const { return table_.view().find(std::to_string(security)); }
  TrueBook book(const BookSet& books, std::uint32_t row) const {
    TrueBook book;
    std::vector<Row> rows(64);
    for (const Side side : {Side::Bid, Side::Ask}) {
      const std::size_t count = books.rows(row, side, rows);
      for (std::size_t i = 0; i < count; ++i) {
        (side == Side::Bid ? book.bids : book.asks)[rows[i].price / kPriceUnits] = rows[i].quantity;
      }
    }
    return book;
  }
  TrueBook book(std::uint32_t row) const { return book(books_, row); }
  Standing standing(std::uint32_t security) const {
    const std::uint32_t at = row(security);
    return at == 0 ? Standing::Stale : books_.standing(at);
  }
  bool is_whole(std::uint32_t row) const {
    return books_.extent(row, Side::Bid).is_whole && books_.extent(row, Side::Ask).is_whole;
  }
  /// Whether a reader applies the events and has its books compared.
  void follow(bool follows) { follows_ = follows; }
  /// Time moves with each record.
  std::uint64_t now = kBegin;

 private:
  struct TakeEvent {
    Stage* self;
    void operator()(std::span<const record::Slot> slots) const { self->read(Event::from(slots[0])); }
  };
  struct TakeRecord {
    Stage* self;
    void operator()(std::span<const record::Slot> slots) const { self->send(slots); }
  };

  void send(std::span<const record::Slot> slots) {
    std::vector<record::Slot> copy(slots.begin(), slots.end());
    copy[0].words[1] = now;
    copy[0].words[2] = (copy[0].words[2] & ~(std::uint64_t{0xFFFF} << 32)) | sequence_ | std::uint64_t{channel_} << 32 |
                       std::uint64_t{record::kFlagLastOfPacket} << 56;
    copy[0].words[3] |= std::uint64_t{epoch_} << 32;
    translator_.take(copy);
  }
  /// What a program of a reader does.
  void read(const Event& event) {
    if (!follows_) return;
    const std::uint32_t row = event.instrument();
    for (std::uint32_t one = 1; one <= table_.count(); ++one) {  // as the tables beside a ring say
      if (books_.is_of_channel(one, kIncrements)) (void)reader_books_.define(one, books_.shape(one));
    }
    (void)reader_books_.apply(event);
    while (reader_books_.take_stale().row != 0) {
    }
    is_dirty_.resize(table_.count() + 1);
    if (row != 0) is_dirty_[row] = true;
    if (row == 0) is_dirty_.assign(is_dirty_.size(), true);
    if (!event.last_of_event()) return;
    for (std::uint32_t one = 1; one < is_dirty_.size(); ++one) {
      if (!is_dirty_[one]) continue;
      ASSERT_EQ(book(reader_books_, one), book(one));
      ASSERT_EQ(reader_books_.extent(one, Side::Bid), books_.extent(one, Side::Bid));
      ASSERT_EQ(reader_books_.standing(one), books_.standing(one));
      ASSERT_EQ(reader_books_.status(one).cause, books_.status(one).cause);
      ASSERT_EQ(reader_books_.status(one).since, books_.status(one).since);
      is_dirty_[one] = false;
    }
  }

  static Program compile() {
    Diagnostics diagnostics;
    auto program = templates::compile({std::make_shared<SourceBuffer>("t.xml", kTemplates)}, {}, diagnostics);
    EXPECT_TRUE(program) << diagnostics.format();
    return program.value_or(Program());
  }
  Map compile_map_of(ScopeOf scope) {
    std::string text = kMap;
    const std::string sequence = scope == ScopeOf::Instrument ? "message = \"MsgSeqNum\"\nentry = \"RptSeq\""
                                 : scope == ScopeOf::Product  ? "message = \"MsgSeqNum\"\nscope = [\"Product\"]"
                                                              : "message = \"MsgSeqNum\"";
    text.replace(text.find("SEQUENCE"), 8, sequence);
    Diagnostics diagnostics;
    auto source = read_map("m.toml", text, diagnostics);
    auto map = source ? compile_map(std::move(*source), program_, diagnostics) : std::nullopt;
    EXPECT_TRUE(map) << diagnostics.format();
    return map.value_or(Map());
  }
  static RecoveryOptions planned(RecoveryOptions options) {
    options.channels = {{.number = kIncrements, .has_increments = true, .sequence_bits = 32, .recovers = {}},
                        {.number = kSnapshots, .has_increments = false, .sequence_bits = 32, .recovers = kIncrements}};
    return options;
  }

  Program program_;
  record::Schema schema_;
  Map map_;
  InstrumentTable table_;
  BookRoom room_;
  BookSet books_;
  BookSet reader_books_;
  record::BufferSink<TakeEvent> events_;
  Publisher publisher_;
  Translator translator_;
  record::JsonReader json_;
  record::BufferSink<TakeRecord> records_;
  std::vector<bool> is_dirty_;
  bool follows_ = true;
  std::uint16_t channel_ = 0;
  std::uint32_t sequence_ = 0;
  std::uint16_t epoch_ = 0;
};

/// An exchange with a few instruments: what it has sent is what its books are.
class Exchange {
 public:
  Exchange(ScopeOf scope, std::uint64_t seed, std::uint32_t instruments)
      : scope_(scope), random_(seed), books_(instruments + 1) {}

  struct Message {
    std::uint32_t sequence = 0;
    std::string json;
  };
  /// Changes up to three books.
  Message next(std::uint64_t now) {
    const std::uint32_t product = static_cast<std::uint32_t>(1 + random_.below(kProducts));
    std::string entries;
    for (std::uint64_t left = 1 + random_.below(3); left != 0; --left) {
      entries += (entries.empty() ? "" : ",") + entry(product);
    }
    return message(now, product, entries);
  }
  /// Empties all books; numbers of instruments begin again.
  Message reset(std::uint64_t now) {
    std::fill(books_.begin(), books_.end(), TrueBook());
    return message(now, 1, R"({"Type":"J"})");
  }
  /// The messages of an instrument's snapshot: one or two.
  std::vector<std::string> snapshot(std::uint32_t security, std::uint64_t now) {
    const TrueBook& book = books_[security];
    std::vector<std::string> rows;
    for (const bool is_ask : {false, true}) {
      for (const auto& [price, size] : is_ask ? book.asks : book.bids) {
        rows.push_back(R"({"Type":")" + std::string(is_ask ? "1" : "0") + R"(","Price":)" + std::to_string(price) +
                       R"(,"Size":)" + std::to_string(size) + "}");
      }
    }
    const std::size_t parts = 1 + random_.below(2);
    const std::uint32_t number = scope_ == ScopeOf::Instrument ? book.number
                                 : scope_ == ScopeOf::Product  ? product_number_[product_of(security)]
                                                               : sequence_;
    std::vector<std::string> messages;
    for (std::size_t part = 0; part < parts; ++part) {
      std::string entries;
      for (std::size_t i = part; i < rows.size(); i += parts) entries += (entries.empty() ? "" : ",") + rows[i];
      messages.push_back(R"({"template":"Snapshot","fields":{"SendingTime":)" + std::to_string(now) + R"(,"Product":)" +
                         std::to_string(product_of(security)) + R"(,"Security":)" + std::to_string(security) +
                         R"(,"Number":)" + std::to_string(number) + R"(,"Processed":)" + std::to_string(sequence_) +
                         R"(,"First":)" + (part == 0 ? "1" : "0") + R"(,"Last":)" + (part + 1 == parts ? "1" : "0") +
                         R"(,"Entries":[)" + entries + "]}}");
    }
    return messages;
  }
  const TrueBook& book(std::uint32_t security) const { return books_[security]; }
  const std::vector<TrueBook>& books() const { return books_; }
  std::uint32_t instruments() const { return static_cast<std::uint32_t>(books_.size() - 1); }
  std::uint32_t sequence() const { return sequence_; }
  cases::Random& random() { return random_; }

 private:
  static constexpr std::uint32_t kProducts = 3;
  static std::uint32_t product_of(std::uint32_t security) { return 1 + security % kProducts; }

  Message message(std::uint64_t now, std::uint32_t product, const std::string& entries) {
    ++sequence_;
    const bool is_of_product = scope_ == ScopeOf::Product;
    const std::uint32_t number = is_of_product ? ++product_number_[product] : sequence_;
    return {sequence_, R"({"template":"Refresh","fields":{"MsgSeqNum":)" + std::to_string(number) + R"(,"Product":)" +
                           std::to_string(product) + R"(,"SendingTime":)" + std::to_string(now) + R"(,"Entries":[)" +
                           entries + "]}}"};
  }
  std::string entry(std::uint32_t product) {
    std::uint32_t security = 0;
    do {
      security = static_cast<std::uint32_t>(1 + random_.below(instruments()));
    } while (scope_ == ScopeOf::Product && product_of(security) != product);
    TrueBook& book = books_[security];
    const std::string head =
        R"({"Security":)" + std::to_string(security) + R"(,"RptSeq":)" + std::to_string(++book.number);
    if (random_.chance(10)) return head + R"(,"Type":"2","Price":100,"Size":1})";
    if (random_.chance(3)) {
      book.bids.clear();
      book.asks.clear();
      return head + R"(,"Type":"J"})";
    }
    const bool is_ask = random_.chance(50);
    Side2& side = is_ask ? book.asks : book.bids;
    const auto price = static_cast<std::int64_t>(is_ask ? 101 + random_.below(20) : 80 + random_.below(20));
    const auto size = static_cast<std::int64_t>(1 + random_.below(1'000));
    const auto at = side.find(price);
    const int action = at == side.end() ? 0 : random_.chance(50) ? 1 : 2;
    if (action == 2) {
      side.erase(at);
    } else {
      side[price] = size;
    }
    return head + R"(,"Action":)" + std::to_string(action) + R"(,"Type":")" + (is_ask ? "1" : "0") + R"(","Price":)" +
           std::to_string(price) + R"(,"Size":)" + std::to_string(action == 2 ? 0 : size) + "}";
  }

  ScopeOf scope_;
  cases::Random random_;
  std::vector<TrueBook> books_;
  std::map<std::uint32_t, std::uint32_t> product_number_;
  std::uint32_t sequence_ = 0;
};

bool same_rows(const TrueBook& left, const TrueBook& right) {
  return left.bids == right.bids && left.asks == right.asks;
}

/// One day: bursts of loss, a carousel of snapshots that is lossy too, resets; then a quiet end.
class Day {
 public:
  Day(ScopeOf scope, std::uint64_t seed, const RecoveryOptions& options)
      : scope_(scope), seed_(seed), exchange_(scope, seed, kInstruments), stage_(scope, kInstruments, options) {}

  void run() {
    constexpr int kSteps = 600;
    constexpr int kQuiet = 200;
    if (exchange_.random().chance(50)) skip(1 + exchange_.random().below(20));  // joins late
    for (int step = 0; step < kSteps + kQuiet && !::testing::Test::HasFatalFailure(); ++step) {
      stage_.now += 1'000'000;
      const bool is_quiet = step >= kSteps;
      if (!is_quiet && burst_ == 0 && exchange_.random().chance(3)) burst_ = 1 + exchange_.random().below(6);
      send_increment(burst_ != 0);
      if (burst_ != 0) --burst_;
      if (exchange_.random().chance(40)) send_snapshot(!is_quiet && exchange_.random().chance(10));
      check(step);
    }
    for (std::uint32_t security = 1; security <= kInstruments; ++security) {
      EXPECT_EQ(stage_.standing(security), Standing::Latest)
          << "security " << security << " at the end, seed " << seed_;
    }
    EXPECT_EQ(stage_.counts().differences, 0U) << "seed " << seed_;
  }
  MarketCounts counts() const { return stage_.counts(); }

 private:
  static constexpr std::uint32_t kInstruments = 7;

  void skip(std::uint64_t count) {
    for (; count != 0; --count) (void)exchange_.next(stage_.now);
    delivered_ = exchange_.sequence();
  }
  void send_increment(bool is_lost) {
    const bool resets = scope_ != ScopeOf::Product && exchange_.random().chance(1) && exchange_.random().chance(50);
    const Exchange::Message message = resets ? exchange_.reset(stage_.now) : exchange_.next(stage_.now);
    is_reset_lost_ = is_reset_lost_ || (resets && is_lost);
    if (is_lost) return;
    if (message.sequence != delivered_ + 1) {
      stage_.event(kIncrements, record::EventKind::Gap, delivered_ + 1, message.sequence - delivered_ - 1);
      if (is_reset_lost_) {
        // Nothing tells of a reset that was lost but the exchange's next run of numbers.
        stage_.event(kIncrements, record::EventKind::Reset, message.sequence);
        is_reset_lost_ = false;
      }
    }
    delivered_ = message.sequence;
    stage_.message(kIncrements, message.sequence, message.json);
    seen_ = exchange_.books();
  }
  void send_snapshot(bool is_lossy) {
    if (cycle_at_ == kInstruments) {
      cycle_at_ = 0;
      snapshot_sequence_ = 0;
      ++epoch_;
    }
    const std::uint32_t security = ++cycle_at_;
    pictured_[security] = exchange_.book(security);
    for (const std::string& part : exchange_.snapshot(security, stage_.now)) {
      ++snapshot_sequence_;
      if (is_lossy && exchange_.random().chance(50)) continue;
      stage_.message(kSnapshots, snapshot_sequence_, part, epoch_);
    }
  }
  void check(int step) {
    if (seen_.empty() || is_reset_lost_) return;
    for (std::uint32_t security = 1; security <= kInstruments; ++security) {
      const std::uint32_t row = stage_.row(security);
      if (row == 0 || stage_.books().standing(row) != Standing::Latest) continue;
      const TrueBook book = stage_.book(row);
      // That of the newest message, or ahead of it by a snapshot.
      const bool is_ahead = exchange_.sequence() != delivered_ && same_rows(book, pictured_[security]);
      ASSERT_TRUE(same_rows(book, seen_[security]) || is_ahead)
          << "security " << security << " is latest and wrong, seed " << seed_ << " step " << step;
      ASSERT_TRUE(stage_.is_whole(row)) << "seed " << seed_ << " step " << step;
    }
  }

  ScopeOf scope_;
  std::uint64_t seed_;
  Exchange exchange_;
  Stage stage_;
  std::vector<TrueBook> seen_;                                                ///< By the messages that came.
  std::vector<TrueBook> pictured_ = std::vector<TrueBook>(kInstruments + 1);  ///< By the newest snapshots.
  std::uint64_t burst_ = 0;
  std::uint32_t delivered_ = 0;
  bool is_reset_lost_ = false;
  std::uint32_t cycle_at_ = 0;
  std::uint32_t snapshot_sequence_ = 0;
  std::uint16_t epoch_ = 0;
};

class Recovery : public ::testing::TestWithParam<ScopeOf> {};

TEST_P(Recovery, makes_each_book_right_again_and_none_latest_that_is_wrong) {
  const std::uint64_t days = std::getenv("STOPBIT_LONG") != nullptr ? 1'000 : 12;
  MarketCounts sum;
  for (std::uint64_t seed = 1; seed <= days && !HasFailure(); ++seed) {
    RecoveryOptions options;
    options.policy = seed % 3 == 0 ? Policy::Pessimistic : Policy::Optimistic;
    options.refresh = seed % 2 == 0;
    options.queued = seed % 5 == 0 ? 8 : 4'096;
    Day day(GetParam(), seed, options);
    day.run();
    const MarketCounts counts = day.counts();
    sum.losses += counts.losses;
    sum.loads += counts.loads;
    sum.audits += counts.audits;
    sum.unqueued += counts.unqueued;
    sum.refreshes += counts.refreshes;
    sum.torn_snapshots += counts.torn_snapshots;
  }
  // Each of these was tried.
  EXPECT_GT(sum.losses, 10U);
  EXPECT_GT(sum.loads, 50U);
  EXPECT_GT(sum.audits, 50U);
  EXPECT_GT(sum.unqueued, 0U);
  EXPECT_GT(sum.refreshes, 10U);
  EXPECT_GT(sum.torn_snapshots, 0U);
}

std::string scope_name(const ::testing::TestParamInfo<ScopeOf>& scope) {
  switch (scope.param) {
    case ScopeOf::Instrument: return "instrument";
    case ScopeOf::Product: return "product";
    case ScopeOf::Channel: return "channel";
  }
  return {};
}
INSTANTIATE_TEST_SUITE_P(scopes, Recovery, ::testing::Values(ScopeOf::Instrument, ScopeOf::Product, ScopeOf::Channel),
                         scope_name);

// What a feed can do to hurt.

std::string increment(std::uint32_t sequence, std::uint32_t security, std::uint32_t number, int price, int action = 0) {
  return R"({"template":"Refresh","fields":{"MsgSeqNum":)" + std::to_string(sequence) + R"(,"SendingTime":)" +
         std::to_string(kBegin) + R"(,"Entries":[{"Security":)" + std::to_string(security) + R"(,"RptSeq":)" +
         std::to_string(number) + R"(,"Action":)" + std::to_string(action) + R"(,"Type":"0","Price":)" +
         std::to_string(price) + R"(,"Size":5}]}})";
}
std::string picture(std::uint32_t security, std::uint32_t number, std::uint32_t processed, int price,
                    std::uint64_t sent = kBegin, int first = 1, int last = 1) {
  return R"({"template":"Snapshot","fields":{"SendingTime":)" + std::to_string(sent) + R"(,"Security":)" +
         std::to_string(security) + R"(,"Number":)" + std::to_string(number) + R"(,"Processed":)" +
         std::to_string(processed) + R"(,"First":)" + std::to_string(first) + R"(,"Last":)" + std::to_string(last) +
         R"(,"Entries":[{"Type":"0","Price":)" + std::to_string(price) + R"(,"Size":5}]}})";
}
const TrueBook bid_at(std::int64_t price) {
  return {.bids = {{price, 5}}, .asks = {}, .number = 0};
}

/// Security 1 is at 10, and its next two entries are lost.
void lose_two(Stage& stage) {
  stage.message(kIncrements, 1, increment(1, 1, 10, 50));
  stage.message(kSnapshots, 1, picture(1, 10, 1, 50));
  ASSERT_EQ(stage.standing(1), Standing::Latest);
  stage.message(kIncrements, 2, increment(2, 1, 13, 60));
  ASSERT_EQ(stage.standing(1), Standing::Stale);
}

TEST(HostileSnapshots, of_the_past_change_nothing) {
  Stage stage(ScopeOf::Instrument, 8);
  lose_two(stage);
  const TrueBook before = stage.book(1);
  for (const std::uint32_t number : {0U, 1U, 9U, 10U, 11U}) stage.message(kSnapshots, 2, picture(1, number, 0, 99));
  EXPECT_EQ(stage.book(1), before);
  EXPECT_EQ(stage.standing(1), Standing::Stale);
  EXPECT_EQ(stage.counts().old_snapshots, 5U);
  stage.message(kSnapshots, 3, picture(1, 12, 2, 55));
  EXPECT_EQ(stage.standing(1), Standing::Latest);
  EXPECT_EQ(stage.book(1), (TrueBook{.bids = {{55, 5}, {60, 5}}, .asks = {}, .number = 0})) << "with what waited";
}

TEST(HostileSnapshots, of_the_future_are_taken_by_instruments_that_miss_something_only) {
  Stage stage(ScopeOf::Instrument, 8);
  lose_two(stage);
  stage.message(kIncrements, 3, increment(3, 2, 1, 70));
  stage.message(kSnapshots, 2, picture(2, 1, 3, 70));
  ASSERT_EQ(stage.standing(2), Standing::Latest);
  stage.message(kSnapshots, 3, picture(2, 4'000'000'000U, 4'000'000'000U, 99));
  EXPECT_EQ(stage.book(stage.row(2)), bid_at(70));
  stage.message(kSnapshots, 4, picture(1, 4'000'000'000U, 4'000'000'000U, 99));
  EXPECT_EQ(stage.book(1), bid_at(99));
  // It is the book at that number, so the entries up to it are in it; the next one after it is applied.
  stage.message(kIncrements, 4, increment(4, 1, 14, 61));
  EXPECT_EQ(stage.book(1), bid_at(99));
  stage.message(kIncrements, 5, increment(5, 1, 4'000'000'001U, 61));
  EXPECT_EQ(stage.book(1).bids.size(), 2U);
}

TEST(HostileSnapshots, that_are_torn_or_mixed_are_no_books) {
  Stage stage(ScopeOf::Instrument, 8);
  lose_two(stage);
  const TrueBook before = stage.book(1);
  stage.message(kSnapshots, 2, picture(1, 20, 9, 99, kBegin, 1, 0));
  stage.message(kSnapshots, 4, picture(1, 20, 9, 98, kBegin, 0, 1));  // 3 is missing
  stage.message(kSnapshots, 5, picture(1, 20, 9, 99, kBegin, 1, 0));
  stage.message(kSnapshots, 6, picture(1, 21, 9, 98, kBegin, 0, 1));  // another number
  stage.message(kSnapshots, 7, picture(1, 20, 9, 99, kBegin, 1, 0));
  stage.message(kSnapshots, 8, picture(2, 20, 9, 98, kBegin, 0, 1));  // another instrument
  stage.message(kSnapshots, 9, picture(1, 20, 9, 99, kBegin, 1, 0));
  stage.message(kSnapshots, 10, picture(1, 20, 9, 98, kBegin, 0, 1), 1);  // another cycle, whose places go on
  EXPECT_EQ(stage.book(1), before);
  EXPECT_EQ(stage.counts().loads, 1U) << "that before the loss";
  EXPECT_GE(stage.counts().torn_snapshots, 3U);
  stage.message(kSnapshots, 11, picture(1, 20, 9, 99), 1);
  EXPECT_EQ(stage.book(1), bid_at(99));
}

TEST(HostileSnapshots, with_more_entries_than_there_is_room_for_are_dropped) {
  Stage stage(ScopeOf::Instrument, 8, {.picture = 2});
  lose_two(stage);
  const TrueBook before = stage.book(1);
  stage.message(kSnapshots, 2, picture(1, 20, 9, 97, kBegin, 1, 0));
  stage.message(kSnapshots, 3, picture(1, 20, 9, 98, kBegin, 0, 0));
  stage.message(kSnapshots, 4, picture(1, 20, 9, 99, kBegin, 0, 1));
  EXPECT_EQ(stage.book(1), before);
  EXPECT_EQ(stage.counts().torn_snapshots, 1U);
}

TEST(HostileSnapshots, from_before_a_reset_are_dropped) {
  Stage stage(ScopeOf::Instrument, 8);
  lose_two(stage);
  stage.event(kIncrements, record::EventKind::Reset, 1);
  EXPECT_EQ(stage.standing(1), Standing::Stale);
  stage.message(kIncrements, 1, increment(1, 1, 1, 40));
  stage.message(kSnapshots, 2, picture(1, 500, 900, 99, kBegin - 1));
  EXPECT_NE(stage.book(1), bid_at(99));
  stage.message(kSnapshots, 3, picture(1, 1, 1, 40));
  EXPECT_EQ(stage.book(1), bid_at(40));
  EXPECT_EQ(stage.standing(1), Standing::Latest);
}

TEST(RecoveryOfBooks, counts_which_books_a_loss_hit_and_how_they_healed) {
  Stage stage(ScopeOf::Instrument, 8);
  lose_two(stage);
  stage.message(kIncrements, 3, increment(3, 2, 1, 70));
  stage.message(kSnapshots, 2, picture(2, 1, 3, 70));
  EXPECT_EQ(stage.counts().hit, 1U);
  EXPECT_EQ(stage.counts().healed_by_snapshot + stage.counts().healed_by_message, 0U) << "the first book heals nothing";
  stage.now += 5'000'000;
  stage.message(kSnapshots, 3, picture(1, 13, 3, 55));
  EXPECT_EQ(stage.counts().healed_by_snapshot, 1U);
  EXPECT_EQ(stage.counts().stale_us, 5'000U);
  // A lost packet puts both in doubt; the next number of one shows that it lost nothing.
  stage.event(kIncrements, record::EventKind::Gap, 4);
  EXPECT_EQ(stage.standing(1), Standing::Suspect);
  EXPECT_EQ(stage.counts().hit, 3U);
  stage.now += 1'000'000;
  stage.message(kIncrements, 5, increment(5, 1, 14, 61));
  EXPECT_EQ(stage.standing(1), Standing::Latest);
  EXPECT_EQ(stage.standing(2), Standing::Suspect);
  EXPECT_EQ(stage.counts().healed_by_message, 1U);
  EXPECT_EQ(stage.counts().stale_us, 6'000U);
}

TEST(RecoveryOfBooks, continues_numbers_of_packets_that_go_round) {
  Stage stage(ScopeOf::Channel, 8);
  std::uint32_t sequence = 0xFFFF'FFFEU;
  stage.message(kIncrements, sequence, increment(1, 1, 1, 50));
  stage.message(kSnapshots, 1, picture(1, sequence, sequence, 50));
  ASSERT_EQ(stage.standing(1), Standing::Latest);
  stage.message(kIncrements, ++sequence, increment(1, 1, 2, 51));
  stage.message(kIncrements, ++sequence, increment(1, 1, 3, 52));
  EXPECT_EQ(sequence, 0U);
  EXPECT_EQ(stage.standing(1), Standing::Latest);
  EXPECT_EQ(stage.book(1).bids.size(), 3U);
  EXPECT_EQ(stage.counts().losses, 0U);
  stage.message(kIncrements, sequence + 2, increment(1, 1, 5, 53));
  EXPECT_EQ(stage.standing(1), Standing::Stale);
  EXPECT_EQ(stage.counts().losses, 1U);
}

TEST(RecoveryOfBooks, says_that_kept_entries_found_no_room_and_takes_a_later_snapshot) {
  Stage stage(ScopeOf::Instrument, 8, {.refresh = false, .queued = 4});
  lose_two(stage);
  for (std::uint32_t i = 0; i < 10; ++i) {
    stage.message(kIncrements, 3 + i, increment(3 + i, 1, 14 + i, static_cast<int>(61 + i)));
  }
  EXPECT_GT(stage.counts().unqueued, 0U);
  EXPECT_EQ(stage.books().status(1).cause, Cause::Queue);
  stage.message(kSnapshots, 2, picture(1, 14, 3, 99));
  EXPECT_EQ(stage.standing(1), Standing::Stale) << "entries after it are gone";
  stage.message(kSnapshots, 3, picture(1, 21, 10, 99));
  EXPECT_EQ(stage.standing(1), Standing::Latest);
  EXPECT_EQ(stage.book(1).bids.size(), 3U) << "99, and the two that were kept after it";
}

TEST(RecoveryOfBooks, of_many_instruments_that_are_stale_at_once) {
  const std::uint32_t many = std::getenv("STOPBIT_LONG") != nullptr ? 100'000 : 10'000;
  Stage stage(ScopeOf::Channel, many, {.queued = 1'024});
  stage.follow(false);  // a reader that compares would take hours
  std::uint32_t sequence = 0;
  for (std::uint32_t i = 1; i <= many; ++i) {
    ++sequence;
    stage.message(kIncrements, sequence, increment(sequence, i, 1, 50));
  }
  std::uint32_t place = 0;
  for (std::uint32_t i = 1; i <= many; ++i) stage.message(kSnapshots, ++place, picture(i, sequence, sequence, 50));
  ASSERT_EQ(stage.books().count_of(Standing::Latest), many);
  stage.event(kIncrements, record::EventKind::Gap, ++sequence);
  EXPECT_EQ(stage.books().count_of(Standing::Stale), many);
  for (std::uint32_t i = 1; i <= 2'000; ++i) {
    ++sequence;
    stage.message(kIncrements, sequence, increment(sequence, i, 3, 51));
  }
  EXPECT_GT(stage.counts().unqueued, 0U);
  for (std::uint32_t i = 1; i <= many; ++i) stage.message(kSnapshots, ++place, picture(i, sequence, sequence, 52), 1);
  EXPECT_EQ(stage.books().count_of(Standing::Latest), many);
  EXPECT_EQ(stage.book(stage.row(many)), bid_at(52));
}

}  // namespace stopbit::market::recovery_test
