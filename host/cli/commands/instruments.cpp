#include <fmt/format.h>

#include <memory>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/live_market.hpp"
#include "host/cli/common/market_source.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/text.hpp"
#include "host/market/event/print.hpp"

namespace stopbit::tools {
namespace {

void append_instrument(std::string& out, std::uint32_t number, const market::InstrumentRow& row) {
  out += fmt::format("{{\"row\":{},\"instrument\":{}", number, json(market::key_of(row)));
  if (row.name_bytes != 0) out += ",\"name\":" + json(market::instrument_name(row));
  if (row.product_bytes != 0) out += ",\"product\":" + json(market::product_of(row));
  if (row.tick != 0) {
    out += ",\"tick\":\"";
    market::append_price(row.tick, out);
    out += '"';
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (row.book_kind[i] == 0) continue;
    out += fmt::format(",\"{}\":\"{}\"", i == 0 ? "book" : "implied",
                       market::name_of(static_cast<market::BookKind>(row.book_kind[i])));
    if (row.depth[i] != 0) out += fmt::format(",\"{}\":{}", i == 0 ? "depth" : "implied_depth", row.depth[i]);
  }
  const std::string_view state = market::name_of(static_cast<market::TradingState>(row.state));
  out += fmt::format(",\"trading_state\":\"{}\"", state);
  if (row.state_code != 0) out += fmt::format(",\"trading_state_code\":{}", row.state_code);
  if (row.session != 0) out += fmt::format(",\"session\":{}", row.session);
  if (row.first_number != 0) out += fmt::format(",\"first_number\":{}", row.first_number);
  if ((row.flags & market::kRowDefined) != 0) {
    out += fmt::format(",\"defined\":{{\"channel\":{},\"seq\":{}}}", row.definition_channel, row.definition_sequence);
  }
  if ((row.flags & market::kRowRemoved) != 0) out += ",\"removed\":true";
  if ((row.flags & market::kRowTickMoved) != 0) out += ",\"tick_changed\":true";
  out += "}\n";
}

/// Those that a process has put into the table beside its ring of events.
int run_live_instruments(const MarketArguments& arguments) {
  const LiveMarket market(arguments.captures[0]);
  Output out = Output::open(arguments.output);
  std::uint32_t unread = 0;
  for (std::uint32_t number = 1; number <= market.instruments().count(); ++number) {
    market::InstrumentRow row;
    if (market.instruments().read(number, row)) {
      append_instrument(out.buffer(), number, row);
    } else {
      ++unread;
    }
    out.flush_if_full();
  }
  market.check();
  out.close();
  if (unread == 0) return kExitDone;
  print_stderr("stopbit: {}: {} instruments could not be read; the writer {}\n", arguments.captures[0], unread,
               market.writer_text());
  return kExitRejected;
}

int run_instruments(const MarketArguments& arguments) {
  if (names_live_market(arguments)) return run_live_instruments(arguments);
  MarketRun run(arguments, [](const market::Event&) {});
  Output out = Output::open(arguments.output, run.inputs());
  const int status = run.run(out.is_terminal());
  const market::InstrumentTable& table = run.market().instruments();
  for (std::uint32_t row = 1; row <= table.count(); ++row) {
    append_instrument(out.buffer(), row, table.row(row));
    out.flush_if_full();
  }
  out.close();
  return status;
}

}  // namespace

Command instruments_command() {
  const auto arguments = std::make_shared<MarketArguments>();
  return {
      .name = "instruments",
      .summary = "Lists the instruments in captures",
      .description =
          "Decodes captures and prints a JSON line for each instrument that they define or name: its key, "
          "and what its definition and its states say. The name of a ring of market events lists the instruments that "
          "its writer has seen so far.\n"
          "\n" +
          market_text() + "\n\n" + framing_text(),
      .options = market_options(*arguments),
      .examples = {{"stopbit instruments day.pcap --templates templates.xml --framing t7 --map t7-rdi",
                    "the instruments of a reference feed"}},
      .run = [arguments] { return run_instruments(*arguments); },
  };
}

}  // namespace stopbit::tools
