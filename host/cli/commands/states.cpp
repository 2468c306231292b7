#include <fmt/format.h>

#include <memory>

#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/grid.hpp"
#include "host/cli/common/live_market.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/text.hpp"

namespace stopbit::tools {
namespace {

struct StatesArguments {
  std::string ring;
  std::string instrument;
  std::string format = "text";
  std::string user;
};

struct State {
  std::string key, name;
  market::state::Top top;
  market::state::DayView day;
};

Grid::Cells cells(const LiveMarket& market, const State& state) {
  return {state.key,
          state.name,
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

void append_json(const LiveMarket& market, std::uint32_t row, const State& state, std::string& out) {
  const auto text = [&](const char* key, std::string_view value) {
    if (!value.empty()) out += fmt::format(",\"{}\":\"{}\"", key, value);
  };
  const auto known = [&](const char* key, std::uint8_t to) {
    if (to == market::state::kWhole) return text(key, "all");
    out += fmt::format(",\"{}\":{}", key, to);
  };
  out += fmt::format("{{\"row\":{},\"instrument\":{}", row, json(state.key));
  if (!state.name.empty()) out += ",\"name\":" + json(state.name);
  text("trading", market::name_of(state.top.state));
  text("book", market::name_of(state.top.standing));
  if (state.top.standing != market::Standing::Latest) text("cause", market::name_of(state.top.cause));
  text("bid", market.price(state.top.bid));
  text("bid_quantity", market.quantity(state.top.bid_quantity));
  text("ask", market.price(state.top.ask));
  text("ask_quantity", market.quantity(state.top.ask_quantity));
  known("bids_known", state.top.bid_known);
  known("asks_known", state.top.ask_known);
  out += fmt::format(",\"channel\":{},\"sequence\":{},\"time\":{}", state.top.channel, state.top.sequence,
                     state.top.arrival_ns);
  text("last", market.price(state.day.last));
  text("last_quantity", market.quantity(state.day.last_quantity));
  if (state.day.last_ns != 0) out += fmt::format(",\"last_time\":{}", state.day.last_ns);
  if (state.day.aggressor != market::Side::None) text("aggressor", market::name_of(state.day.aggressor));
  text("high", market.price(state.day.high));
  text("low", market.price(state.day.low));
  text("volume", market.quantity(state.day.volume));
  if (state.day.exchange_state != 0) {
    out += fmt::format(",\"code\":{},\"scale\":{}", state.day.exchange_state, state.day.scale);
  }
  out += "}\n";
}

int states(const StatesArguments& arguments) {
  accept_user(arguments.user);
  const LiveMarket market(arguments.ring);
  Output out = Output::open("-");
  const std::uint32_t only = arguments.instrument.empty() ? 0 : market.row_of(arguments.instrument);
  const std::uint32_t first = only == 0 ? 1 : only;
  const std::uint32_t last = only == 0 ? market.count() : only;
  Grid grid({"instrument", "name", "trading", "book", "bid size", "bid", "ask", "ask size", "last", "size", "high",
             "low", "volume"});
  std::uint32_t unread = 0;
  for (std::uint32_t row = first; row <= last; ++row) {
    market::InstrumentRow instrument;
    State state;
    if (!market.instruments().read(row, instrument) ||
        market.states().read(row, state.top, state.day) != market::state::Read::Ok) {
      ++unread;
      continue;
    }
    const bool is_text = arguments.format == "text";
    const std::string_view key = market::key_of(instrument);
    const std::string_view name = market::instrument_name(instrument);
    state.key = is_text ? plain(key) : std::string(key);
    state.name = is_text ? plain(name) : std::string(name);
    if (is_text) {
      grid.add(cells(market, state));
    } else {
      append_json(market, row, state, out.buffer());
      out.flush_if_full();
    }
  }
  market.check();
  constexpr std::size_t kLeftColumns = 4;
  if (arguments.format == "text") out.buffer() += grid.text(kLeftColumns);
  out.close();
  if (unread == 0) return kExitDone;
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
