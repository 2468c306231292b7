#include "host/cli/common/event_printer.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "host/cli/common/command.hpp"
#include "host/market/event/sbe.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::tools::event_printer_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

market::Event trade_of(std::uint32_t row) {
  return market::Event::of({.instrument = row, .kind = market::Kind::Trade, .price = 1'000'000'000, .quantity = 1});
}

TEST(EventPrinter, prints_no_empty_instruments_after_its_table_was_truncated) {
  const stopbit::testing::Scratch scratch;
  const std::string path = scratch.path("day");
  market::InstrumentTable table = std::move(market::InstrumentTable::create(path, {.capacity = 100'000}).value());
  const std::uint32_t first = table.add("first", [](market::InstrumentRow&) {});
  const std::uint32_t second = table.add("second", [](market::InstrumentRow&) {});
  const market::InstrumentView view = std::move(market::InstrumentView::open(path).value());
  EventPrinter printer(Format::Jsonl, &view);
  std::string out;
  printer.print(trade_of(first), out);
  EXPECT_THAT(out, HasSubstr("first"));
  std::filesystem::resize_file(path + ".instruments", 0);
  printer.print(trade_of(first), out);  // its key is known
  EXPECT_THAT([&] { printer.print(trade_of(second), out); },
              ThrowsMessage<ToolError>(HasSubstr("table of instruments was truncated")));
}

TEST(EventPrinter, writes_keys_of_any_bytes_into_messages_of_one_length) {
  const std::string longest(market::kInstrumentKeyBytes, 'k');
  market::InstrumentTable table = std::move(market::InstrumentTable::make({.capacity = 10}).value());
  const std::uint32_t first = table.add("a,\"\xFF", [](market::InstrumentRow&) {});
  const std::uint32_t second = table.add(longest, [](market::InstrumentRow&) {});
  EventPrinter printer(Format::Sbe, &table.view());
  const auto key_of = [&](std::uint32_t row) {
    std::string out;
    printer.print(trade_of(row), out);
    EXPECT_EQ(out.size(), market::kSbeHeaderBytes + market::kSbeBlockBytes);
    const std::string key = out.substr(out.size() - market::kSbeKeyBytes);
    return key.substr(0, key.find('\0'));
  };
  EXPECT_EQ(key_of(first), "a,\"\xFF");
  EXPECT_EQ(key_of(second), longest);
  EXPECT_EQ(key_of(7), "");
  EXPECT_EQ(key_of(market::kAllInstruments), "");
}

TEST(EventPrinter, refuses_formats_of_records) {
  for (const Format format : {Format::Fix, Format::FixRaw, Format::None}) {
    EXPECT_THAT([&] { EventPrinter(format, nullptr); }, ThrowsMessage<ToolError>(HasSubstr("jsonl, csv or sbe")));
  }
}

}  // namespace stopbit::tools::event_printer_test
