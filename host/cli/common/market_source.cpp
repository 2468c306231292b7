#include "host/cli/common/market_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/live_market.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/progress_bar.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/text.hpp"
#include "host/market/event/print.hpp"
#include "host/market/map/find.hpp"
#include "host/os/readable.hpp"
#include "host/replay/capture_channels.hpp"

namespace stopbit::tools {
namespace {

/// Sees each record before its events are made.
class Gate final : public RecordDestination {
 public:
  Gate(Market& market, const MarketRun::BeforeRecord& before_record) : market_(market), before_(before_record) {}

  void take(std::span<const record::Slot> record, std::size_t /*schema*/) noexcept override {
    if (before_) market_.guarded([&] { before_(record::HeaderView(record[0])); });
  }
  [[nodiscard]] bool failed() const noexcept override { return market_.failed(); }

 private:
  Market& market_;
  const MarketRun::BeforeRecord& before_;
};

}  // namespace

feed::Description channels_of(const std::vector<std::string>& captures, const net::Framing& framing) {
  net::FlowTable groups(replay::kMaxCaptureGroups);
  for (const std::string& path : captures) replay::add_groups(*open_kept(path), groups);
  return replay::channels_of(groups, framing);
}

market::Map load_map(const std::string& name, const Program& program, std::optional<std::uint64_t> depth) {
  const Result<std::string> path = market::find_map(name);
  if (!path) throw ToolError(kExitEnvironment, path.message());
  const std::string text = read_file(path.value(), market::kMaxMapBytes);
  Diagnostics diagnostics;
  auto source = market::read_map(path.value(), text, diagnostics);
  std::optional<market::Map> map;
  if (source) map = market::compile_map(std::move(*source), program, diagnostics);
  // Names of another feed's map are all wrong: the first ones show it.
  constexpr std::size_t kShownErrors = 10;
  write_stderr(diagnostics.format(kShownErrors));
  if (!map) throw ToolError(kExitRejected, "");
  if (!depth) return std::move(*map);
  if (const Status done = market::set_depth(*map, *depth); !done) {
    throw ToolError(kExitUsage, "--depth: " + done.message());
  }
  return std::move(*map);
}

MapChoice choose_map(const std::string& map, std::optional<std::uint64_t> depth, const feed::Description& feed) {
  MapChoice choice{.map = map, .depth = depth, .mapped = {}};
  choice.recovery.channels =
      market::plan_channels(feed, [&](const feed::Channel& channel) { return !map.empty() || !channel.map.empty(); });
  if (!map.empty()) return choice;
  for (const feed::Channel& channel : feed.channels) {
    if (channel.map.empty()) continue;
    if (!choice.map.empty() && choice.map != channel.map) {
      throw ToolError(kExitUsage, "--feed: its channels have several maps: choose one with --map");
    }
    choice.map = channel.map;
    if (!choice.depth && channel.depth != 0) choice.depth = channel.depth;
    choice.mapped.resize(std::max<std::size_t>(choice.mapped.size(), channel.number + 1U));
    choice.mapped[channel.number] = true;
  }
  if (choice.map.empty()) throw ToolError(kExitUsage, "--feed: no channel has a map: give --map");
  return choice;
}

Option map_option(std::string& target) {
  return {.names = "--map",
          .value = "MAP",
          .help = "What the feed's messages mean for books: the name of an installed map, or a file.",
          .target = &target,
          .hint = file_hint({".toml"}),
          .required = true};
}

Option depth_option(std::optional<std::uint64_t>& target) {
  return {.names = "--depth",
          .value = "N",
          .help =
              "Levels a side of books whose instruments have no definition that says it. Without it the depth is "
              "learned from the feed, and such a book is known only after an empty book or a snapshot.",
          .target = &target};
}

Market::Market(const market::Map& map, const Program& program, std::uint32_t instruments,
               const market::RecoveryOptions& recovery, OnEvent on_event)
    : on_event_(std::move(on_event)), sink_(1, Take{this}) {
  Result<std::unique_ptr<market::EventMaker>> maker =
      market::EventMaker::prepare(map, program, {.room = {.instruments = instruments}, .recovery = recovery}, sink_);
  if (!maker) throw ToolError(kExitEnvironment, maker.message());
  maker_ = std::move(maker).value();
}

void Market::check() const {
  if (error_) std::rethrow_exception(error_);
}

void Market::append_event(const market::Event& event, std::string& out) const {
  const std::uint32_t row = event.instrument();
  const std::string name = row == market::kAllInstruments || row > instruments().count()
                               ? std::string()
                               : json(market::key_of(instruments().row(row)));
  market::append_json(event, out, {.instrument = name, .quantity_decimals = instruments().view().quantity_decimals()});
}

std::string market_summary(const market::EventMaker& maker) {
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count != 0) text += fmt::format("{:>14}  {}\n", os::thousands(count), what);
  };
  add(maker.instruments().count(), "instruments");
