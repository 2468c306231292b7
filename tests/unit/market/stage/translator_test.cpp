#include "host/market/stage/translator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "host/market/event/print.hpp"
#include "templates/compiler.hpp"
#include "tests/unit/market/stage/saved_file.hpp"

/// From messages, written as JSON lines, to events and books.
namespace stopbit::market::translator_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kTemplates = R"(<templates>
  <template name="Refresh" id="1">
    <uInt32 name="MsgSeqNum" presence="optional"/><uInt64 name="SendingTime" presence="optional"/>
    <sequence name="Entries">
      <uInt32 name="Action" presence="optional"/><string name="Type"/><string name="Security" presence="optional"/>
      <string name="Board" presence="optional"/>
      <uInt32 name="RptSeq" presence="optional"/><uInt32 name="Level" presence="optional"/>
      <decimal name="Price" presence="optional"/><int64 name="Size" presence="optional"/>
      <uInt32 name="Orders" presence="optional"/><string name="Id" presence="optional"/>
      <uInt32 name="Session" presence="optional"/>
      <decimal name="LastPrice" presence="optional"/><int64 name="LastSize" presence="optional"/>
    </sequence>
    <uInt32 name="Ends" presence="optional"/>
  </template>
  <template name="Snapshot" id="2">
    <uInt32 name="MsgSeqNum" presence="optional"/><uInt64 name="SendingTime" presence="optional"/>
    <string name="Security"/><string name="Board" presence="optional"/>
    <uInt32 name="RptSeq"/><uInt32 name="First" presence="optional"/><uInt32 name="Last" presence="optional"/>
    <uInt32 name="Session" presence="optional"/><uInt32 name="Refresh" presence="optional"/>
    <uInt32 name="State" presence="optional"/>
    <sequence name="Entries">
      <string name="Type"/><uInt32 name="Level" presence="optional"/><decimal name="Price" presence="optional"/>
      <int64 name="Size" presence="optional"/><string name="Id" presence="optional"/>
    </sequence>
  </template>
  <template name="Definition" id="3">
    <string name="Security"/><string name="Board" presence="optional"/><string name="Group"/><string name="Name"/>
    <uInt32 name="Complex" presence="optional"/>
    <sequence name="Feeds"><string name="Feed"/><uInt32 name="Depth"/></sequence>
    <decimal name="Tick"/><string name="Gone" presence="optional"/>
  </template>
  <template name="Status" id="4">
    <string name="Security" presence="optional"/><string name="Board" presence="optional"/>
    <string name="Group" presence="optional"/><uInt32 name="Within" presence="optional"/>
    <uInt32 name="State" presence="optional"/><uInt32 name="Event" presence="optional"/>
    <sequence name="List" presence="optional">
      <string name="Security"/><uInt32 name="OwnState" presence="optional"/>
    </sequence>
  </template>
  <template name="Boards" id="6">
    <string name="Security"/>
    <sequence name="List"><string name="Board"/></sequence>
    <sequence name="Feeds"><string name="Feed"/><uInt32 name="Depth"/></sequence>
  </template>
  <template name="Tick" id="7">
    <uInt32 name="MsgSeqNum" presence="optional"/><uInt64 name="SendingTime" presence="optional"/>
    <string name="Security" presence="optional"/><string name="Board" presence="optional"/>
    <uInt32 name="RptSeq" presence="optional"/><string name="Type"/><uInt32 name="Action" presence="optional"/>
    <uInt32 name="Level" presence="optional"/><decimal name="Price" presence="optional"/>
    <int64 name="Size" presence="optional"/><string name="Id" presence="optional"/>
  </template>
  <template name="Restart" id="5"><uInt64 name="SendingTime" presence="optional"/></template>
</templates>)";

const std::string kMap = R"([feed]
name = "test"
time = "SendingTime"
time_format = "ns"
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
kind = "incremental"
templates = ["Tick"]
[[message]]
kind = "snapshot"
templates = ["Snapshot"]
entries = "Entries"
number = "RptSeq"
first = { First = { is = 1, absent = true } }
last = { Last = { is = 1, absent = true } }
session = "Session"
[[message]]
kind = "reset"
templates = ["Restart"]
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
templates = ["FastReset", "Boards"]
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

/// Texts of the map, and what is there instead.
using Edits = std::vector<std::pair<std::string, std::string>>;
/// The feed has no numbers of entries, but of messages.
const Edits kByMessage = {{"entry = \"RptSeq\"", "message = \"MsgSeqNum\""}};

class Line {
 public:
  using Sequence = std::optional<std::uint32_t>;
  static constexpr std::uint64_t kNow = 1'700'000'000'000'000'000;
  static constexpr std::uint64_t kDay = 86'400'000'000'000;

  explicit Line(const Edits& edits) : Line("level", 8, edits) {}
  explicit Line(const std::string& by = "level", std::uint32_t instruments = 8, const Edits& edits = {})
      : program_(compile()),
        schema_(record::Schema::make(program_).value()),
        map_(compile_map_text(by, edits)),
        table_(InstrumentTable::make({.capacity = instruments}).value()),
        books_({.instruments = instruments, .rows = 4'096, .orders = 64, .levels = 64, .listed = 64, .ladders = 4}),
        events_(1, TakeEvent{this}),
        publisher_(books_, &events_, nullptr),
        translator_(map_, program_, table_, books_, publisher_, 1),
        reader_(schema_),
        records_(program_.max_record_slots, TakeRecord{this}) {}

  /// A message; `sequence` is that of its packet, else the channel's next one.
  void read(const std::string& json, Sequence sequence = {}) {
    sequence_ = sequence.value_or(last_[channel_] + 1);
    last_[channel_] = sequence_;
    const auto kind = reader_.read(json, records_);
    ASSERT_EQ(kind, record::JsonReader::Line::Message) << reader_.problem().message << "\n" << json;
  }
  /// Entries of one Refresh.
  void refresh(const std::string& entries, Sequence sequence = {}) {
    read(R"({"template":"Refresh","fields":{"Entries":[)" + entries + "]}}", sequence);
  }
  /// The same with the time at which the exchange has sent it.
  void refresh_at(std::uint64_t time, const std::string& entries) {
    read(R"({"template":"Refresh","fields":{"SendingTime":)" + std::to_string(time) + R"(,"Entries":[)" + entries +
         "]}}");
  }
  /// The same with a number of the message.
  void message(int number, const std::string& entries) {
    read(R"({"template":"Refresh","fields":{"MsgSeqNum":)" + std::to_string(number) + R"(,"Entries":[)" + entries +
             "]}}",
         static_cast<std::uint32_t>(number));
  }
  /// An event record of the channel.
  void event(record::EventKind kind, std::uint64_t first = 0) {
    sequence_ = std::max(sequence_, static_cast<std::uint32_t>(first));
    record::BufferSink sink(program_.max_record_slots, TakeRecord{this});
    record::Builder builder(program_);
    builder.write_event(sink, record::Header(), {.kind = kind, .word5 = first, .word6 = 1}, 0);
  }
  /// A packet is lost: the channel's next one.
  void gap(Sequence sequence = {}) {
    sequence_ = last_[channel_] = sequence.value_or(last_[channel_] + 1);
    event(record::EventKind::Gap, sequence_);
  }
  /// The records from here on lack their last slots.
  void cut(std::size_t slots) { cut_ = slots; }
  void last_of_packet(bool is_last) { is_last_of_packet_ = is_last; }
  /// That of the records from here on.
  void channel(std::uint16_t channel) { channel_ = channel; }

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
  std::vector<record::Slot> save() { return saved_file(translator_, table_.count()); }
  /// Takes over what was defined since `since_ns`, a day later.
  Translator::Restored restored(const std::vector<record::Slot>& file, std::uint64_t since_ns = 0) {
    const auto saved = SavedBooks::over(std::as_bytes(std::span(file)));
    EXPECT_TRUE(saved) << saved.message();
    return saved ? translator_.restore_definitions(saved.value(), since_ns, kNow + kDay) : Translator::Restored();
  }
  std::uint32_t restore_definitions(const std::vector<record::Slot>& file, std::uint64_t since_ns = 0) {
    return restored(file, since_ns).instruments;
  }
  MarketCounts counts() { return translator_.counts(); }
  InstrumentTable& table() { return table_; }
  BookSet& books() { return books_; }
  Standing standing(std::uint32_t row) const { return books_.standing(row); }
  /// Rows of a side as price*quantity, and whether they are all.
  std::string side(std::uint32_t row, Side side) {
    translator_.finish();
    std::vector<Row> rows(64);
    rows.resize(books_.rows(row, side, rows));
    std::string text;
    for (const Row& one : rows) {
      if (one.is_known == 0) {
        text += "? ";
        continue;
      }
      append_price(one.price, text);
      text += "*" + std::to_string(one.quantity) + " ";
    }
    return text + (books_.extent(row, side).is_whole ? "whole" : "part");
  }
  std::string bids(std::uint32_t row = 1) { return side(row, Side::Bid); }
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
      copy[0].words[1] = kNow;
      copy[0].words[2] |= self->sequence_ | std::uint64_t{self->channel_} << 32;
      copy[0].words[2] &= ~(std::uint64_t{record::kFlagLastOfPacket} << 56);
      if (self->is_last_of_packet_) copy[0].words[2] |= std::uint64_t{record::kFlagLastOfPacket} << 56;
      copy.resize(copy.size() - self->cut_);
      copy[0].words[0] -= std::uint64_t{self->cut_} << 16;
      self->translator_.take(copy);
    }
  };

