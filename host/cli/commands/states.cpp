#include <memory>

#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/grid.hpp"
#include "host/cli/common/live_market.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/text.hpp"
#include "host/market/state/print.hpp"

namespace stopbit::tools {
namespace {

struct StatesArguments {
  std::string ring;
  std::string instrument;
  std::string format = "text";
  std::string user;
};

Grid::Cells cells(const LiveMarket& market, const market::state::Picture& state) {
  return {plain(market::key_of(state.instrument)),
          plain(market::instrument_name(state.instrument)),
          std::string(market::name_of(state.top.state)),
          standing_text(state.top),
          market.quantity(state.top.bid_quantity),
          market.price(state.top.bid),
          market.price(state.top.ask),
          market.quantity(state.top.ask_quantity),
          market.price(state.day.last),
          market.quantity(state.day.last_quantity),
          market.price(state.day.high),
          market.price(state.day.low),
          market.quantity(state.day.volume)};
}

int states(const StatesArguments& arguments) {
  accept_user(arguments.user);
  LiveMarket market(arguments.ring);
  Output out = Output::open("-");
  const std::uint32_t only = arguments.instrument.empty() ? 0 : market.row_of(arguments.instrument);
  const std::uint32_t first = only == 0 ? 1 : only;
  const std::uint32_t last = only == 0 ? market.count() : only;
  Grid grid({"instrument", "name", "trading", "book", "bid size", "bid", "ask", "ask size", "last", "size", "high",
             "low", "volume"});
  std::uint32_t unread = 0;
  for (std::uint32_t row = first; row <= last; ++row) {
    market::state::Picture state;
    if (!market.instruments().read(row, state.instrument) ||
        market.states().read(row, state.top, state.day) != market::state::Read::Ok) {
      ++unread;
      continue;
    }
    if (arguments.format == "text") {
      grid.add(cells(market, state));
    } else {
      market::state::append_json(row, state, market.instruments().quantity_decimals(), "", out.buffer());
      out.buffer() += '\n';
      out.flush_if_full();
    }
  }
  market.check();
  constexpr std::size_t kLeftColumns = 4;
  if (arguments.format == "text") out.buffer() += grid.text(kLeftColumns);
  out.close();
  if (unread == 0) {
    // Its last states look like those of a quiet market.
    if (const std::string warning = market.warning(); !warning.empty()) {
      print_stderr("stopbit: {}: the writer {}; these are the states of that moment\n", arguments.ring, warning);
    }
    return kExitDone;
  }
  print_stderr("stopbit: {}: {} instruments could not be read; the writer {}\n", arguments.ring, unread,
               market.writer_text());
  return kExitRejected;
}

}  // namespace

Command states_command() {
  const auto arguments = std::make_shared<StatesArguments>();
  return {
      .name = "states",
      .summary = "Lists the best prices and trading states of all instruments",
      .description =
          "Reads the state table beside a ring of market events, which `stopbit run` with a map or `stopbit replay "
          "--events --ring` writes, and prints a line per instrument: its trading state, whether its book can be "
          "trusted, "
          "best "
          "bid and ask, last trade, and the day's high, low and volume. Nothing has to be received first.\n"
          "\n"
          "A book is latest, or suspect since a loss, or stale with the cause. An empty cell is a value that is not "
          "known.\n"
          "\n"
          "The exit status is 1 if an instrument could not be read, because its writer died while it wrote.",
      .options = {{.names = "",
                   .value = "EVENTS",
                   .help = "Name of the ring of events; a name with a / is the path of a file.",
                   .target = &arguments->ring,
                   .hint = ring_hint(),
                   .required = true},
                  {.names = "--instrument",
                   .value = "KEY",
                   .help = "Only this instrument: its key, as 27069 or SBER/TQBR, or its name.",
                   .target = &arguments->instrument},
                  {.names = "--format",
                   .value = "FORMAT",
                   .help = "text (default), or jsonl: one object per instrument.",
                   .target = &arguments->format,
                   .hint = choice_hint({"text", "jsonl"})},
                  user_option(arguments->user)},
      .examples = {{"stopbit states moex-events", "all instruments of an appliance's ring"},
                   {"stopbit states moex-events --instrument SBER/TQBR --format jsonl", "one, for a program"}},
      .run = [arguments] { return states(*arguments); },
  };
}

}  // namespace stopbit::tools
