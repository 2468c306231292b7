#include "host/lab/simulate/settings.hpp"

#include <algorithm>

#include "microcode/base/time.hpp"

namespace stopbit::simulate {
namespace {

constexpr std::uint64_t kDay = 86'400 * kNsPerSecond;
constexpr std::uint64_t kLatestStart = 4'000'000'000 * kNsPerSecond;
constexpr std::uint64_t kDefaultStart = 1'700'000'000 * kNsPerSecond;

net::Endpoint endpoint_of(config::Table& table, std::string_view key, const std::string& text) {
  const Result<net::Endpoint> endpoint = net::parse_endpoint(text);
  if (endpoint) return endpoint.value();
  table.error(key, endpoint.message());
  return {};
}

std::optional<net::Endpoint> source_of(config::Table& table, std::string_view key) {
  if (!table.has(key)) return std::nullopt;
  return endpoint_of(table, key, table.text(key));
}

impair::Loss read_loss(config::Table& table) {
  impair::Loss loss;
  loss.rate = table.real("loss", {0, 1}, 0);
  loss.mean_burst = table.real("loss_burst", {1, 10'000}, 1);
  return loss;
}

impair::LineOptions read_impairment(config::Table& table) {
  impair::LineOptions options;
  options.loss = read_loss(table);
  options.duplicate = table.real("duplicate", {0, 1}, 0);
  options.reorder = table.real("reorder", {0, 1}, 0);
  options.reorder_depth = static_cast<std::uint32_t>(table.integer("reorder_depth", {1, impair::kMaxReorderDepth}, 1));
  options.corrupt = table.real("corrupt", {0, 1}, 0);
  options.dies_at = table.integer("dies_at", {}, impair::kNever);
  options.returns_at = table.integer("returns_at", {}, impair::kNever);
  table.finish();
  return options;
}

LineSettings read_line(config::Table& table) {
  LineSettings line;
  line.group = endpoint_of(table, "group", table.text("group"));
  if (line.group.address >> 28 != 0xE)
    table.error("group", "'group' must be a multicast group (224.0.0.0 to 239.255.255.255)");
  line.source = source_of(table, "source");
  line.backup_source = source_of(table, "backup_source");
  line.interface = table.text("interface", "");
  if (auto impair = table.table("impair")) line.impair = read_impairment(*impair);
  table.finish();
  return line;
}

/// Why the exchange of a market never does this; null: it does.
const char* why_never(VenueKind exchange, std::string_view key, bool empties_books) {
  const bool is_t7 = exchange == VenueKind::T7 || exchange == VenueKind::T7Mdi;
  if (key == "failover") return is_t7 ? nullptr : "only T7 has another sender after a fail-over";
  if (is_t7) return "T7 never resets its numbers";
  return exchange == VenueKind::MoexFx && empties_books ? "MOEX empties no books but with its numbers" : nullptr;
}

std::vector<Moment> moments_of(config::Table& root, std::string_view key, const Settings& settings) {
  std::vector<Moment> moments;
  for (config::Table& table : root.tables(key, {0, 1'000})) {
    Moment moment;
    moment.at_ns = table.duration_ns("at", {0, settings.duration_ns});
    if (table.has("channel")) moment.channel = table.integer("channel", {1, settings.channels});
    if (settings.market && key == "reset") moment.empties_books = table.choice("of", {"numbers", "books"}, 0) == 1;
    const char* const never =
        settings.market ? why_never(settings.market->exchange, key, moment.empties_books) : nullptr;
    if (never != nullptr) table.error(moment.empties_books ? "of" : "at", never);
    table.finish();
    moments.push_back(moment);
  }
  return moments;
}

std::optional<MarketSettings> read_market(config::Table& root, const Settings& settings) {
  auto table = root.table("market");
  if (!table) return std::nullopt;
  MarketSettings market;
  market.exchange = static_cast<VenueKind>(table->choice("exchange", {"moex-fx", "t7", "t7-mdi", "b3", "cme"}));
  market.depth = table->integer("depth", {1, 100}, market.depth);
  market.orders = table->integer("orders", {1, 1'000}, market.orders);
  market.changes = table->integer("changes", {1, 32}, market.changes);
  market.fragment = table->integer("fragment", {1, 1'000}, market.fragment);
  market.definitions_every_ns = table->duration_ns("definitions_every", {0, kDay}, 0);
  table->finish();
  for (config::Table& moment : root.tables("phase", {0, 1'000})) {
    market.phases.push_back(
        {.at_ns = moment.duration_ns("at", {0, settings.duration_ns}),
         .phase = static_cast<Phase>(moment.choice("state", {"pre_open", "open", "halted", "closed"}))});
    moment.finish();
  }
  if (root.has("preset")) root.error("preset", "[market] has messages of its own: it goes without a 'preset'");
  if (settings.channels != 1) root.error("channels", "a market has one channel");
  return market;
}

}  // namespace

bool is_impaired(const Settings& settings) noexcept {
  return settings.loss_both.rate > 0 || std::any_of(settings.lines.begin(), settings.lines.end(),
                                                    [](const LineSettings& line) { return line.impair.has_value(); });
}

std::optional<Settings> read_settings(const config::Document& document, Diagnostics& diagnostics) {
  if (!document.ok()) return std::nullopt;
  config::Table root = document.root();
  Settings settings;
  settings.seed = root.integer("seed", {}, settings.seed);
  settings.start_ns =
      root.integer("start", {0, kLatestStart / kNsPerSecond}, kDefaultStart / kNsPerSecond) * kNsPerSecond;
  settings.duration_ns = root.duration_ns("duration", {1'000'000, kDay});
  settings.channels = root.integer("channels", {1, 64}, settings.channels);
  settings.instruments = root.integer("instruments", {1, 10'000}, settings.instruments);
  settings.products = root.integer("products", {1, settings.instruments}, settings.products);
  settings.rate = root.real("rate", {0.001, 1e6}, settings.rate);
  settings.snapshot_every_ns = root.duration_ns("snapshot_every", {0, kDay}, 0);
  settings.heartbeat_every_ns = root.duration_ns("heartbeat_every", {0, kDay}, 0);
  settings.skew_ns = root.duration_ns("skew", {0, 60 * kNsPerSecond}, 20'000);
  settings.carousel_skew_ns = root.duration_ns("carousel_skew", {0, 60 * kNsPerSecond}, settings.skew_ns);
  settings.market = read_market(root, settings);
  if (!settings.market) settings.preset = root.text("preset");
  if (auto burst = root.table("burst")) {
    settings.burst_every_ns = burst->duration_ns("every", {1'000, kDay});
    settings.burst_packets = burst->integer("packets", {1, 1'000'000});
    settings.burst_gap_ns = burst->duration_ns("gap", {0, kNsPerSecond}, 2'000);
    burst->finish();
  }
  if (auto both = root.table("impair_both")) {
    settings.loss_both = read_loss(*both);
    both->finish();
  }
  settings.resets = moments_of(root, "reset", settings);
  settings.failovers = moments_of(root, "failover", settings);
  for (const char* const key : {"line_a", "line_b"}) {
    if (auto line = root.table(key))
      settings.lines.push_back(read_line(*line));
    else if (settings.lines.empty())
      root.error("[line_a] is missing: group = \"239.1.1.1:30001\", and more");
  }
  root.finish();
  if (diagnostics.has_errors()) return std::nullopt;
  return settings;
}

}  // namespace stopbit::simulate
