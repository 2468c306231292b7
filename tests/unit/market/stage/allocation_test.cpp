// From records to events and books: no allocation after the start, whatever the records say.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "host/market/stage/saver.hpp"
#include "host/market/stage/translator.hpp"
#include "templates/compiler.hpp"
#include "tests/attack/allocations.hpp"

namespace stopbit::market::allocation_test {

constexpr const char* kTemplates = R"(<templates>
  <template name="Refresh" id="1">
    <sequence name="Entries">
      <uInt32 name="Action"/><string name="Type"/><string name="Security" presence="optional"/>
      <uInt32 name="Number"/><uInt32 name="Level"/><decimal name="Price"/><uInt32 name="Size"/><string name="Id"/>
    </sequence>
  </template>
  <template name="Definition" id="2"><string name="Security"/><string name="Name"/><string name="Group"/></template>
  <template name="Status" id="3"><string name="Group"/><uInt32 name="State"/></template>
  <template name="Snapshot" id="4">
    <string name="Security"/><uInt32 name="Number"/><uInt32 name="First"/><uInt32 name="Last"/>
    <sequence name="Entries">
      <string name="Type"/><uInt32 name="Level"/><decimal name="Price"/><uInt32 name="Size"/>
    </sequence>
  </template>
  <template name="Restart" id="5"/>
</templates>)";

constexpr const char* kMap = R"([feed]
name = "test"
[sequence]
entry = "Number"
[instrument]
key = ["Security"]
[[book]]
by = "level"
action = "Action"
actions = { 0 = "new", 1 = "change", 2 = "delete" }
position = "Level"
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
first = { First = 1 }
last = { Last = 1 }
[[message]]
kind = "reset"
templates = ["Restart"]
[[message]]
kind = "definition"
templates = ["Definition"]
name = "Name"
product = "Group"
[[message]]
kind = "state"
templates = ["Status"]
group = "Group"
state = { field = "State", scale = "trading" }
[[entry]]
when = { Type = "J" }
role = "empty"
[[entry]]
when = { Type = "2" }
role = "trade"
id = "Id"
[[entry]]
role = "book"
side_field = "Type"
sides = { 0 = "bid", 1 = "ask" }
[scale]
trading = { open = [17] }
)";

/// Room for what is saved, as a queue between threads has it.
struct Fixed {
  std::array<record::Slot, 8'192> slots;
  std::size_t count = 0;
  [[nodiscard]] std::size_t room() const { return slots.size() - count; }
  [[nodiscard]] std::size_t capacity() const { return slots.size(); }
  void put(const record::Slot& slot) { slots[count++] = slot; }
};