  static Program compile() {
    Diagnostics diagnostics;
    auto program = templates::compile({std::make_shared<SourceBuffer>("t.xml", kTemplates)}, {}, diagnostics);
    EXPECT_TRUE(program) << diagnostics.format();
    return program.value_or(Program());
  }
  Map compile_map_text(const std::string& by, const Edits& edits) {
    Diagnostics diagnostics;
    std::string text = kMap;
    for (const auto& [what, with] : edits) {
      EXPECT_NE(text.find(what), std::string::npos) << what;
      text.replace(text.find(what), what.size(), with);
    }
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
  std::map<std::uint16_t, std::uint32_t> last_;  ///< By channel: its last packet.
  std::uint32_t sequence_ = 0;
  std::uint16_t channel_ = 0;
  std::size_t cut_ = 0;
  bool is_last_of_packet_ = true;
};

std::string entry(const std::string& security, int number, const std::string& rest) {
  return R"({"Security":")" + security + R"(","RptSeq":)" + std::to_string(number) + "," + rest + "}";
}
std::string bid(const std::string& security, int number, int level, const std::string& price, int action = 0) {
  return entry(security, number,
               R"("Type":"0","Action":)" + std::to_string(action) + R"(,"Level":)" + std::to_string(level) +
                   R"(,"Price":)" + price + R"(,"Size":5)");
}

/// A message of a snapshot; `more` are further fields, and begin with a comma.
std::string snapshot(const std::string& security, int number, const std::string& entries,
                     const std::string& more = "") {
  return R"({"template":"Snapshot","fields":{"Security":")" + security + R"(","RptSeq":)" + std::to_string(number) +
         more + R"(,"Entries":[)" + entries + "]}}";
}
const std::string kFirst = R"(,"First":1,"Last":0)";
const std::string kMiddle = R"(,"First":0,"Last":0)";
const std::string kLast = R"(,"First":0,"Last":1)";
std::string row(int level, const std::string& price, const std::string& type = "0") {
  return R"({"Type":")" + type + R"(","Level":)" + std::to_string(level) + R"(,"Price":)" + price + R"(,"Size":1})";
}
std::string sent_at(std::uint64_t time) {
  return R"(,"SendingTime":)" + std::to_string(time);
}

TEST(Translator, makes_events_of_entries_and_books_of_events) {
  Line line;
  line.refresh(bid("A", 1, 1, "10.5") + "," + entry("A", 2, R"("Type":"2","Price":10.5,"Size":1,"Id":"7")"));
  line.refresh(entry("A", 3, R"("Type":"4","Price":9)") + "," + entry("A", 4, R"("Type":"7","Price":11)"));
  EXPECT_THAT(line.take(),
              ElementsAre("new A bid @1 10.5 x5", "trade A 10.5 x1 .", "statistic A open 9", "statistic A other 11 ."));
  EXPECT_EQ(line.best(1, Side::Bid).price, 10'500'000'000);
}

/// Entries of all kinds, with and without each value that decides what they are.
std::vector<std::string> kinds_of_entries() {
  std::vector<std::string> all;
  for (const char* const type : {"0", "2", "4", "X", "0123456789"}) {
    for (const char* const action : {"", R"(,"Action":0)", R"(,"Action":9)"}) {
      for (const char* const price : {"", R"(,"Price":10.5)"}) {
        for (const char* const session : {"", R"(,"Session":1)", R"(,"Session":2)"}) {
          all.push_back(R"("Type":")" + std::string(type) + "\"" + action + price + session + R"(,"Level":1,"Size":1)");
        }
      }
    }
  }
  return all;
}

TEST(Translator, reads_each_entry_as_if_it_were_the_first) {
  // More values decide than their routes can be kept by; and few.
  const Edits many = {{"when = { Type = \"2\" }",
                       "when = { Type = \"2\", Size = 9 }\nrole = \"index\"\n[[entry]]\n"
                       "when = { Type = \"X\", Level = 7, Orders = { is = 1, absent = true }, Board = \"Z\" }\n"
                       "role = \"quote_request\"\n[[entry]]\n"
                       "when = { Type = \"X\", Session = { is = 1, absent = true } }\nrole = \"index\"\n[[entry]]\n"
                       "when = { Type = \"2\" }"}};
  for (const Edits& edits : {Edits(), many}) {
    std::vector<std::string> kinds = kinds_of_entries();
    std::vector<std::string> expected;
    for (const std::string& kind : kinds) {
      Line line("level", 8, edits);
      line.refresh(entry("A", 1, kind));
      const std::vector<std::string> made = line.take();
      ASSERT_FALSE(made.empty()) << kind;
      expected.push_back(made[0]);
    }
    Line line("level", 1'024, edits);
    std::minstd_rand random(1);
    std::uint32_t instruments = 0;
    for (int i = 0; i < 1'000; ++i) {
      const std::size_t at = random() % kinds.size();
      // Its own instrument, so that nothing went before it; now and then a key that is no word.
      std::string name = "I" + std::to_string(++instruments);
      if (i % 7 == 0) name += "-of-a-long-name";
      line.refresh(entry(name, 1, kinds[at]));
      const std::vector<std::string> made = line.take();
      ASSERT_FALSE(made.empty());
      std::string first = made[0];
      first.replace(first.find(name), name.size(), "A");
      ASSERT_EQ(first, expected[at]) << kinds[at];
    }
  }
}

TEST(Translator, takes_a_message_without_entries_for_the_entry_itself) {
  Line line;
  line.read(R"({"template":"Tick","fields":{"Security":"A","RptSeq":1,"Type":"0","Action":0,"Level":1,"Price":9,)"
            R"("Size":5}})");
  line.read(R"({"template":"Tick","fields":{"Security":"A","RptSeq":2,"Type":"2","Price":9,"Size":2,"Id":"7"}})");
  line.read(R"({"template":"Tick","fields":{"Security":"A","RptSeq":2,"Type":"2","Price":9,"Size":2,"Id":"7"}})");
  line.read(R"({"template":"Tick","fields":{"Security":"A","RptSeq":4,"Type":"2","Price":8,"Size":1,"Id":"8"}})");
  EXPECT_THAT(line.take(),
              ElementsAre("new A bid @1 9 x5 .", "trade A 9 x2 .", "stale A gap", "clear A gap", "trade A 8 x1 ."));
  EXPECT_EQ(line.counts().entries, 4U);
  EXPECT_EQ(line.counts().repeats, 1U);
}

TEST(Translator, drops_repeats_and_tells_gaps_of_one_instrument_only) {
  Line line;
  line.refresh(bid("A", 1, 1, "10") + "," + bid("B", 7, 1, "20"));
  line.refresh(bid("A", 1, 1, "10"));
  line.refresh(bid("A", 4, 1, "11"));
  EXPECT_THAT(line.take(), ElementsAre("new A bid @1 10 x5", "new B bid @1 20 x5 .", "stale A gap", "clear A gap",
                                       "new A bid @1 11 x5 ."));
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
  EXPECT_EQ(line.counts().wide, 0U) << "its hash is as good";
  EXPECT_EQ(line.bids(), "? 10*5 part");
  EXPECT_EQ(line.books().faults(Fault::Twice), 1U);
}

TEST(Translator, takes_snapshots_whole_and_only_newer_ones) {
  Line line;
  const auto part = [](int number, const std::string& more, const std::string& entries) {
    return snapshot("A", number, entries, more);
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
  line.refresh(bid("A", 19, 1, "12.5"), 6);  // so that snapshots are of use
  EXPECT_EQ(line.books().standing(1), Standing::Stale);
  (void)line.take();
  // Two parts, of which the second is of another picture.
  line.read(part(20, R"(,"First":1,"Last":0)", R"({"Type":"0","Level":1,"Price":20,"Size":1})"), 7);
  line.read(part(21, R"(,"First":0,"Last":1)", R"({"Type":"0","Level":2,"Price":19,"Size":1})"), 8);
  EXPECT_EQ(line.counts().torn_snapshots, 1U);
  EXPECT_THAT(line.take(), IsEmpty()) << "the book is built beside the others";
  // Two parts that belong together.
  line.read(part(30, R"(,"First":1,"Last":0)", R"({"Type":"0","Level":1,"Price":20,"Size":1})"), 9);
  line.read(part(30, R"(,"First":0,"Last":1)", R"({"Type":"0","Level":2,"Price":19,"Size":1})"), 10);
  EXPECT_THAT(line.take(), ElementsAre("snapshot_begin A", "new A bid @1 20 x1", "new A bid @2 19 x1", "snapshot_end A",
                                       "latest A ."));
  EXPECT_EQ(line.books().standing(1), Standing::Latest);
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

/// A definition of A with a name, a tick and a depth.
std::string definition(const std::string& name, const std::string& tick, int depth) {
  return R"({"template":"Definition","fields":{"Security":"A","Group":"G","Name":")" + name +
         R"(","Complex":3,"Feeds":[{"Feed":"D","Depth":)" + std::to_string(depth) + R"(}],"Tick":)" + tick + "}}";
}

