// From records to events and books: no allocation after the start, whatever the records say.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "host/market/stage/translator.hpp"
#include "templates/compiler.hpp"
#include "tests/attack/allocations.hpp"

namespace stopbit::market::allocation_test {

constexpr const char* kTemplates = R"(<templates>
  <template name="Refresh" id="1">
    <sequence name="Entries">
      <uInt32 name="Action"/><string name="Type"/><string name="Security"/><uInt32 name="Number"/><uInt32 name="Level"/>
      <decimal name="Price"/><uInt32 name="Size"/><string name="Id"/>
    </sequence>
  </template>
  <template name="Definition" id="2"><string name="Security"/><string name="Name"/><string name="Group"/></template>
  <template name="Status" id="3"><string name="Group"/><uInt32 name="State"/></template>
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
  }

  InstrumentTable table = InstrumentTable::make({.capacity = 32, .generation = 1, .map_name = "test"}).value();
  BookSet books({.instruments = 32, .rows = 1'024});
  record::BufferSink events(1, [](std::span<const record::Slot>) {});
  Publisher publisher(books, &events, nullptr);
  Translator translator(*map, *program, table, books, publisher, 1);
  const std::uint64_t before = attack::allocations();
  for (const std::vector<record::Slot>& record : records) translator.take(record);
  translator.finish();
  EXPECT_EQ(attack::allocations(), before);
  EXPECT_EQ(table.count(), 32U);
  EXPECT_GT(translator.counts().events, 2'000U);
  EXPECT_GT(translator.counts().refused, 0U);
}

}  // namespace stopbit::market::allocation_test