TEST(Translator, allocates_nothing_after_the_start) {
  Diagnostics diagnostics;
  const auto program = templates::compile({std::make_shared<SourceBuffer>("t.xml", kTemplates)}, {}, diagnostics);
  ASSERT_TRUE(program) << diagnostics.format();
  auto source = read_map("m.toml", kMap, diagnostics);
  ASSERT_TRUE(source) << diagnostics.format();
  const auto map = compile_map(std::move(*source), *program, diagnostics);
  ASSERT_TRUE(map) << diagnostics.format();

  std::vector<std::vector<record::Slot>> records;
  record::BufferSink sink(program->max_record_slots, [&](std::span<const record::Slot> slots) {
    records.emplace_back(slots.begin(), slots.end());
    records.back()[0].words[2] |= std::uint64_t{record::kFlagLastOfPacket} << 56;  // each in a packet of its own
  });
  const record::Schema schema = record::Schema::make(*program).value();
  record::JsonReader reader(schema);
  const auto read = [&](const std::string& line) {
    ASSERT_EQ(reader.read(line, sink), record::JsonReader::Line::Message) << reader.problem().message;
  };
  for (int i = 0; i < 2'000; ++i) {
    const std::string name = "security with a long name " + std::to_string(i % 40);
    read(R"({"template":"Refresh","fields":{"Entries":[{"Action":)" + std::to_string(i % 4) + R"(,"Type":")" +
         std::to_string(i % 3) + R"(","Security":")" + name + R"(","Number":)" + std::to_string(i / 40 + i % 2) +
         R"(,"Level":)" + std::to_string(i % 7) + R"(,"Price":)" + std::to_string(i) + R"(.5,"Size":1,"Id":"order )" +
         std::to_string(i) + R"("}]}})");
    read(R"({"template":"Definition","fields":{"Security":")" + name + R"(","Name":"name )" + std::to_string(i) +
         R"(","Group":"G)" + std::to_string(i % 50) + R"("}})");
    read(R"({"template":"Status","fields":{"Group":"G)" + std::to_string(i % 60) + R"(","State":17}})");
    const auto part = [&](int number, int first, int level) {
      read(R"({"template":"Snapshot","fields":{"Security":")" + name + R"(","Number":)" + std::to_string(number) +
           R"(,"First":)" + std::to_string(first) + R"(,"Last":)" + std::to_string(1 - first) +
           R"(,"Entries":[{"Type":"0","Level":)" + std::to_string(level) + R"(,"Price":)" + std::to_string(9 - level) +
           R"(,"Size":1}]}})");
    };
    // Some are complete, some torn by another number.
    part(1'000 + i, 1, 1);
    part(1'000 + i + i % 3 / 2, 0, 2);
    if (i % 50 == 0) read(R"({"template":"Restart","fields":{}})");
    if (i % 70 == 0) {
      read(
          R"({"template":"Refresh","fields":{"Entries":[{"Action":0,"Type":"J","Number":1,"Level":1,"Price":1,"Size":1,"Id":""}]}})");
    }
    if (i % 30 == 0) {
      constexpr record::EventKind kKinds[] = {record::EventKind::Gap, record::EventKind::Reset,
                                              record::EventKind::DecodeError, record::EventKind::Dropped,
                                              record::EventKind::Lost};
      record::Builder builder(*program);
      builder.write_event(sink, record::Header(), {.kind = kKinds[i / 30 % 5], .word5 = 1, .word6 = 1}, 0);
    }
  }

  InstrumentTable table = InstrumentTable::make({.capacity = 32, .generation = 1, .map_name = "test"}).value();
  BookSet books({.instruments = 32, .rows = 1'024});
  std::uint64_t snapshots = 0;
  record::BufferSink events(1, [&](std::span<const record::Slot> slots) {
    snapshots += Event::from(slots[0]).kind() == Kind::SnapshotEnd ? 1 : 0;
  });
  Publisher publisher(books, &events, nullptr);
  Translator translator(*map, *program, table, books, publisher, 1);
  const std::uint64_t before = attack::allocations();
  for (const std::vector<record::Slot>& record : records) translator.take(record);
  translator.finish();
  const auto saved = std::make_unique<Fixed>();
  const std::uint64_t before_save = attack::allocations();
  BookSaver saver;
  saver.begin();
  for (int i = 0; i < 1'000 && saver.is_running(); ++i) saver.step(translator, table.count(), {}, 1, 1'024, *saved);
  EXPECT_EQ(attack::allocations(), before_save);
  EXPECT_FALSE(saver.is_running());
  EXPECT_EQ(before_save, before + 1) << "nothing but that room";
  EXPECT_TRUE(SavedBooks::over(std::as_bytes(std::span(saved->slots).first(saved->count))));
  EXPECT_EQ(table.count(), 32U);
  EXPECT_GT(translator.counts().events, 2'000U);
  EXPECT_GT(translator.counts().refused, 0U);
  EXPECT_GT(translator.counts().gaps, 100U);
  EXPECT_GT(translator.counts().torn_snapshots, 100U);
  EXPECT_GT(snapshots, 100U);
}

}  // namespace stopbit::market::allocation_test