/// Keys may name another instrument by now, and depths may be others: names and ticks are taken, and say so.
TEST(Translator, takes_definitions_of_an_earlier_day_until_those_of_this_one_come) {
  Line before;
  before.read(definition("Alpha", "0.25", 1));
  before.refresh(bid("A", 1, 1, "10") + "," + bid("B", 1, 1, "20"));
  before.read(
      R"({"template":"Definition","fields":{"Security":"C","Group":"G","Name":"Gone","Feeds":[],"Tick":1,"Gone":"Y"}})");
  const std::vector<record::Slot> file = before.save();
  Line line;
  EXPECT_EQ(line.restore_definitions(file, Line::kNow + 1), 0U) << "too long ago";
  ASSERT_EQ(line.restore_definitions(file, Line::kNow), 1U) << "B was never defined, C is gone";
  EXPECT_EQ(line.restore_definitions(file), 0U) << "each once";
  EXPECT_THAT(line.take(), ElementsAre("definition A ."));
  const InstrumentRow& row = line.table().row(1);
  EXPECT_EQ(key_of(row), "A");
  EXPECT_EQ(instrument_name(row), "Alpha");
  EXPECT_EQ(product_of(row), "G");
  EXPECT_EQ(row.tick, 250'000'000);
  EXPECT_EQ(row.flags, kRowDefined | kRowEarlier);
  EXPECT_EQ(row.definition_ns, Line::kNow);
  EXPECT_EQ(row.first_ns, 0U);
  EXPECT_EQ(row.depth[0], 0);
  EXPECT_EQ(line.table().view().find_name("Alpha"), 1U);
  EXPECT_EQ(line.standing(1), Standing::Stale) << "there is no book";
  // The first record with the key: the same row, and the book of an instrument of which nothing is known.
  Line other;
  for (Line* const one : {&line, &other}) one->refresh(bid("A", 1, 1, "10") + "," + bid("A", 2, 2, "9"));
  EXPECT_EQ(line.table().count(), 1U);
  EXPECT_EQ(line.bids(), other.bids());
  EXPECT_EQ(line.take(), other.take());
  EXPECT_EQ(row.first_ns, Line::kNow);
  EXPECT_EQ(row.first_number, 1U);
  EXPECT_NE(row.flags & kRowEarlier, 0U);
  // Today's definition, with another tick: it is no tick that moved in the day.
  for (Line* const one : {&line, &other}) one->read(definition("Beta", "0.5", 2));
  EXPECT_EQ(instrument_name(row), "Beta");
  EXPECT_EQ(row.tick, 500'000'000);
  EXPECT_EQ(row.depth[0], 2);
  EXPECT_EQ(row.flags, kRowDefined);
  EXPECT_EQ(line.counts().tick_moves, 0U);
  EXPECT_EQ(line.table().view().find_name("Alpha"), 0U);
  EXPECT_EQ(line.table().view().find_name("Beta"), 1U);
  EXPECT_EQ(line.take(), other.take());
}

/// The exchange may use other keys today, as many as yesterday: they find room.
TEST(Translator, takes_definitions_of_an_earlier_day_only_as_far_as_they_take_no_room) {
  Line before;
  const auto define = [](Line& line, const std::string& key) {
    line.read(R"({"template":"Definition","fields":{"Security":")" + key +
              R"(","Group":"G","Name":"N","Feeds":[],"Tick":1}})");
  };
  for (int i = 0; i < 3; ++i) define(before, "O" + std::to_string(i));
  const std::vector<record::Slot> file = before.save();
  for (const std::uint32_t room : {2U, 3U, 4U, 5U, 6U, 7U}) {
    Line line("level", room);
    const std::uint32_t taken = std::clamp(room, 3U, 6U) - 3;
    const Translator::Restored restored = line.restored(file);
    EXPECT_EQ(restored.instruments, taken) << room;
    EXPECT_EQ(restored.left_out, 3 - taken) << room;
    for (int i = 0; i < 3; ++i) define(line, "N" + std::to_string(i));
    EXPECT_EQ(line.table().count(), std::min(room, taken + 3)) << room;
    EXPECT_EQ(line.counts().refused, room < 3 ? 3 - room : 0U) << room;
  }
}

