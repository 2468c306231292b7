#include "host/market/stage/translator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "host/market/event/print.hpp"
#include "templates/compiler.hpp"

/// From messages, written as JSON lines, to events and books.
namespace stopbit::market::translator_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kTemplates = R"(<templates>
  <template name="Refresh" id="1">
    <uInt32 name="MsgSeqNum" presence="optional"/>
    <sequence name="Entries">
      <uInt32 name="Action" presence="optional"/><string name="Type"/><string name="Security" presence="optional"/>
      <uInt32 name="RptSeq" presence="optional"/><uInt32 name="Level" presence="optional"/>
      <decimal name="Price" presence="optional"/><int64 name="Size" presence="optional"/>
      <uInt32 name="Orders" presence="optional"/><string name="Id" presence="optional"/>
      <uInt32 name="Session" presence="optional"/>
    </sequence>
  </template>
  <template name="Snapshot" id="2">
    <string name="Security"/><uInt32 name="RptSeq"/><uInt32 name="First" presence="optional"/>
    <uInt32 name="Last" presence="optional"/>
    <sequence name="Entries">
      <string name="Type"/><uInt32 name="Level" presence="optional"/><decimal name="Price" presence="optional"/>
      <int64 name="Size" presence="optional"/>
    </sequence>
  </template>
  <template name="Definition" id="3">
    <string name="Security"/><string name="Group"/><string name="Name"/>
    <sequence name="Feeds"><string name="Feed"/><uInt32 name="Depth"/></sequence>
    <decimal name="Tick"/><string name="Gone" presence="optional"/>
  </template>
  <template name="Status" id="4">
    <string name="Security" presence="optional"/><string name="Group" presence="optional"/><uInt32 name="State"/>
  </template>
</templates>)";

const std::string kMap = R"([feed]
name = "test"
[sequence]
entry = "RptSeq"
[instrument]
key = ["Security"]
[[book]]
by = "BY"
action = "Action"
actions = { 0 = "new", 1 = "change", 2 = "delete" }
position = "Level"
price = "Price"
quantity = "Size"
count = "Orders"
id = "Id"
[[message]]
kind = "incremental"
templates = ["Refresh"]
entries = "Entries"
session = "Session"
[[message]]
kind = "snapshot"
templates = ["Snapshot"]
entries = "Entries"
number = "RptSeq"
first = { First = { is = 1, absent = true } }
last = { Last = { is = 1, absent = true } }
[[message]]
kind = "definition"
templates = ["Definition"]
name = "Name"
product = "Group"
step = "Tick"
depth = { entries = "Feeds", type = "Feed", depth = "Depth", books = { D = "direct" } }
removed = { Gone = "Y" }
[[message]]
kind = "state"
templates = ["Status"]
group = "Group"
state = { field = "State", scale = "trading" }
[[message]]
kind = "other"
templates = ["FastReset"]
[[entry]]
when = { Type = ["0", "1"] }
role = "book"
side_field = "Type"
sides = { 0 = "bid", 1 = "ask" }
[[entry]]
when = { Type = "2" }
role = "trade"
id = "Id"
[[entry]]
when = { Type = "J" }
role = "empty"
[[entry]]
when = { Type = ["4", "7"] }
role = "statistic"
statistic_field = "Type"
statistics = { 4 = "open" }
[scale]
trading = { open = [17], halted = [2] }
)";

