#include <memory>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/instrument_json.hpp"
#include "host/cli/common/live_market.hpp"
#include "host/cli/common/market_source.hpp"
#include "host/cli/common/messages.hpp"

namespace stopbit::tools {
namespace {

void append_line(std::string& out, std::uint32_t number, const market::InstrumentRow& row) {
  append_instrument_json(out, number, row);
  out += '\n';
}

/// Those that a process has put into the table beside its ring of events.
int run_live_instruments(const MarketArguments& arguments) {
  LiveMarket market(arguments.captures[0]);
  Output out = Output::open(arguments.output);
  std::uint32_t unread = 0;
  for (std::uint32_t number = 1; number <= market.instruments().count(); ++number) {
    market::InstrumentRow row;
    if (market.instruments().read(number, row)) {
      append_line(out.buffer(), number, row);
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
    append_line(out.buffer(), row, table.row(row));
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