/// An addition is no definition, and a removal names a key only.
TEST(Translator, keeps_a_definition_of_an_earlier_day_beside_an_addition_and_a_removal) {
  Line before;
  before.read(definition("Alpha", "0.25", 1));
  const std::vector<record::Slot> file = before.save();
  Line line(Edits{{R"(templates = ["FastReset", "Boards"])", R"(templates = ["FastReset"]
[[message]]
kind = "definition"
templates = ["Boards"]
adds_rows = false)"}});
  ASSERT_EQ(line.restore_definitions(file), 1U);
  const InstrumentRow& row = line.table().row(1);
  line.read(R"({"template":"Boards","fields":{"Security":"A","List":[],"Feeds":[]}})");
  EXPECT_EQ(row.flags, kRowDefined | kRowEarlier);
  EXPECT_EQ(instrument_name(row), "Alpha");
  EXPECT_EQ(row.tick, 250'000'000);
  line.read(
      R"({"template":"Definition","fields":{"Security":"A","Group":"G","Name":"","Feeds":[],"Tick":1,"Gone":"Y"}})");
  EXPECT_NE(row.flags & kRowEarlier, 0U);
  EXPECT_NE(row.flags & kRowRemoved, 0U);
  EXPECT_EQ(line.counts().tick_moves, 0U);
}

/// Rows that came before a loss, of which one may be wrong, go with the first entry after it: in books of each kind.
TEST(Translator, empties_a_book_that_was_joined_when_its_numbers_have_a_hole) {
  for (const std::string by : {"level", "price", "order"}) {
    Line line(by);
    const auto add = [&](int number, int level) {
      line.refresh(entry("A", number,
                         R"("Type":"0","Action":0,"Level":1,"Price":)" + std::to_string(10 - level) +
                             R"(,"Size":5,"Id":")" + std::to_string(number) + "\""));
    };
    add(10, 1);
    add(12, 2);
    EXPECT_THAT(line.take(), Contains(StartsWith("clear A"))) << by;
    add(11, 3);
    add(13, 4);
    EXPECT_EQ(line.books().faults(Fault::Twice), 0U) << by;
  }
}

TEST(Translator, keeps_definitions_of_an_earlier_day_over_several_starts) {
  Line before;
  before.read(definition("Alpha", "0.25", 1));
  Line second;
  ASSERT_EQ(second.restore_definitions(before.save()), 1U);
  Line third;
  ASSERT_EQ(third.restore_definitions(second.save(), Line::kNow), 1U);
  EXPECT_EQ(third.table().row(1).definition_ns, Line::kNow) << "when the exchange has defined it";
  EXPECT_EQ(third.table().row(1).flags, kRowDefined | kRowEarlier);
  EXPECT_EQ(third.restore_definitions(second.save(), Line::kNow + 1), 0U);
}

TEST(Translator, takes_a_state_of_the_first_letters_of_a_text) {
  Line line(Edits{{"group = \"Group\"\nstate = { field = \"State\", scale = \"trading\" }",
                   "state = { field = \"Group\", scale = \"phase\", letters = 1 }"},
                  {"trading = { open = [17], halted = [2] }", "phase = { open = [\"T\"], halted = [\"H\", \"B\"] }"}});
  const auto status = [&](const std::string& text) {
    line.read(R"({"template":"Status","fields":{"Security":"A","Group":")" + text + R"("}})");
    const std::vector<std::string> events = line.take();
    return events.empty() ? std::string() : events.back();
  };
  EXPECT_EQ(status("T0"), "state A open .");
  EXPECT_EQ(line.table().row(1).state_code, std::uint32_t{'T'});
  EXPECT_EQ(status("B"), "state A halted .");
  EXPECT_EQ(status("T is more than eight letters"), "state A open .");
  EXPECT_EQ(status("XT"), "state A unknown .");
  EXPECT_EQ(status("T1234567"), "state A open .");
  EXPECT_EQ(status(""), "state A unknown .");
}

TEST(Translator, takes_the_greatest_depth_of_a_list_without_types) {
  Line line(Edits{{R"(type = "Feed", depth = "Depth", books = { D = "direct" })", R"(depth = "Depth")"}});
  line.read(
      R"({"template":"Definition","fields":{"Security":"A","Group":"G","Name":"N","Feeds":[{"Feed":"X","Depth":20},{"Feed":"Y","Depth":5}],"Tick":1}})");
  EXPECT_EQ(line.table().row(1).depth[0], 20);
}

TEST(Translator, gives_the_depth_of_a_message_to_each_of_its_entries) {
  // The list of depths comes after that of the entries.
  Line line(Edits{{R"(key = ["Security"])", R"(key = ["Security", "Board"])"},
                  {R"(templates = ["FastReset", "Boards"])", R"(templates = ["FastReset"]
[[message]]
kind = "definition"
templates = ["Boards"]
entries = "List"
depth = { entries = "Feeds", type = "Feed", depth = "Depth", books = { D = "direct" } })"}});
  line.read(
      R"({"template":"Boards","fields":{"Security":"A","List":[{"Board":"X"},{"Board":"Y"}],"Feeds":[{"Feed":"D","Depth":7}]}})");
  ASSERT_EQ(line.table().count(), 2U);
  EXPECT_EQ(line.table().row(1).depth[0], 7);
  EXPECT_EQ(line.table().row(2).depth[0], 7);
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

// States.

const Edits kComplexes = {
    {"key = [\"Security\"]\n", "key = [\"Security\"]\nproduct = \"Group\"\ncomplex = \"Complex\"\n"},
    {"group = \"Group\"\n",
     "group = \"Group\"\nwithin = \"Within\"\nsimple = { Within = 1 }\n"
     "statistics_reset = { Event = 4 }\n"}};
std::string definition(const std::string& security, const std::string& more = "") {
  return R"({"template":"Definition","fields":{"Security":")" + security +
         R"(","Group":"G","Name":"N","Feeds":[],"Tick":1)" + more + "}}";
}

TEST(Translator, limits_a_state_of_a_group_to_instruments_of_the_complex) {
  Line line(kComplexes);
  line.read(definition("Future"));
  line.read(definition("Spread", R"(,"Complex":5)"));
  (void)line.take();
  line.read(R"({"template":"Status","fields":{"Group":"G","Within":5,"State":17}})");
  EXPECT_THAT(line.take(), ElementsAre("state Spread open ."));
  line.read(R"({"template":"Status","fields":{"Group":"G","Within":1,"State":2}})");
  EXPECT_THAT(line.take(), ElementsAre("state Future halted ."));
  line.read(definition("Later"));
  EXPECT_THAT(line.take(), ElementsAre("definition Later .")) << "the limit may be to others";
}

TEST(Translator, remembers_no_state_of_a_group_that_a_message_does_not_tell) {
  Line line(kComplexes);
  line.read(R"({"template":"Status","fields":{"Group":"G","State":17}})");
  line.read(definition("A"));
  EXPECT_THAT(line.take(), ElementsAre("state A open", "definition A ."));
  line.read(R"({"template":"Status","fields":{"Group":"G","Event":4}})");
  EXPECT_THAT(line.take(), ElementsAre("statistic A reset ."));
  line.read(definition("B"));
  EXPECT_THAT(line.take(), ElementsAre("state B open", "definition B ."));
}

TEST(Translator, compares_states_with_those_of_the_books) {
  Line line(
      Edits{{"group = \"Group\"\n", ""},
            {"number = \"RptSeq\"\n", "number = \"RptSeq\"\nstate = { field = \"State\", scale = \"trading\" }\n"}});
  line.refresh(bid("A", 1, 1, "10"));
  line.read(R"({"template":"Status","fields":{"Security":"A","State":17}})");
  line.read(R"({"template":"Status","fields":{"State":2}})");
  EXPECT_EQ(line.table().row(1).state, static_cast<std::uint8_t>(TradingState::Halted)) << "as are all of the channel";
  line.read(snapshot("A", 5, row(1, "10"), R"(,"State":17)"), 2);
  EXPECT_EQ(line.books().trading_state(1), TradingState::Open);
  line.read(definition("A", R"(,"Gone":"Y")"));
  EXPECT_EQ(line.table().row(1).state, static_cast<std::uint8_t>(TradingState::Ended));
}

// Ends of events.

TEST(Translator, ends_an_event_whose_last_message_changes_nothing) {
  Line line(Edits{{"name = \"test\"\n", "name = \"test\"\nevent = { Ends = { is = 1, absent = true } }\n"}});
  const auto message = [](const std::string& entries, int ends) {
    return R"({"template":"Refresh","fields":{"Entries":[)" + entries + R"(],"Ends":)" + std::to_string(ends) + "}}";
  };
  line.read(message(bid("A", 1, 1, "10"), 0), 1);
  line.channel(1);
  line.read(message(bid("B", 1, 1, "10"), 1), 1);  // another channel's event ends that one's only
  line.channel(0);
  EXPECT_THAT(line.take(), ElementsAre("new A bid @1 10 x5", "new B bid @1 10 x5 ."));
  line.read(message(bid("A", 1, 1, "10"), 1), 2);
  EXPECT_THAT(line.take(), ElementsAre("other ."));
  line.read(message(bid("A", 1, 1, "10"), 1), 3);
  EXPECT_THAT(line.take(), IsEmpty()) << "no event is open";
}

TEST(Translator, ends_events_with_their_packets_if_the_map_says_so) {
  Line line(Edits{{"name = \"test\"\n", "name = \"test\"\nevent = \"packet\"\n"}});
  line.last_of_packet(false);
  line.refresh(bid("A", 1, 1, "10"), 1);
  line.refresh(bid("A", 2, 1, "11"), 1);
  line.last_of_packet(true);
  line.refresh(bid("A", 2, 1, "11"), 1);  // a repetition
  EXPECT_THAT(line.take(), ElementsAre("new A bid @1 10 x5", "new A bid @1 11 x5 ."));
}

// Losses.

