#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "host/market/stage/event_ring.hpp"
#include "templates/compiler.hpp"

namespace stopbit::market {

/// A feed of trades that a map explains, and outputs of its events in shared memory.
class SmallMarket {
 public:
  std::unique_ptr<EventRing> prepare(const std::string& name, const EventRing* replaces = nullptr) const {
    Result<std::unique_ptr<EventRing>> made = EventRing::prepare(
        {.name = name, .ring = {.slot_count = 32'768}, .room = {.instruments = 4, .orders = 16}, .replaces = replaces},
        map(), program_);
    EXPECT_TRUE(made) << made.message();
    return std::move(made).value();
  }
  /// With its names.
  std::unique_ptr<EventRing> create(const std::string& name, const EventRing* replaces = nullptr) const {
    std::unique_ptr<EventRing> made = prepare(name, replaces);
    EXPECT_TRUE(made->check_names());
    EXPECT_TRUE(made->take_names());
    return made;
  }
  /// A trade of the instrument.
  void trade(EventRing& output, const std::string& key, const std::string& price) const {
    const record::Schema schema = record::Schema::make(program_).value();
    record::JsonReader reader(schema);
    record::BufferSink sink(program_.max_record_slots,
                            [&](std::span<const record::Slot> slots) { output.translator().take(slots); });
    const auto kind =
        reader.read(R"({"template":"Trade","fields":{"Security":")" + key + R"(","Price":)" + price + "}}", sink);
    EXPECT_EQ(kind, record::JsonReader::Line::Message) << reader.problem().message;
    output.translator().finish();
  }

 private:
  static Program compile() {
    Diagnostics diagnostics;
    auto program = templates::compile({std::make_shared<SourceBuffer>("t.xml", R"(<templates>
  <template name="Trade" id="1"><string name="Security"/><decimal name="Price"/></template>
</templates>)")},
                                      {}, diagnostics);
    EXPECT_TRUE(program) << diagnostics.format();
    return program.value_or(Program());
  }
  Map map() const {
    Diagnostics diagnostics;
    auto source = read_map("m.toml", R"([feed]
name = "test"
[instrument]
key = ["Security"]
[[message]]
kind = "incremental"
templates = ["Trade"]
[[entry]]
role = "trade"
price = "Price"
)",
                           diagnostics);
    auto map = source ? compile_map(std::move(*source), program_, diagnostics) : std::nullopt;
    EXPECT_TRUE(map) << diagnostics.format();
    return map.value_or(Map());
  }

  Program program_ = compile();
};

}  // namespace stopbit::market
