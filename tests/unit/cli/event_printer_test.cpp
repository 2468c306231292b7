#include "host/cli/common/event_printer.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "host/cli/common/command.hpp"
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
  EventPrinter printer(Format::Jsonl, std::move(market::InstrumentView::open(path).value()));
  std::string out;
  printer.print(trade_of(first), out);
  EXPECT_THAT(out, HasSubstr("first"));
  std::filesystem::resize_file(path + ".instruments", 0);
  printer.print(trade_of(first), out);  // its key is known
  EXPECT_THAT([&] { printer.print(trade_of(second), out); },
              ThrowsMessage<ToolError>(HasSubstr("table of instruments was truncated")));
}

}  // namespace stopbit::tools::event_printer_test