TEST(Translator, loses_what_comes_after_a_read_error) {
  Line line(kByMessage);
  line.message(1, R"({"Security":"A","Type":"J"})");
  line.message(2, R"({"Security":"A","Type":"0","Action":0,"Level":1,"Price":10,"Size":1})");
  EXPECT_EQ(line.bids(), "10*1 whole");
  line.cut(2);
  const std::string other = R"({"Security":"B","Type":"4"})";
  line.message(3, other + "," + other + "," + other + R"(,{"Security":"A","Type":"J"})");
  EXPECT_EQ(line.counts().unreadable, 1U);
  EXPECT_EQ(line.bids(), "part");
  (void)line.take();
  line.read(snapshot("A", 4, row(1, "9") + "," + row(2, "8") + "," + row(3, "7") + "," + row(4, "6")), 4);
  EXPECT_EQ(line.bids(), "part");
  EXPECT_THAT(line.take(), Not(Contains(HasSubstr("snapshot_end"))));
}

TEST(Translator, takes_lost_records_for_a_loss_of_each_channel) {
  for (const auto kind : {record::EventKind::Lost, record::EventKind::LayoutChanged}) {
    Line line(kByMessage);
    line.message(1, R"({"Security":"A","Type":"J"})");
    line.channel(1);
    line.message(1, R"({"Security":"B","Type":"J"})");
    EXPECT_EQ(line.bids(1) + " " + line.bids(2), "whole whole");
    line.event(kind);
    EXPECT_EQ(line.bids(1) + " " + line.bids(2), "part part");
  }
}

TEST(Translator, tells_losses_of_each_kind) {
  for (const auto kind : {record::EventKind::Gap, record::EventKind::DecodeError, record::EventKind::Dropped}) {
    Line by_message(kByMessage);
    by_message.message(1, R"({"Security":"A","Type":"J"})");
    by_message.event(kind, 2);
    EXPECT_THAT(by_message.take(), ElementsAre("clear A exchange .", "stale gap", "stale A gap", "clear A gap ."));
    EXPECT_EQ(by_message.bids(), "part");
    Line by_entry;
    by_entry.refresh(R"({"Security":"A","Type":"J","RptSeq":1})");
    by_entry.event(kind, 2);
    EXPECT_THAT(by_entry.take(), ElementsAre("clear A exchange .", "suspect gap ."));
    EXPECT_EQ(by_entry.bids(), "whole");
  }
}

TEST(Translator, empties_all_books_once_a_message) {
  Line line;
  line.refresh(bid("A", 1, 1, "10"));
  (void)line.take();
  line.refresh(R"({"Type":"J"},)" + bid("A", 1, 1, "11") + R"(,{"Type":"J"},)" + bid("A", 1, 1, "12") +
               R"(,{"Type":"J"},)" + bid("A", 1, 1, "13"));
  EXPECT_THAT(line.take(), ElementsAre("clear exchange", "new A bid @1 11 x5", "stale contradiction ."));
  EXPECT_EQ(line.counts().voided, 3U);
  EXPECT_EQ(line.bids(), "part");
  line.refresh(R"({"Type":"J"})");
  EXPECT_EQ(line.bids(), "whole");
}