class Line {
 public:
  explicit Line(const std::string& by = "level", std::uint32_t instruments = 8)
      : program_(compile()),
        schema_(record::Schema::make(program_).value()),
        map_(compile_map_text(by)),
        table_(InstrumentTable::make({.capacity = instruments}).value()),
        books_({.instruments = instruments, .rows = 4'096, .orders = 64, .levels = 64, .listed = 64, .ladders = 4}),
        events_(1, TakeEvent{this}),
        publisher_(books_, &events_, nullptr),
        translator_(map_, program_, table_, books_, publisher_, 1),
        reader_(schema_),
        records_(program_.max_record_slots, TakeRecord{this}) {}

  /// A message; `sequence` is that of its packet.
  void read(const std::string& json, std::uint32_t sequence = 1) {
    sequence_ = sequence;
    const auto kind = reader_.read(json, records_);
    ASSERT_EQ(kind, record::JsonReader::Line::Message) << reader_.problem().message << "\n" << json;
  }
  /// Entries of one Refresh.
  void refresh(const std::string& entries, std::uint32_t sequence = 1) {
    read(R"({"template":"Refresh","fields":{"Entries":[)" + entries + "]}}", sequence);
  }
  void gap(std::uint64_t first) {
    record::BufferSink sink(program_.max_record_slots, TakeRecord{this});
    record::Builder builder(program_);
    builder.write_event(sink, {}, {.kind = record::EventKind::Gap, .word5 = first, .word6 = 1}, 0);
  }

  /// What was written since the last call: kind and what matters of it.
  std::vector<std::string> take() {
    translator_.finish();
    std::vector<std::string> texts;
    for (const Event& event : seen_) {
      std::string text(name_of(event.kind()));
      if (event.instrument() != 0) text += " " + std::string(key_of(table_.row(event.instrument())));
      if (event.side() != Side::None) text += " " + std::string(name_of(event.side()));
      if (event.kind() == Kind::Statistic) {
        text += " " + std::string(name_of(event.statistic()));
      } else if (event.kind() == Kind::Clear || event.kind() == Kind::Stale || event.kind() == Kind::Suspect) {
        text += " " + std::string(name_of(event.cause()));
      } else if (event.level() != 0) {
        text += " @" + std::to_string(event.level());
      }
      if (event.price() != kNoPrice) append_price(event.price(), text += " ");
      if (event.quantity() != kNoQuantity) text += " x" + std::to_string(event.quantity());
      if (event.kind() == Kind::State) text += " " + std::string(name_of(event.state().state));
      if (event.has(kFlagWide)) text += " wide";
      if (event.last_of_event()) text += " .";
      texts.push_back(text);
    }
    seen_.clear();
    return texts;
  }

  Row best(std::uint32_t row, Side side) { return books_.best(row, side); }
  const MarketCounts& counts() { return translator_.counts(); }
  InstrumentTable& table() { return table_; }
  BookSet& books() { return books_; }
  const std::vector<Event>& seen() const { return seen_; }

 private:
  struct TakeEvent {
    Line* self;
    void operator()(std::span<const record::Slot> slots) const { self->seen_.push_back(Event::from(slots[0])); }
  };
  struct TakeRecord {
    Line* self;
    void operator()(std::span<const record::Slot> slots) const {
      std::vector<record::Slot> copy(slots.begin(), slots.end());
      copy[0].words[2] |= self->sequence_;
      self->translator_.take(copy);
    }
  };

  static Program compile() {
    Diagnostics diagnostics;
    auto program = templates::compile({std::make_shared<SourceBuffer>("t.xml", kTemplates)}, {}, diagnostics);
    EXPECT_TRUE(program) << diagnostics.format();
    return program.value_or(Program());
  }
  Map compile_map_text(const std::string& by) {
    Diagnostics diagnostics;
    std::string text = kMap;
    text.replace(text.find("BY"), 2, by);
    auto source = read_map("m.toml", text, diagnostics);
    auto map = source ? compile_map(std::move(*source), program_, diagnostics) : std::nullopt;
    EXPECT_TRUE(map) << diagnostics.format();
    return map.value_or(Map());
  }

  Program program_;
  record::Schema schema_;
  Map map_;
  InstrumentTable table_;
  BookSet books_;
  record::BufferSink<TakeEvent> events_;
  Publisher publisher_;
  Translator translator_;
  record::JsonReader reader_;
  record::BufferSink<TakeRecord> records_;
  std::vector<Event> seen_;
  std::uint32_t sequence_ = 0;
};

std::string entry(const std::string& security, int number, const std::string& rest) {
  return R"({"Security":")" + security + R"(","RptSeq":)" + std::to_string(number) + "," + rest + "}";
}
std::string bid(const std::string& security, int number, int level, const std::string& price, int action = 0) {
  return entry(security, number,
               R"("Type":"0","Action":)" + std::to_string(action) + R"(,"Level":)" + std::to_string(level) +
                   R"(,"Price":)" + price + R"(,"Size":5)");
}

TEST(Translator, makes_events_of_entries_and_books_of_events) {
  Line line;
  line.refresh(bid("A", 1, 1, "10.5") + "," + entry("A", 2, R"("Type":"2","Price":10.5,"Size":1,"Id":"7")"));
  line.refresh(entry("A", 3, R"("Type":"4","Price":9)") + "," + entry("A", 4, R"("Type":"7","Price":11)"));
  EXPECT_THAT(line.take(),
              ElementsAre("new A bid @1 10.5 x5", "trade A 10.5 x1 .", "statistic A open 9", "statistic A other 11 ."));
  EXPECT_EQ(line.best(1, Side::Bid).price, 10'500'000'000);
}

TEST(Translator, drops_repeats_and_tells_gaps_of_one_instrument_only) {
  Line line;
  line.refresh(bid("A", 1, 1, "10") + "," + bid("B", 7, 1, "20"));
  line.refresh(bid("A", 1, 1, "10"));
  line.refresh(bid("A", 4, 1, "11"));
  EXPECT_THAT(line.take(),
              ElementsAre("new A bid @1 10 x5", "new B bid @1 20 x5 .", "stale A gap", "new A bid @1 11 x5 ."));
  EXPECT_EQ(line.counts().repeats, 1U);
  EXPECT_EQ(line.counts().gaps, 1U);
  EXPECT_EQ(line.best(2, Side::Bid).price, 20'000'000'000);
}

TEST(Translator, survives_unknown_actions_and_absurd_levels) {
  Line line;
  line.refresh(bid("A", 1, 1, "10") + "," + bid("B", 1, 1, "20"));
  line.refresh(bid("A", 2, 1, "10", 9));
  line.refresh(entry("A", 3, R"("Type":"0","Action":0,"Level":2147483648,"Price":1,"Size":1)"));
  line.refresh(entry("A", 4, R"("Type":"0","Price":1,"Size":1,"Level":1)"));  // no action at all
  EXPECT_EQ(line.counts().unknown_actions, 2U);
  EXPECT_EQ(line.books().status(1).standing, Standing::Stale);
  EXPECT_EQ(line.books().status(1).cause, Cause::Contradiction);
  EXPECT_EQ(line.best(2, Side::Bid).price, 20'000'000'000);
  // An instrument is right again as soon as its rows are told.
  line.refresh(bid("A", 5, 1, "12"));
  EXPECT_EQ(line.best(1, Side::Bid).price, 12'000'000'000);
}

TEST(Translator, never_rounds_what_does_not_fit) {
  Line line;
  line.refresh(entry("A", 1, R"("Type":"2","Price":12345678901.5,"Size":1)") + "," +
               entry("A", 2, R"("Type":"2","Price":1e-10,"Size":9223372036854775807)"));
  EXPECT_THAT(line.take(), ElementsAre("trade A x1 wide", "trade A wide ."));
  EXPECT_EQ(line.counts().wide, 2U);
  // In a book: what cannot be told makes the book unknown, not wrong.
  line.refresh(bid("B", 1, 1, "10") + "," + bid("A", 3, 1, "10"));
  line.refresh(bid("A", 4, 1, "12345678901.5"));
  EXPECT_EQ(line.books().faults(Fault::Wide), 1U);
  EXPECT_EQ(line.best(1, Side::Bid).is_known, 0U);
  EXPECT_EQ(line.best(2, Side::Bid).price, 10'000'000'000);
}

TEST(Translator, counts_instruments_beyond_its_room_and_serves_the_others) {
  Line line("level", 4);
  for (int i = 0; i < 100'000; ++i) {
    line.read(R"({"template":"Definition","fields":{"Security":"S)" + std::to_string(i) +
              R"(","Group":"G","Name":"N","Feeds":[],"Tick":1}})");
    if (i % 1'000 == 0) (void)line.take();
  }
  EXPECT_EQ(line.table().count(), 4U);
  EXPECT_EQ(line.counts().refused, 99'996U);
  EXPECT_GE(line.table().view().refused(), 99'996U);
  (void)line.take();
  line.refresh(bid("S3", 1, 1, "10") + "," + bid("S4", 1, 1, "10"));
  EXPECT_THAT(line.take(), ElementsAre("new S3 bid @1 10 x5 ."));
}

TEST(Translator, survives_orders_twice_and_deletes_of_nothing) {
  Line line("order");
  const auto order = [](const std::string& security, int number, int action, const std::string& id) {
    return entry(security, number,
                 R"("Type":"0","Action":)" + std::to_string(action) + R"(,"Price":10,"Size":5,"Id":")" + id + "\"");
  };
  line.refresh(order("B", 1, 0, "1"));
  line.refresh(order("A", 1, 0, "1") + "," + order("A", 2, 0, "1"));
  EXPECT_EQ(line.books().faults(Fault::Twice), 1U);
  line.refresh(order("A", 3, 2, "99"));
  line.refresh(order("A", 4, 2, "no number"));
  EXPECT_EQ(line.counts().wide, 1U);
  EXPECT_EQ(line.best(1, Side::Bid).quantity, 5);
  EXPECT_EQ(line.books().faults(Fault::Twice), 1U);
}

TEST(Translator, takes_snapshots_whole_and_only_newer_ones) {
  Line line;
  const auto part = [](int number, const std::string& more, const std::string& entries) {
    return R"({"template":"Snapshot","fields":{"Security":"A","RptSeq":)" + std::to_string(number) + more +
           R"(,"Entries":[)" + entries + "]}}";
  };
  line.refresh(bid("A", 10, 1, "10"));
  line.read(part(9, "", R"({"Type":"0","Level":1,"Price":9,"Size":1})"), 2);
  EXPECT_EQ(line.counts().old_snapshots, 1U);
  line.read(part(12, "", R"({"Type":"0","Level":1,"Price":12,"Size":1},{"Type":"1","Level":1,"Price":13,"Size":1})"),
            3);
  EXPECT_EQ(line.best(1, Side::Bid).price, 12'000'000'000);
  line.refresh(bid("A", 12, 1, "99"), 4);  // it is in the snapshot
  line.refresh(bid("A", 13, 1, "12.5"), 5);
  EXPECT_EQ(line.best(1, Side::Bid).price, 12'500'000'000);
  (void)line.take();
  // Two parts, of which the second is of another picture.
  line.read(part(20, R"(,"First":1,"Last":0)", R"({"Type":"0","Level":1,"Price":20,"Size":1})"), 6);
  line.read(part(21, R"(,"First":0,"Last":1)", R"({"Type":"0","Level":2,"Price":19,"Size":1})"), 7);
  EXPECT_EQ(line.counts().torn_snapshots, 1U);
  EXPECT_THAT(line.take(), ElementsAre("snapshot_begin A", "new A bid @1 20 x1 .", "stale A gap ."));
  // Two parts that belong together.
  line.read(part(30, R"(,"First":1,"Last":0)", R"({"Type":"0","Level":1,"Price":20,"Size":1})"), 8);
  line.read(part(30, R"(,"First":0,"Last":1)", R"({"Type":"0","Level":2,"Price":19,"Size":1})"), 9);
  EXPECT_THAT(line.take(),
              ElementsAre("snapshot_begin A", "new A bid @1 20 x1 .", "new A bid @2 19 x1", "snapshot_end A ."));
}

TEST(Translator, reads_definitions_and_states_of_instruments_and_groups) {
  Line line;
  line.read(R"({"template":"Status","fields":{"Group":"G","State":17}})");
  line.read(
      R"({"template":"Definition","fields":{"Security":"A","Group":"G","Name":"Alpha","Feeds":[{"Feed":"X","Depth":3},{"Feed":"D","Depth":2}],"Tick":0.25}})");
  EXPECT_THAT(line.take(), ElementsAre("state A open", "definition A ."));
  const InstrumentRow& row = line.table().row(1);
  EXPECT_EQ(instrument_name(row), "Alpha");
  EXPECT_EQ(product_of(row), "G");
  EXPECT_EQ(row.tick, 250'000'000);
  EXPECT_EQ(row.depth[0], 2);
  EXPECT_EQ(row.state, static_cast<std::uint8_t>(TradingState::Open));
  // The depth is the book's: a third row falls off.
  line.refresh(bid("A", 1, 1, "10") + "," + bid("A", 2, 1, "11") + "," + bid("A", 3, 1, "12"));
  std::vector<Row> rows(4);
  EXPECT_EQ(line.books().rows(1, Side::Bid, rows), 2U);
  line.read(R"({"template":"Status","fields":{"Security":"A","State":2}})");
  line.read(R"({"template":"Status","fields":{"Security":"A","State":77}})");
  (void)line.take();
  EXPECT_EQ(line.table().row(1).state, static_cast<std::uint8_t>(TradingState::Unknown));
  EXPECT_EQ(line.table().row(1).state_code, 77U);
  // A tick that moves is told; the book goes on.
  line.read(
      R"({"template":"Definition","fields":{"Security":"A","Group":"G","Name":"Alpha","Feeds":[],"Tick":0.5,"Gone":"Y"}})");
  EXPECT_EQ(line.counts().tick_moves, 1U);
  EXPECT_NE(line.table().row(1).flags & kRowTickMoved, 0U);
  EXPECT_NE(line.table().row(1).flags & kRowRemoved, 0U);
  EXPECT_THAT(line.take(), ElementsAre("removed A ."));
}

TEST(Translator, empties_books_as_the_exchange_says) {
  Line line;
  line.refresh(bid("A", 1, 1, "10") + "," + bid("B", 1, 1, "20"));
  line.refresh(entry("A", 2, R"("Type":"J")"));
  EXPECT_EQ(line.best(1, Side::Bid).is_known, 0U);
  EXPECT_TRUE(line.books().extent(1, Side::Bid).is_whole);
  line.refresh(R"({"Type":"J"})");
  (void)line.take();
  EXPECT_TRUE(line.books().extent(2, Side::Bid).is_whole);
  line.refresh(bid("B", 1, 1, "21"));  // numbers begin anew
  EXPECT_EQ(line.best(2, Side::Bid).price, 21'000'000'000);
}

TEST(Translator, forgets_books_of_another_session) {
  Line line;
  const std::string rest = R"(,"Action":0,"Level":1,"Price":10,"Size":1})";
  line.refresh(R"({"Security":"A","Type":"0","RptSeq":1,"Session":5)" + rest);
  line.refresh(R"({"Security":"A","Type":"0","RptSeq":2,"Session":6)" + rest);
  EXPECT_THAT(line.take(), ElementsAre("new A bid @1 10 x1 .", "clear A session", "new A bid @1 10 x1 ."));
}

TEST(Translator, keeps_long_keys_apart) {
  Line line;
  const std::string a(60, 'a');
  const std::string b = a + "b";
  line.refresh(bid(a, 1, 1, "10") + "," + bid(b, 1, 1, "20"));
  ASSERT_EQ(line.table().count(), 2U);
  EXPECT_NE(line.table().row(1).flags & kRowKeyCut, 0U);
  EXPECT_EQ(line.best(1, Side::Bid).price, 10'000'000'000);
  EXPECT_EQ(line.best(2, Side::Bid).price, 20'000'000'000);
}

}  // namespace stopbit::market::translator_test