#define STOPBIT_MARKET_COUNT(member, name, what) add(maker.translator().counts().member, what);
#include "host/market/stage/counts.def"
#undef STOPBIT_MARKET_COUNT
#define STOPBIT_BOOK_FAULT(enumerator, cause, name, what)                                            \
  if (market::Fault::enumerator != market::Fault::None) {                                            \
    add(maker.books().faults(market::Fault::enumerator), std::string("faults of books: ") + (what)); \
  }
#include "host/market/book/faults.def"
#undef STOPBIT_BOOK_FAULT
  return text;
}

bool names_live_market(const MarketArguments& arguments) {
  // A capture needs one of both; a path of a ring is a file, too.
  return arguments.map.empty() && arguments.feed.empty() && arguments.captures.size() == 1 &&
         has_live_market(arguments.captures[0]);
}

std::vector<Option> market_options(MarketArguments& target) {
  std::vector<Option> options = {captures_option(target.captures), map_option(target.map), depth_option(target.depth)};
  options[0].help += " Or a ring of market events, alone: what it has at this moment.";
  options[1].help += " Default: that of the channels of --feed.";
  options[1].required = false;
  for (Option& option : program_options(target.program)) {
    if (option.names == "--firmware") option.or_next = true;
    options.push_back(std::move(option));
    if (options.back().names != "--firmware") continue;
    options.push_back({.names = "--feed",
                       .value = "FEED.toml",
                       .help = "Description of the feed: channels, their lines A and B, framing and one image. "
                               "Replaces --templates, --firmware and --framing.",
                       .target = &target.feed,
                       .hint = file_hint({".toml"})});
  }
  options.push_back(framing_option(target.framing));
  options.back().required = false;
  options.push_back(reset_option(target.reset));
  const std::vector<Option> more = {
      {.names = "--merge",
       .value = "",
       .help = "Reads the captures at once, in the order of their time stamps. Default: one after the other, in the "
               "order in which they are given, which must be that of their times.",
       .target = &target.merge},
      {.names = "--instruments",
       .value = "N",
       .help = "Room for this number of instruments; what finds no room is counted. Default 16384.",
       .target = &target.instruments},
      {.names = "--limit", .value = "N", .help = "Stops after N datagrams.", .target = &target.limit},
      {.names = "-o,--output",
       .value = "FILE",
       .help = "Output file; - is stdout, the default.",
       .target = &target.output,
       .hint = file_hint()},
      {.names = "-q,--quiet",
       .value = "",
       .help = "Prints only problems on stderr, no progress and no summary.",
       .target = &target.quiet},
      engine_option(target.engine),
  };
  options.insert(options.end(), more.begin(), more.end());
  for (Option& option : engine_options(target.engine_arguments)) options.push_back(std::move(option));
  return options;
}

std::string market_text() {
  std::string text =
      "The captures are treated as in live reception: each sequence number once and in order. Without --feed each "
      "multicast group is a channel with one line.\n"
      "\n"
      "Installed maps:";
  for (const std::string& name : market::installed_maps()) text += " " + name;
  return text;
}