/// A packet may have a thousand messages of a byte or two, each of which says something of all instruments.
TEST(Translator, does_no_more_work_for_all_instruments_than_a_packet_has_need_of) {
  const std::string reset = R"({"template":"Restart","fields":{}})";
  const std::string status = R"({"template":"Status","fields":{"Group":"G","State":17}})";
  const std::string clear =
      R"({"template":"Refresh","fields":{"Entries":[{"Type":"J"},)" + entry("A", 9, R"("Type":"4")") + "]}}";
  const auto attack = [](const std::string& message, std::size_t most, bool has_blocks) {
    Line line;
    line.read(definition("A"));
    line.refresh(bid("A", 1, 1, "10"));
    (void)line.take();
    line.last_of_packet(has_blocks);
    for (int i = 0; i < 1'000; ++i) line.read(message, 3);
    line.last_of_packet(true);
    line.read(message, 3);
    const std::vector<std::string> events = line.take();
    EXPECT_LE(events.size(), most) << message;
    EXPECT_EQ(events.back(), "stale contradiction .") << message;
    EXPECT_GT(line.counts().voided, 400U) << "what is not read is counted";
    EXPECT_EQ(line.books().standing(1), Standing::Stale) << "and missing";
    // A snapshot from before the packet's end lacks what was not read.
    line.read(snapshot("A", 1, row(1, "9")), 4);
    line.refresh(bid("A", 10, 1, "11"));
    EXPECT_EQ(line.books().standing(1), Standing::Stale) << message;
    line.read(snapshot("A", 10, row(1, "11")), 6);
    line.refresh(bid("A", 11, 2, "10"));
    EXPECT_EQ(line.books().standing(1), Standing::Latest) << message;
    EXPECT_EQ(line.bids(), "11*1 10*5 whole");
  };
  for (const bool has_blocks : {false, true}) {
    attack(reset, 8, has_blocks);
    attack(status, 700, has_blocks);
    attack(clear, 24, has_blocks);
  }
}

TEST(Translator, finds_orders_by_texts_that_are_no_numbers) {
  Line line("order");
  const auto order = [](int number, int action, const std::string& more) {
    return entry("A", number, R"("Type":"0","Id":"no number","Action":)" + std::to_string(action) + more);
  };
  line.refresh(order(1, 0, R"(,"Price":10,"Size":5)"));
  line.refresh(order(2, 1, R"(,"Size":3)"));
  EXPECT_EQ(line.books().faults(Fault::Wide), 0U);
  EXPECT_EQ(line.bids(), "? 10*3 part");
}

TEST(Translator, shows_readers_the_channel_whose_losses_concern_an_instrument) {
  Line line;
  line.channel(3);
  line.read(definition("A"));
  EXPECT_EQ(line.table().row(1).channel, 3);
  line.channel(1);
  line.refresh(bid("A", 1, 1, "10"));
  EXPECT_EQ(line.table().row(1).channel, 1);
}

TEST(Translator, counts_each_instrument_that_a_fault_makes_stale) {
  Line line;
  line.read(R"({"template":"Status","fields":{"Security":"A","State":17}})");
  line.refresh(bid("A", 1, 1, "11") + "," + entry("A", 2, R"("Type":"1","Action":0,"Level":1,"Price":10,"Size":1)"));
  EXPECT_EQ(line.books().faults(Fault::Crossed), 1U);
  EXPECT_EQ(line.counts().stale, 1U);
}

// What a map may say.

TEST(Translator, takes_each_snapshot_whole_where_there_are_no_increments) {
  Line line(Edits{{"kind = \"snapshot\"\n", "kind = \"snapshot\"\nreplaces = true\n"}});
  line.read(snapshot("A", 5, row(1, "10")));
  line.read(snapshot("A", 5, row(1, "11")), 2);
  line.read(snapshot("A", 4, row(1, "12")), 3);
  EXPECT_EQ(line.bids(), "12*1 whole");
}

TEST(Translator, refreshes_books_in_step_only_if_the_snapshot_says_so) {
  Edits edits = kByMessage;
  edits.push_back({"kind = \"snapshot\"\n", "kind = \"snapshot\"\nrefresh = { Refresh = 1 }\n"});
  Line line(edits);
  line.message(5, R"({"Security":"A","Type":"4"})");
  line.read(snapshot("A", 5, row(1, "10")), 6);
  EXPECT_EQ(line.books().standing(1), Standing::Latest);
  line.read(snapshot("A", 6, row(1, "10"), R"(,"Refresh":0)"), 7);
  EXPECT_EQ(line.counts().audits, 1U) << "it is compared";
  line.read(snapshot("A", 7, row(1, "12"), R"(,"Refresh":1)"), 8);
  EXPECT_EQ(line.bids(), "12*1 whole");
  EXPECT_EQ(line.counts().loads, 2U);
  EXPECT_EQ(line.counts().differences, 0U);
  EXPECT_EQ(line.books().standing(1), Standing::Latest);
}

TEST(Translator, begins_anew_at_number_one_if_the_map_says_so) {
  Line line(Edits{{"entry = \"RptSeq\"\n", "entry = \"RptSeq\"\nrestarts_at_one = true\n"}});
  line.refresh(bid("A", 500, 1, "10"));
  line.refresh(bid("A", 1, 1, "11") + "," + bid("A", 2, 2, "10.5"));
  EXPECT_THAT(line.take(), ElementsAre("new A bid @1 10 x5 .", "clear A reset", "latest A", "new A bid @1 11 x5",
                                       "new A bid @2 10.5 x5 ."));
  EXPECT_EQ(line.bids(), "11*5 10.5*5 whole");
}

// The exchange begins the numbers again, and the packet with number 1 is lost.

const Edits kRestarts = {{"entry = \"RptSeq\"\n", "entry = \"RptSeq\"\nrestarts_at_one = true\n"}};

TEST(Translator, begins_anew_at_a_lower_number_after_a_loss) {
  Line line(kRestarts);
  line.refresh_at(Line::kNow - 9, bid("A", 500, 1, "10"));
  (void)line.take();
  line.gap();
  line.refresh_at(Line::kNow - 5, bid("A", 7, 1, "11") + "," + bid("A", 8, 2, "10.5"));
  EXPECT_THAT(line.take(), ElementsAre("suspect gap .", "clear A reset", "suspect A gap", "stale A gap", "clear A gap",
                                       "new A bid @1 11 x5", "new A bid @2 10.5 x5 ."));
  EXPECT_EQ(line.counts().gaps, 1U);
  EXPECT_EQ(line.counts().repeats, 0U);
  EXPECT_EQ(line.books().standing(1), Standing::Stale);
  // What was sent before has the old numbers, in snapshots, too.
  line.read(snapshot("A", 510, row(1, "9"), sent_at(Line::kNow - 6)), 2);
  EXPECT_EQ(line.bids(), "11*5 10.5*5 part");
  line.read(snapshot("A", 8, row(1, "12"), sent_at(Line::kNow - 3)), 3);
  EXPECT_EQ(line.bids(), "12*1 whole");
  line.refresh_at(Line::kNow - 2, bid("A", 9, 1, "12", 1));
  EXPECT_EQ(line.bids(), "12*5 whole");
}

TEST(Translator, begins_anew_below_the_number_of_a_snapshot_after_a_loss) {
  Line line(kRestarts);
  line.refresh(bid("B", 1, 1, "20"));
  line.read(snapshot("A", 500, row(1, "10"), sent_at(Line::kNow - 9)));
  line.gap();
  // What the snapshot has was sent before it.
  line.refresh_at(Line::kNow - 10, bid("A", 499, 1, "9"));
  EXPECT_EQ(line.counts().repeats, 1U);
  EXPECT_EQ(line.bids(2), "10*1 whole");
  line.refresh_at(Line::kNow - 8, bid("A", 3, 1, "11"));
  EXPECT_EQ(line.counts().repeats, 1U);
  EXPECT_EQ(line.bids(2), "11*5 part");
}

TEST(Translator, takes_lower_numbers_for_repeats_without_a_loss_or_a_later_time) {
  Line line(kRestarts);
  line.refresh_at(Line::kNow - 9, bid("A", 500, 1, "10"));
  line.refresh_at(Line::kNow - 8, bid("A", 499, 1, "11"));  // sent again
  line.gap();
  line.refresh_at(Line::kNow - 9, bid("A", 499, 1, "11"));
  line.refresh(bid("A", 499, 1, "11"));
  line.refresh_at(Line::kNow - 7, bid("A", 501, 1, "10", 1));
  line.refresh_at(Line::kNow - 6, bid("A", 499, 1, "11"));  // the loss was before 501, which had its own number
  EXPECT_EQ(line.counts().repeats, 4U);
  EXPECT_EQ(line.bids(), "10*5 part");
}

TEST(Translator, takes_lower_numbers_after_a_loss_for_new_ones_where_a_reset_says_so) {
  Line line;
  line.refresh_at(Line::kNow - 9, bid("A", 500, 1, "10"));
  line.refresh_at(Line::kNow - 8, bid("A", 7, 1, "11"));  // nothing was lost
  EXPECT_EQ(line.counts().repeats, 1U);
  line.gap();
  line.refresh_at(Line::kNow - 5, bid("A", 7, 1, "11"));
  EXPECT_EQ(line.counts().returns, 1U);
  EXPECT_EQ(line.books().standing(1), Standing::Stale);
  EXPECT_EQ(line.bids(), "11*5 part");
  line.channel(1);
  line.read(snapshot("A", 600, row(1, "9"), sent_at(Line::kNow - 7)), 1);
  EXPECT_EQ(line.counts().old_snapshots, 1U) << "it has the numbers of before";
  line.read(snapshot("A", 7, row(1, "11"), sent_at(Line::kNow - 4)), 2);
  EXPECT_EQ(line.books().standing(1), Standing::Latest);
}

TEST(Translator, makes_a_trade_and_what_it_leaves_of_one_entry) {
  Line line(
      "order", 8,
      Edits{{"role = \"trade\"\nid = \"Id\"\n",
             "role = \"trade\"\nside = \"sell\"\nprice = \"LastPrice\"\nquantity = \"LastSize\"\nid = \"Orders\"\n"
             "also_book = \"bid\"\n"}});
  const auto order = [](int number, const std::string& more) { return entry("A", number, R"("Id":"7",)" + more); };
  line.refresh(order(1, R"("Type":"0","Action":0,"Price":10,"Size":5)"));
  line.refresh(order(2, R"("Type":"2","Action":1,"Price":10,"Size":3,"LastPrice":10,"LastSize":2,"Orders":99)"));
  line.refresh(order(3, R"("Type":"2","Action":2,"Price":10,"LastPrice":10,"LastSize":3,"Orders":100)"));
  EXPECT_THAT(line.take(), ElementsAre("new A bid 10 x5 .", "trade A ask 10 x2", "change A bid 10 x3 .",
                                       "trade A ask 10 x3", "delete A bid 10 ."));
}

TEST(Translator, takes_states_of_the_exceptions_in_a_list) {
  Line line(Edits{{"group = \"Group\"\nstate = { field = \"State\", scale = \"trading\" }\n",
                   "group = \"Group\"\nentries = \"List\"\nstate = { field = \"State\", scale = \"trading\" }\n"
                   "entry_state = { field = \"OwnState\", scale = \"trading\" }\n"}});
  line.read(definition("A"));
  line.read(definition("B"));
  (void)line.take();
  line.read(R"({"template":"Status","fields":{"Group":"G","State":17,"List":[{"Security":"B","OwnState":2}]}})");
  EXPECT_THAT(line.take(), ElementsAre("state B open", "state A open", "state B halted ."));
}

// Which entries and which snapshots an instrument takes.

TEST(Translator, applies_no_message_that_a_snapshot_has) {
  Line line(kByMessage);
  line.read(snapshot("A", 100, row(1, "10") + "," + row(2, "9")));
  line.message(99, R"({"Security":"A","Type":"0","Action":2,"Level":1})");
  line.message(100, R"({"Security":"A","Type":"0","Action":2,"Level":1})");
  EXPECT_EQ(line.bids(), "10*1 9*1 whole");
  EXPECT_EQ(line.counts().repeats, 2U);
  line.message(101,
               R"({"Security":"A","Type":"0","Action":2,"Level":1},{"Security":"A","Type":"0","Action":2,"Level":1})");
  EXPECT_EQ(line.bids(), "whole");
  line.message(103, R"({"Security":"A","Type":"0","Action":0,"Level":1,"Price":7,"Size":1})");
  line.message(102, R"({"Security":"A","Type":"0","Action":0,"Level":1,"Price":8,"Size":1})");  // too late
  EXPECT_EQ(line.bids(), "7*1 part");
  EXPECT_EQ(line.books().standing(1), Standing::Stale);
  EXPECT_EQ(line.counts().repeats, 2U);
}

TEST(Translator, takes_snapshots_in_parts_without_a_mark_of_the_first) {
  Line line(Edits{{"first = { First = { is = 1, absent = true } }\n", ""}});
  line.read(snapshot("A", 7, row(1, "10"), R"(,"Last":0)"), 1);
  line.read(snapshot("A", 7, row(2, "9"), R"(,"Last":0)"), 2);
  line.read(snapshot("A", 7, row(3, "8"), R"(,"Last":1)"), 2);  // in the same packet
  EXPECT_EQ(line.bids(), "10*1 9*1 8*1 whole");
  EXPECT_EQ(line.counts().torn_snapshots, 0U);
  // A part that does not follow is of the next picture.
  line.read(snapshot("A", 8, row(1, "20"), R"(,"Last":0)"), 3);
  line.read(snapshot("A", 9, row(1, "30"), R"(,"Last":1)"), 4);
  EXPECT_EQ(line.bids(), "30*1 whole");
  EXPECT_EQ(line.counts().torn_snapshots, 1U);
}

TEST(Translator, takes_snapshots_whose_packet_numbers_go_round) {
  for (const bool has_mark : {true, false}) {
    Line line(has_mark ? Edits{} : Edits{{"first = { First = { is = 1, absent = true } }\n", ""}});
    line.read(snapshot("A", 6, row(1, "1"), R"(,"First":1,"Last":1)"), 0xFFFD);
    line.read(snapshot("A", 7, row(1, "10"), R"(,"First":1,"Last":0)"), 0xFFFE);
    line.read(snapshot("A", 7, row(2, "9"), R"(,"First":0,"Last":0)"), 0xFFFF);
    line.read(snapshot("A", 7, row(3, "8"), R"(,"First":0,"Last":1)"), 0);
    EXPECT_EQ(line.bids(), "10*1 9*1 8*1 whole") << has_mark;
    EXPECT_EQ(line.counts().torn_snapshots, 0U) << has_mark;
    line.read(snapshot("A", 8, row(1, "20"), R"(,"First":1,"Last":0)"), 0xFFFF);
    line.read(snapshot("A", 8, row(2, "19"), R"(,"First":0,"Last":1)"), 3);  // packets 0 to 2 are missing
    // Without a mark, what comes after a gap is no first part.
    EXPECT_EQ(line.counts().torn_snapshots, has_mark ? 1U : 0U);
  }
}

TEST(Translator, takes_no_rest_of_a_snapshot_without_a_mark_of_the_first) {
  const Edits edits = {{"first = { First = { is = 1, absent = true } }\n", ""}};
  const std::string more = R"(,"Last":0)";
  const std::string last = R"(,"Last":1)";
  // We join after the first part.
  Line joins(edits);
  joins.read(snapshot("A", 7, row(2, "9"), more), 5);
  joins.read(snapshot("A", 7, row(3, "8"), last), 6);
  EXPECT_EQ(joins.table().count(), 1U);
  EXPECT_EQ(joins.bids(), "part");
  joins.read(snapshot("B", 3, row(1, "20")), 7);
  EXPECT_EQ(joins.bids(2), "20*1 whole");
  // A packet with parts is missing.
  joins.read(snapshot("A", 8, row(3, "8"), last), 9);
  EXPECT_EQ(joins.bids(), "part");
  // An increment does not end it, but comes after it.
  Line ends(edits);
  ends.read(snapshot("A", 7, row(1, "10"), more), 1);
  ends.refresh(bid("A", 8, 1, "11"), 1);
  ends.read(snapshot("A", 7, row(2, "9"), last), 2);
  EXPECT_EQ(ends.bids(), "11*5 10*1 part") << "the book has as many rows as were seen";
  // Its parts have other packets between them.
  Line apart(edits);
  apart.read(snapshot("A", 7, row(1, "10"), more), 1);
  apart.refresh(bid("B", 1, 1, "20"), 2);
  apart.read(snapshot("A", 7, row(2, "9"), last), 3);
  EXPECT_EQ(apart.bids(), "part");
  apart.read(snapshot("A", 7, row(1, "10"), last), 4);
  EXPECT_EQ(apart.bids(), "10*1 whole");
  // It was old when it began.
  Line old(edits);
  old.read(snapshot("A", 7, row(1, "10"), last), 1);
  old.read(snapshot("A", 7, row(1, "10"), more), 2);
  old.refresh(bid("A", 9, 1, "11"), 2);
  old.read(snapshot("A", 7, row(2, "9"), last), 3);
  EXPECT_EQ(old.bids(), "11*5 part");
  EXPECT_EQ(old.counts().old_snapshots, 1U);
}

TEST(Translator, does_not_know_the_book_of_a_session_of_which_entries_are_missing) {
  const auto entry_of = [](int number, int session) {
    return R"({"Security":"A","Type":"0","Action":0,"Level":1,"Price":10,"Size":1,"RptSeq":)" + std::to_string(number) +
           R"(,"Session":)" + std::to_string(session) + "}";
  };
  Line line;
  line.refresh(entry_of(100, 5));
  line.refresh(entry_of(151, 6));
  EXPECT_THAT(line.take(), ElementsAre("new A bid @1 10 x1 .", "stale A gap", "clear A gap", "new A bid @1 10 x1 ."));
  EXPECT_EQ(line.bids(), "10*1 part");
  line.refresh(entry_of(152, 7));
  EXPECT_THAT(line.take(), ElementsAre("clear A session", "new A bid @1 10 x1 ."));
  // The same where the loss is one of messages.
  Line by_message(kByMessage);
  by_message.message(1, entry_of(1, 5));
  by_message.gap(2);
  by_message.message(4, entry_of(2, 6));
  EXPECT_EQ(by_message.bids(), "10*1 part");
}

TEST(Translator, changes_no_session_by_a_snapshot_that_it_does_not_take) {
  Line line;
  line.refresh(R"({"Security":"A","Type":"J","RptSeq":1,"Session":5})");
  line.refresh(R"({"Security":"A","Type":"0","Action":0,"Level":1,"Price":10,"Size":1,"RptSeq":2,"Session":5})");
  line.read(snapshot("A", 2, "", kMiddle + R"(,"Session":6)"), 2);  // never begun
  line.read(snapshot("A", 1, "", R"(,"Session":4)"), 3);            // old
  EXPECT_EQ(line.bids(), "10*1 whole");
  line.read(snapshot("A", 3, row(1, "11"), kFirst + R"(,"Session":6)"), 4);
  line.read(snapshot("A", 3, row(2, "9"), kLast + R"(,"Session":6)"), 6);  // torn
  EXPECT_EQ(line.bids(), "10*1 whole");
  line.refresh(R"({"Security":"A","Type":"4","RptSeq":3,"Session":6})");
  EXPECT_EQ(line.bids(), "whole") << "a new session";
}

TEST(Translator, resets_the_instruments_of_one_channel) {
  Line line;
  line.refresh(bid("A", 5, 1, "10"));
  line.channel(1);
  line.refresh(bid("B", 5, 1, "20"));
  line.event(record::EventKind::Reset);
  line.channel(0);
  line.refresh(bid("A", 7, 1, "11"));  // 6 is missing
  line.channel(1);
  line.refresh(bid("B", 1, 1, "21"));
  EXPECT_EQ(line.counts().gaps, 2U) << "the reset, and the gap of A";
  EXPECT_EQ(line.best(1, Side::Bid).price, 11'000'000'000);
  EXPECT_EQ(line.best(2, Side::Bid).price, 21'000'000'000);
  // On a channel of snapshots a reset is the end of a cycle.
  line.channel(2);
  line.read(snapshot("A", 9, row(1, "12")), 2);
  line.event(record::EventKind::Reset);
  line.read(R"({"template":"Restart","fields":{}})", 3);
  EXPECT_EQ(line.bids(), "12*1 whole");
}

TEST(Translator, loses_instruments_that_only_snapshots_have_shown) {
  Line line(kByMessage);
  line.channel(1);
  line.read(snapshot("A", 100, row(1, "10")));
  line.channel(0);
  line.message(101, R"({"Security":"B","Type":"0","Action":0,"Level":1,"Price":7,"Size":1})");
  EXPECT_EQ(line.bids(), "10*1 whole");
  EXPECT_EQ(line.books().standing(1), Standing::Latest) << "nothing is missing after it";
  line.gap(102);
  line.take();
  EXPECT_EQ(line.books().standing(1), Standing::Stale) << "what is missing may be of A";
  (void)line.take();
  line.gap(105);
  EXPECT_THAT(line.take(), ElementsAre("stale gap .")) << "it is told once";
}

TEST(Translator, expects_the_first_number_after_all_books_were_emptied) {
  Line line;
  line.refresh(bid("A", 500, 1, "10"));
  line.refresh(R"({"Type":"J"})");
  line.refresh(bid("A", 3, 1, "11"));
  EXPECT_EQ(line.bids(), "11*5 part") << "1 and 2 are missing";
  EXPECT_EQ(line.counts().gaps, 1U);
}

TEST(Translator, expects_the_first_number_after_a_snapshot_of_nothing) {
  Line line;
  line.read(snapshot("A", 0, ""));
  EXPECT_EQ(line.bids(), "whole");
  line.refresh(bid("A", 2, 1, "10"), 2);
  EXPECT_EQ(line.bids(), "10*5 part");
  Line in_order;
  in_order.read(snapshot("A", 0, ""));
  in_order.refresh(bid("A", 1, 1, "10"), 2);
  EXPECT_EQ(in_order.bids(), "10*5 whole");
}

TEST(Translator, refuses_snapshots_that_were_sent_before_a_reset) {
  for (const bool is_known_before : {true, false}) {
    Line line;
    if (is_known_before) line.refresh(bid("A", 499, 1, "10"));
    line.read(R"({"template":"Refresh","fields":{"SendingTime":)" + std::to_string(Line::kNow) +
              R"(,"Entries":[{"Type":"J"}]}})");
    line.channel(1);
    line.read(snapshot("A", 500, row(1, "9"), sent_at(Line::kNow - 1)), 2);
    EXPECT_EQ(line.counts().old_snapshots, 1U);
    line.channel(0);
    line.refresh(bid("A", 1, 1, "10"), 3);
    EXPECT_EQ(line.best(1, Side::Bid).price, 10'000'000'000);
    line.channel(1);
    // Of a book that lacks nothing a snapshot has no news: what it is ahead by comes, too, or is missing.
    line.read(snapshot("A", 20, row(1, "11"), sent_at(Line::kNow + 1)), 4);
    EXPECT_EQ(line.bids(), "10*5 whole");
    line.channel(0);
    line.refresh(entry("A", 20, R"("Type":"4")"));
    line.channel(1);
    line.read(snapshot("A", 20, row(1, "11"), sent_at(Line::kNow + 1)), 5);
    EXPECT_EQ(line.bids(), "11*1 whole");
    EXPECT_EQ(line.books().standing(1), Standing::Latest);
  }
}

TEST(Translator, takes_snapshots_with_small_numbers_after_a_reset) {
  Line line(kByMessage);
  line.message(1'433'909, R"({"Security":"A","Type":"0","Action":0,"Level":1,"Price":10,"Size":1})");
  line.read(R"({"template":"Restart","fields":{}})", 2);
  line.channel(1);
  line.read(snapshot("A", 3, row(1, "11")), 1);
  EXPECT_EQ(line.bids(), "11*1 whole");
}

TEST(Translator, keeps_increments_out_of_a_snapshot_that_is_not_complete) {
  const auto begun = [](Line& line) {
    line.refresh(bid("A", 99, 1, "8"), 1);
    line.channel(1);
    line.read(snapshot("A", 100, row(1, "10"), kFirst), 1);
    line.channel(0);
  };
  // What the snapshot has is in it.
  Line inside;
  begun(inside);
  inside.refresh(bid("A", 100, 1, "9"), 2);
  inside.channel(1);
  inside.read(snapshot("A", 100, row(2, "9"), kLast), 2);
  EXPECT_EQ(inside.bids(), "10*1 9*1 whole");
  inside.channel(0);
  inside.refresh(bid("A", 101, 1, "11"), 3);
  EXPECT_EQ(inside.bids(), "11*5 10*1 part");
  EXPECT_EQ(inside.counts().gaps, 0U);
  // What is newer than the snapshot waits for it.
  Line newer;
  begun(newer);
  newer.refresh(bid("A", 100, 1, "9") + "," + bid("A", 101, 1, "11"), 2);
  newer.channel(1);
  newer.read(snapshot("A", 100, row(2, "9"), kLast), 2);
  EXPECT_EQ(newer.counts().torn_snapshots, 0U);
  EXPECT_EQ(newer.bids(), "11*5 10*1 part") << "the book has as many rows as were seen";
  newer.channel(0);
  newer.refresh(bid("A", 102, 1, "12"), 3);
  EXPECT_EQ(newer.counts().gaps, 0U);
  EXPECT_EQ(newer.bids(), "12*5 11*5 part");
}

TEST(Translator, ends_a_snapshot_at_an_entry_without_a_number) {
  Line line(Edits{{"entry = \"RptSeq\"", "message = \"MsgSeqNum\"\nentry = \"RptSeq\""}});
  line.read(snapshot("A", 100, row(1, "10"), kFirst), 1);
  line.message(50, R"({"Security":"A","Type":"0","Action":0,"Level":1,"Price":11,"Size":1})");
  line.read(snapshot("A", 100, row(2, "9"), kLast), 2);
  EXPECT_EQ(line.counts().torn_snapshots, 1U);
  EXPECT_EQ(line.counts().repeats, 0U) << "the number of a message is another one than that of the snapshot";
  EXPECT_EQ(line.bids(), "11*1 part");
}

TEST(Translator, ends_a_snapshot_where_the_numbers_begin_again) {
  Line line(Edits{{"entry = \"RptSeq\"\n", "entry = \"RptSeq\"\nrestarts_at_one = true\n"}});
  line.refresh(bid("A", 90, 1, "10"));
  line.read(snapshot("A", 100, row(1, "10"), kFirst), 1);
  line.refresh(bid("A", 1, 1, "11"));
  EXPECT_EQ(line.bids(), "11*5 whole");
}

TEST(Translator, takes_no_snapshot_with_a_loss_or_a_fault) {
  Line lost(kByMessage);
  lost.message(1, R"({"Security":"A","Type":"4"})");
  lost.read(snapshot("A", 100, row(1, "10"), kFirst), 2);
  lost.gap(3);
  lost.read(snapshot("A", 100, row(2, "9"), kLast), 4);
  EXPECT_EQ(lost.bids(), "part");
  EXPECT_THAT(lost.take(), Not(Contains(HasSubstr("snapshot_end"))));
  Line faulty;
  faulty.read(snapshot("A", 100, row(1, "10"), kFirst), 1);
  faulty.read(snapshot("A", 100, row(2, "11"), kLast), 2);  // a lower row with a better price
  EXPECT_EQ(faulty.bids(), "part");
  EXPECT_THAT(faulty.take(), Not(Contains(HasSubstr("snapshot_end"))));
}

TEST(Translator, does_not_take_a_part_of_a_key_for_all_instruments) {
  Line line(Edits{{R"(key = ["Security"])", R"(key = ["Security", "Board"])"}, {"group = \"Group\"\n", ""}});
  line.refresh(R"({"Security":"A","Board":"X","Type":"0","Action":0,"Level":1,"Price":10,"Size":5,"RptSeq":1})");
  (void)line.take();
  line.refresh(R"({"Security":"A","Type":"J"})");
  line.read(R"({"template":"Status","fields":{"Security":"A","State":17}})");
  EXPECT_EQ(line.counts().nameless, 2U);
  EXPECT_THAT(line.take(), ElementsAre("other ."));
  EXPECT_EQ(line.bids(), "10*5 part");
  line.read(R"({"template":"Status","fields":{"State":17}})");
  EXPECT_THAT(line.take(), ElementsAre("state open ."));
}

TEST(Translator, refuses_entries_of_an_instrument_from_another_channel) {
  Line line;
  line.refresh(bid("A", 5'000, 1, "10"));
  line.channel(1);
  line.refresh(bid("A", 1'000, 1, "11") + "," + bid("A", 9'000, 1, "12"));
  line.channel(0);
  line.refresh(bid("A", 5'001, 1, "10.5"));
  EXPECT_EQ(line.counts().strayed, 2U);
  EXPECT_EQ(line.counts().repeats + line.counts().gaps, 0U);
  EXPECT_EQ(line.bids(), "10.5*5 part");
}

}  // namespace stopbit::market::translator_test
