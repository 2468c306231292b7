#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "host/market/saved/saved_books.hpp"
#include "host/market/stage/translator.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/random.hpp"
#include "tests/unit/market/stage/saved_file.hpp"

/// A simulated exchange, whose books are known, and the stage with a reader of its events.
namespace stopbit::market::simulated {

inline constexpr const char* kTemplates = R"(<templates>
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

inline constexpr const char* kMap = R"([feed]
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

inline constexpr std::uint64_t kBegin = 1'700'000'000'000'000'000;
inline constexpr std::uint16_t kIncrements = 3;
inline constexpr std::uint16_t kSnapshots = 4;

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
  /// All that the stage knows, as a file.
  std::vector<record::Slot> save(std::uint64_t saved_ns = 0) {
    return saved_file(translator_, table_.count(), {.saved_ns = saved_ns});
  }
  Translator& translator() { return translator_; }
  std::uint64_t era() { return translator_.era(kIncrements); }
  void begin_era(std::uint64_t era) { translator_.begin_era(kIncrements, era); }
  /// Takes over what another stage has saved, of a process that has delivered up to `last`.
  Translator::Restored restore(std::span<const record::Slot> file, std::uint64_t era, std::uint64_t last) {
    const auto saved = SavedBooks::over(std::as_bytes(file));
    EXPECT_TRUE(saved) << saved.message();
    if (!saved) return {};
    begin_era(era);
    const Translator::Left left{.channel = kIncrements, .era = era, .last = last};
    return translator_.restore(saved.value(), std::span(&left, 1), now);
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
    if (!options.channels.empty()) return options;
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
  /// The next message has another number than the one after the last.
  void go_on_after(std::uint32_t sequence) { sequence_ = sequence; }
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

inline bool same_rows(const TrueBook& left, const TrueBook& right) {
  return left.bids == right.bids && left.asks == right.asks;
}

}  // namespace stopbit::market::simulated