MarketRun::MarketRun(const MarketArguments& arguments, Market::OnEvent on_event) : arguments_(arguments) {
  if (arguments.limit == 0U) throw ToolError(kExitUsage, "--limit: at least 1");
  if (arguments.instruments && (*arguments.instruments == 0 || *arguments.instruments > market::kMaxInstruments)) {
    throw ToolError(kExitUsage, fmt::format("--instruments: from 1 to {}", market::kMaxInstruments));
  }
  market::RecoveryOptions recovery;
  if (arguments.feed.empty()) {
    if (arguments.framing.empty()) throw ToolError(kExitUsage, "give either --framing or --feed");
    if (arguments.map.empty()) throw ToolError(kExitUsage, "give --map, or a --feed with a map");
    net::Framing framing = framing_from(arguments.framing);
    set_reset_rule(arguments.reset, framing);
    program_.emplace(load_program(arguments.program));
    map_.emplace(load_map(arguments.map, *program_, arguments.depth));
    description_.emplace(channels_of(arguments.captures, framing));
    recovery = market::recovery_of_captures(description_->channels.size());
  } else {
    if (!arguments.framing.empty() || !arguments.program.templates.empty() || !arguments.program.firmware.empty()) {
      throw ToolError(kExitUsage, "--feed sets --framing, --templates and --firmware");
    }
    description_.emplace(load_feed(arguments.feed));
    if (description_->images.size() != 1) {
      throw ToolError(kExitUsage, "--feed: books are made of the records of one image, and the feed has several");
    }
    const feed::Image& image = description_->images.front();
    program_.emplace(
        load_program({.templates = image.templates, .firmware = image.firmware, .compile = arguments.program.compile}));
    const MapChoice choice = choose_map(arguments.map, arguments.depth, *description_);
    map_.emplace(load_map(choice.map, *program_, choice.depth));
    mapped_ = choice.mapped;
    recovery = choice.recovery;
  }
  for (const feed::Channel& channel : description_->channels) options_.feed.push_back(&channel);
  if (!options_.feed.empty() && !replay::same_reset_rule(options_.feed)) {
    throw ToolError(kExitRejected, arguments.feed + ": its channels have different reset rules");
  }
  options_.merge = arguments.merge;
  options_.limit = arguments.limit.value_or(0);
  apply(arguments.engine_arguments, options_);
  const auto instruments = static_cast<std::uint32_t>(arguments.instruments.value_or(market::MarketRoom().instruments));
  market_ = std::make_unique<Market>(*map_, *program_, instruments, recovery, std::move(on_event));
}

std::vector<std::string> MarketRun::inputs() const {
  std::vector<std::string> inputs = arguments_.captures;
  if (!arguments_.feed.empty()) inputs.push_back(arguments_.feed);
  inputs.insert(inputs.end(), arguments_.program.templates.begin(), arguments_.program.templates.end());
  if (!arguments_.program.firmware.empty()) inputs.push_back(arguments_.program.firmware);
  return inputs;
}

int MarketRun::run(bool prints_to_terminal) {
  const Sources sources = open_captures(arguments_.captures);
  // Captures without a single group: there is nothing to decode, and an engine would have no channel.
  if (options_.feed.empty()) {
    print_stderr("the captures hold no UDP datagram\n");
    return kExitRejected;
  }
  catch_stop_signals();
  ProgressBar bar(!arguments_.quiet && !prints_to_terminal);
  options_.on_progress = [&](const replay::Progress& progress) { bar.draw(progress); };
  const std::unique_ptr<Engine> engine = engine_for(arguments_.engine, *program_, options_, !arguments_.quiet);
  Gate gate(*market_, before_record_);
  const Pipeline pipeline{.program = *program_,
                          .engine = *engine,
                          .options = options_,
                          .output = &gate,
                          .market = &market_->translator(),
                          .mapped = mapped_};
  const replay::Summary summary = run_pipeline(pipeline, sources);
  last_arrival_ns_ = summary.last_arrival_ns;
  was_stopped_ = summary.stopped;
  market_->translator().finish();
  market_->check();
  if (arguments_.quiet) {
    print_problems(summary);
  } else {
    write_stderr(replay::to_text(summary, *program_));
    write_stderr("\nMarket\n" + market_->summary());
  }
  // Something to be decoded would have become a datagram or an error.
  if (summary.datagrams == 0 && summary.error_count() == 0 && !summary.stopped) {
    print_stderr("the captures have no datagram of the channels of {}\n", plain(arguments_.feed));
    return kExitRejected;
  }
  return summary.error_count() == 0 ? kExitDone : kExitRejected;
}

}  // namespace stopbit::tools
