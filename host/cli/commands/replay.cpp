#include "host/replay/replay.hpp"
#include "host/os/clock.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "decoder/record/buffer_sink.hpp"
#include "host/cli/common/card.hpp"
#include "host/cli/common/column_output.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/event_output.hpp"
#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/market_source.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/parallel_pipeline.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/print_pool.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/progress_bar.hpp"
#include "host/cli/common/resend.hpp"
#include "host/cli/common/ring_output.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/verdict.hpp"
#include "host/ports/read_ahead.hpp"
#include "host/ring/writer.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

struct ReplayArguments {
  std::vector<std::string> captures;
  std::string feed;
  ProgramSource program;
  std::string framing;
  std::string reset;
  std::string engine;
  EngineArguments engine_arguments;
  CardArguments card;
  std::string format;
  StyleArguments style;
  std::string map;
  std::optional<std::uint64_t> depth;
  std::string output = "-";
  ContentArguments content;
  RingArguments ring;
  std::string columns;
  bool force = false;
  std::optional<std::uint64_t> jobs;
  std::string pace;  ///< Empty: max, or the capture's own to the network.
  ResendArguments resend;
  bool merge = false;
  std::vector<std::string> groups;
  std::optional<std::uint64_t> limit;
  bool quiet = false;
};

std::vector<net::Endpoint> groups_of(const ReplayArguments& arguments) {
  std::vector<net::Endpoint> groups;
  for (const std::string& group : arguments.groups) {
    const Result<net::Endpoint> endpoint = net::parse_endpoint(group);
    if (!endpoint) throw ToolError(kExitUsage, "--group: " + endpoint.message());
    groups.push_back(endpoint.value());
  }
  return groups;
}

double speed_of(const ReplayArguments& arguments, const char* otherwise) {
  const Result<double> speed = replay::parse_pace(arguments.pace.empty() ? otherwise : arguments.pace);
  if (!speed) throw ToolError(kExitUsage, "--pace: " + speed.message());
  return speed.value();
}

replay::Options replay_options(const ReplayArguments& arguments) {
  replay::Options options;
  if (arguments.feed.empty()) {
    options.framing = framing_from(arguments.framing);
    set_reset_rule(arguments.reset, options.framing);
  }
  options.groups = groups_of(arguments);
  options.speed = speed_of(arguments, "max");
  options.merge = arguments.merge;
  if (arguments.limit == 0U) throw ToolError(kExitUsage, "--limit: at least 1");
  options.limit = arguments.limit.value_or(0);
  apply(arguments.engine_arguments, options);
  return options;
}

/// The ring of market events; none: they are not written to a ring.
std::optional<RingArguments> event_ring(const ReplayArguments& arguments) {
  if (!arguments.content.events || arguments.ring.name.empty()) return {};
  // As `stopbit run` names the ring beside that of the records.
  return arguments.ring.named(arguments.ring.name + (arguments.content.records ? "-events" : ""));
}
/// Whether a ring gets the records.
bool has_record_ring(const ReplayArguments& arguments) {
  return !arguments.ring.name.empty() && (arguments.content.records || !arguments.content.events);
}

std::vector<std::string> inputs_of(const ReplayArguments& arguments) {
  std::vector<std::string> inputs = arguments.captures;
  if (!arguments.feed.empty()) inputs.push_back(arguments.feed);
  inputs.insert(inputs.end(), arguments.program.templates.begin(), arguments.program.templates.end());
  if (!arguments.program.firmware.empty()) inputs.push_back(arguments.program.firmware);
  return inputs;
}

/// The part that one program decodes: everything, or the channels of a feed that have one image.
struct Lane {
  explicit Lane(std::string lane_name, Program lane_program, replay::Options lane_options)
      : name(std::move(lane_name)),
        program(std::move(lane_program)),
        schema(schema_of(program)),
        options(std::move(lane_options)) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  std::string name;
  Program program;
  record::Schema schema;
  replay::Options options;
};
using Lanes = std::vector<std::unique_ptr<Lane>>;

void check_feed_arguments(const ReplayArguments& arguments) {
  refuse_beside_feed(arguments.program, arguments.framing, arguments.reset);
  if (!arguments.groups.empty()) throw ToolError(kExitUsage, "--group conflicts with --feed, which sets it");
  if (wants_card(arguments.engine))
    throw ToolError(kExitUsage, "--feed: a card has no arbitration; use --engine native");
}

/// A lane for each image that a channel uses.
Lanes feed_lanes(const ReplayArguments& arguments, const feed::Description& description) {
  Lanes lanes;
  for (FeedPart& part : feed_parts(description, arguments.program.compile, arguments.feed)) {
    replay::Options options = replay_options(arguments);
    options.feed = std::move(part.channels);
    lanes.push_back(std::make_unique<Lane>(part.image, load_program(part.program), std::move(options)));
  }
  return lanes;
}

/// Decodes everything once to see how many slots come within the time that the ring is to hold.
std::uint64_t measure_peak(const ReplayArguments& arguments, const Lane& lane) {
  if (std::find(arguments.captures.begin(), arguments.captures.end(), "-") != arguments.captures.end()) {
    throw ToolError(kExitUsage, "--hold: stdin can be read only once; use --slot-rate");
  }
  replay::Options unpaced = lane.options;
  unpaced.speed = 0;
  record::BufferSink memory(lane.program.max_record_slots, [](std::span<const record::Slot>) {});
  PeakSink peak(memory, arguments.ring.hold_ns(), lane.options.speed);
  const std::unique_ptr<Engine> engine = engine_for(arguments.engine, lane.program, unpaced, false);
  const Pipeline pipeline{.program = lane.program, .engine = *engine, .options = unpaced, .ring = &peak};
  (void)run_pipeline(pipeline, open_captures(arguments.captures));
  return peak.slots();
}

/// Returns the number of cores to use.
std::uint16_t jobs_of(const ReplayArguments& arguments) {
  constexpr std::uint64_t kMost = 64;
  const std::uint64_t jobs = arguments.jobs.value_or(1);
  if (jobs > kMost)
    throw ToolError(kExitUsage, fmt::format("--jobs: from 0, which is one for each core, to {}", kMost));
  const auto refuse = [](bool is_given, const char* option) {
    if (is_given) throw ToolError(kExitUsage, std::string("--jobs: one core only with ") + option);
  };
  if (jobs != 1) {
    refuse(!arguments.ring.name.empty(), "--ring");
    refuse(arguments.content.events, "--events");
    refuse(wants_card(arguments.engine), "a card");
    refuse(arguments.limit.has_value(), "--limit");
    refuse(speed_of(arguments, "max") > 0, "--pace");
  }
  if (jobs != 0) return static_cast<std::uint16_t>(jobs);
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  return static_cast<std::uint16_t>(std::min(kMost, cores));
}

/// A separate thread reads and decompresses each capture; with very many to be merged, the caller's does.
Sources read_ahead(Sources sources, bool merge) {
  constexpr std::size_t kMostThreads = 32;
  if (merge && sources.size() > kMostThreads) return sources;
  for (auto& source : sources) source = std::make_unique<ingest::ReadAhead>(std::move(source), stop_requested);
  return sources;
}

/// Where the records go, or the market events: one at most.
struct OutputEnd {
  std::unique_ptr<RecordPrinter> printer;
  std::unique_ptr<PrintPool> pool;
  std::unique_ptr<ColumnOutput> columns;
  bool is_terminal = false;

  [[nodiscard]] RecordDestination* output() const {
    if (printer) return printer.get();
    if (pool) return pool.get();
    return columns.get();
  }
  void finish(std::span<const replay::Summary> summaries) {
    if (printer) printer->finish();
    if (pool) pool->finish();
    if (!columns) return;
    const bool is_whole = std::all_of(summaries.begin(), summaries.end(), [](const replay::Summary& summary) {
      return summary.faults == 0 && !summary.limited;
    });
    columns->finish(summaries.front().stopped, is_whole);
  }
};

Format output_format(const ReplayArguments& arguments) {
  if (!arguments.format.empty()) return format_from(arguments.format);
  return arguments.ring.name.empty() ? Format::Jsonl : Format::None;
}

/// What --events needs, and what it excludes.
void check_event_arguments(const ReplayArguments& arguments, std::size_t images) {
  const auto refuse = [](bool is_wrong, const std::string& text) {
    if (is_wrong) throw ToolError(kExitUsage, text);
  };
  const Format format = output_format(arguments);
  if (arguments.content.events) check_style_of_events(arguments.style);
  if (!arguments.content.events) {
    refuse(!arguments.map.empty(), "--map is for --events");
    refuse(arguments.depth.has_value(), "--depth is for --events");
    refuse(format == Format::Sbe, "--format sbe is for market events: add --events");
    return;
  }
  refuse(arguments.map.empty() && arguments.feed.empty(), "--events needs --map, or a --feed with a map");
  refuse(wants_card(arguments.engine), "--events: a card has no arbitration; use --engine native");
  refuse(images > 1, "--events: events are made of the records of one image, and the feed has several");
  refuse(format != Format::None && !prints_events(format), "--events: --format is jsonl, csv, sbe or none");
  const bool has_output = format != Format::None || !arguments.columns.empty();
  refuse(arguments.content.records && (has_output || arguments.ring.name.empty()),
         "--records and --events: only a --ring takes both; give one for other outputs");
}

void check_end_arguments(const ReplayArguments& arguments, std::size_t images, std::uint16_t jobs) {
  const bool wants_columns = !arguments.columns.empty();
  if (arguments.force && !wants_columns) throw ToolError(kExitUsage, "--force: only with --columns");
  if (wants_columns && (!arguments.format.empty() || arguments.output != "-")) {
    throw ToolError(kExitUsage, "--columns takes the place of --format and --output");
  }
  check_event_arguments(arguments, images);
  const PrintStyle style = style_from(wants_columns ? Format::None : output_format(arguments), arguments.style);
  if (style.format == Format::Table && jobs != 1) {
    throw ToolError(kExitUsage, "--jobs: one core only with --format table, whose columns are aligned in order");
  }
  if (!wants_columns) check_not_binary_to_terminal(output_format(arguments), arguments.output);
  if (!wants_columns && output_format(arguments) == Format::None && arguments.output != "-") {
    throw ToolError(kExitUsage, "-o: --format none writes nothing");
  }
}

/// `events`: those that are the content; null: records are.
OutputEnd open_end(const ReplayArguments& arguments, const Lanes& lanes, std::uint16_t jobs,
                   const EventOutput* events) {
  OutputEnd end;
  if (!arguments.columns.empty() && events != nullptr) {
    end.columns = std::make_unique<EventColumnOutput>(arguments.columns, arguments.force, events->instruments());
    return end;
  }
  if (!arguments.columns.empty()) {
    std::vector<replay::ColumnWriter::Image> images;
    for (const auto& lane : lanes) images.push_back({lane->name, lane->schema});
    end.columns = std::make_unique<RecordColumnOutput>(arguments.columns, arguments.force, std::move(images));
    return end;
  }
  const Format format = output_format(arguments);
  if (format == Format::None) return end;
  const PrintStyle style = style_from(format, arguments.style);
  std::vector<record::Schema> schemas;
  for (const auto& lane : lanes) schemas.push_back(lane->schema);
  if (events == nullptr) check_table(style, schemas);
  Output out = Output::open(arguments.output, inputs_of(arguments));
  end.is_terminal = out.is_terminal();
  if (jobs > 1) {
    end.pool = std::make_unique<PrintPool>(schemas, style, std::move(out), jobs);
    return end;
  }
  end.printer = std::make_unique<RecordPrinter>(schemas.front(), style, std::move(out));
  for (std::size_t i = 1; i < schemas.size(); ++i) (void)end.printer->add(schemas[i]);
  if (events != nullptr) end.printer->show_events(events->instruments());
  return end;
}

void print_summary(const replay::Summary& summary, const Lane& lane, bool is_quiet) {
  if (is_quiet) return print_problems(summary);
  if (!lane.name.empty()) print_stderr("Image {}\n", printable(lane.name));
  write_stderr(replay::to_text(summary, lane.program));
}

/// What is decoded, and the programs that do it.
struct Work {
  std::optional<feed::Description> description;  ///< Of the channels, if these are known.
  Lanes lanes;                                   ///< Their options point into the description.
};

Work work_of_framing(const ReplayArguments& arguments) {
  if (arguments.framing.empty()) throw ToolError(kExitUsage, "give either --framing or --feed");
  Work work;
  replay::Options options = replay_options(arguments);
  Program program = load_program(arguments.program);
  if (arguments.content.events && !arguments.map.empty()) {
    // As in `stopbit book`: events are of channels, whose losses they tell.
    work.description = channels_of(arguments.captures, options.framing);
    for (const feed::Channel& channel : work.description->channels) options.feed.push_back(&channel);
  }
  work.lanes.push_back(std::make_unique<Lane>("", std::move(program), std::move(options)));
  return work;
}

Work work_of_feed(const ReplayArguments& arguments) {
  check_feed_arguments(arguments);
  Work work;
  work.description = load_feed(arguments.feed);
  work.lanes = feed_lanes(arguments, *work.description);
  if (work.lanes.size() > 1 && has_record_ring(arguments)) {
    throw ToolError(kExitUsage, "--ring: a ring carries the records of one image, and the feed has several");
  }
  if (work.lanes.size() == 1) work.lanes.front()->name.clear();
  return work;
}

MapChoice map_of(const ReplayArguments& arguments, const Work& work) {
  if (!arguments.content.events) return {};
  MapChoice choice = work.description ? choose_map(arguments.map, arguments.depth, *work.description)
                                      : MapChoice{.map = arguments.map, .depth = arguments.depth, .mapped = {}};
  if (arguments.feed.empty()) choice.recovery = market::recovery_of_captures(work.lanes.front()->options.feed.size());
  return choice;
}

/// Null: no card is wanted, or this machine has none.
std::unique_ptr<Card> open_card(const ReplayArguments& arguments, Lane& lane) {
  if (!wants_card(arguments.engine)) return nullptr;
  EngineOptions wanted = replay::engine_options(lane.options);
  std::unique_ptr<Card> card = Card::open(arguments.card, lane.program, wanted);
  if (card) lane.options.channels = wanted.channels;
  return card;
}

/// Everything that a replay fills: rings, and an end that prints or writes. Has its names when it is made.
class Outlets {
 public:
  Outlets(const ReplayArguments& arguments, const Lanes& lanes, std::uint16_t jobs, const MapChoice& choice)
      : arguments_(arguments), ring_of_events_(event_ring(arguments)) {
    const Lane& first = *lanes.front();
    if (has_record_ring(arguments)) {
      const std::uint64_t peak = arguments.ring.wants_rate() ? measure_peak(arguments, first) : 0;
      ring_.emplace(prepare_ring(arguments.ring, first.program, peak, arguments.quiet));
    }
    if (arguments.content.events) {
      events_.emplace(load_map(choice.map, first.program, choice.depth), first.program, ring_of_events_,
                      arguments.quiet, choice.recovery);
    }
    // After all memory: what an earlier run has written is replaced only by a run that can begin.
    const Status named = market::take_names(ring(), events_ ? events_->ring() : nullptr);
    if (!named) throw ToolError(kExitEnvironment, named.message());
    end_ = open_end(arguments, lanes, jobs, events_ ? &*events_ : nullptr);
    if (events_to() != nullptr) events_->set_output(*events_to());
  }

  [[nodiscard]] ring::Writer* ring() noexcept { return ring_ ? &*ring_ : nullptr; }
  [[nodiscard]] market::Translator* translator() noexcept { return events_ ? &events_->translator() : nullptr; }
  // The end is of one content: with --records and --events there is none.
  [[nodiscard]] RecordDestination* records_to() const noexcept { return events_ ? nullptr : end_.output(); }
  [[nodiscard]] RecordDestination* events_to() const noexcept { return events_ ? end_.output() : nullptr; }
  [[nodiscard]] bool is_terminal() const noexcept { return end_.is_terminal; }

  /// False if a signal ended the wait.
  [[nodiscard]] bool wait_for_readers() {
    const auto beat = [this] {
      if (events_) events_->beat(os::wall_clock_ns());
    };
    if (ring_ && !tools::wait_for_readers(arguments_.ring, *ring_, arguments_.quiet, beat)) return false;
    return !ring_of_events_ ||
           tools::wait_for_readers(*ring_of_events_, events_->ring()->ring(), arguments_.quiet, beat);
  }
  void look_after() {
    if (events_to() != nullptr) events_to()->flush();
    if (ring_) ring_->beat(os::wall_clock_ns());
    if (events_) events_->beat(os::wall_clock_ns());
  }
  void finish_records() {
    if (ring_) ring_->finish();
  }
  /// Returns what was counted of events.
  std::string finish(std::span<const replay::Summary> summaries) {
    std::string of_market = events_ ? events_->finish() : std::string();
    end_.finish(summaries);
    return of_market;
  }

 private:
  const ReplayArguments& arguments_;
  std::optional<RingArguments> ring_of_events_;
  std::optional<ring::Writer> ring_;
  std::optional<EventOutput> events_;
  OutputEnd end_;
};

std::vector<replay::Summary> decode_on_cores(const ReplayArguments& arguments, const Lanes& lanes, std::uint16_t jobs,
                                             const Sources& sources, RecordDestination* records_to) {
  std::vector<ParallelPipeline> pipelines;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Lane& lane = *lanes[i];
    pipelines.push_back({.program = lane.program,
                         .options = lane.options,
                         .engine = [&arguments, &lane, tells = i == 0 && !arguments.quiet]() mutable {
                           return engine_for(arguments.engine, lane.program, lane.options, std::exchange(tells, false));
                         }});
  }
  return run_parallel_pipelines(pipelines, jobs, sources, records_to);
}

/// `card`: instead of engines; or null.
std::vector<replay::Summary> decode(const ReplayArguments& arguments, const Lanes& lanes, const Sources& sources,
                                    Outlets& outlets, const MapChoice& choice, Card* card) {
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<Pipeline> pipelines;
  const auto has_failed = [card, events_to = outlets.events_to()] {
    return (card != nullptr && card->failed()) || (events_to != nullptr && events_to->failed());
  };
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Lane& lane = *lanes[i];
    if (card == nullptr) {
      engines.push_back(engine_for(arguments.engine, lane.program, lane.options, i == 0 && !arguments.quiet));
    }
    pipelines.push_back({.program = lane.program,
                         .engine = card != nullptr ? card->engine() : *engines.back(),
                         .options = lane.options,
                         .output = outlets.records_to(),
                         .schema = i,
                         .ring = outlets.ring(),
                         .market = outlets.translator(),
                         .mapped = choice.mapped,
                         .has_failed = has_failed});
  }
  return run_pipelines(pipelines, sources);
}

/// As they were given, for a command line to try next.
std::string captures_text(const ReplayArguments& arguments) {
  std::string text;
  for (const std::string& path : arguments.captures) text += (text.empty() ? "" : " ") + path;
  return printable(text);
}
std::string program_text(const ReplayArguments& arguments) {
  if (!arguments.feed.empty()) return "--feed " + printable(arguments.feed);
  if (!arguments.program.firmware.empty()) return "--firmware " + printable(arguments.program.firmware);
  std::string text = "--templates";
  for (const std::string& path : arguments.program.templates) text += ' ' + path;
  return printable(text);
}

/// `of_card`, `of_market`: what they have counted. Returns the exit status.
int report(const ReplayArguments& arguments, const Lanes& lanes, const std::vector<replay::Summary>& summaries,
           const std::string& of_card, const std::string& of_market) {
  std::uint64_t errors = 0;
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    print_summary(summaries[i], *lanes[i], arguments.quiet);
    errors += summaries[i].error_count();
  }
  if (arguments.quiet) {
    if (stop_requested() && summaries.front().stopped) print_stderr("Stopped before the end of the captures.\n");
  } else {
    write_stderr(of_card);
    if (!of_market.empty()) write_stderr("\nMarket\n" + of_market);
    write_stderr(verdict_text(summaries, captures_text(arguments), program_text(arguments)));
  }
  return errors == 0 ? kExitDone : kExitRejected;
}

/// What is sent is said by groups; nothing is decoded.
int run_resend(const ReplayArguments& arguments) {
  const auto refuse = [](bool is_given, const char* option) {
    if (is_given) throw ToolError(kExitUsage, std::string("--to udp decodes nothing; leave out ") + option);
  };
  refuse(!arguments.program.templates.empty() || !arguments.program.firmware.empty(), "--templates and --firmware");
  refuse(!arguments.framing.empty() || !arguments.reset.empty(), "--framing and --reset");
  refuse(!arguments.engine.empty(), "--engine");
  refuse(arguments.content.records || arguments.content.events || !arguments.map.empty(), "--records, --events, --map");
  refuse(!arguments.format.empty() || !arguments.columns.empty() || arguments.output != "-",
         "--format, --columns and --output");
  refuse(!arguments.ring.name.empty(), "--ring");
  refuse(arguments.jobs.has_value(), "--jobs");
  if (arguments.limit == 0U) throw ToolError(kExitUsage, "--limit: at least 1");
  ResendJob job{.groups = groups_of(arguments),
                .speed = speed_of(arguments, "1x"),
                .merge = arguments.merge,
                .limit = arguments.limit.value_or(0),
                .quiet = arguments.quiet};
  if (!arguments.feed.empty()) {
    if (!job.groups.empty()) throw ToolError(kExitUsage, "--group conflicts with --feed, which sets it");
    for (const feed::Channel& channel : load_feed(arguments.feed).channels) {
      for (const std::optional<feed::Line>& line : channel.lines) {
        if (line) job.groups.push_back(line->group);
      }
    }
  }
  return resend(arguments.resend, job, open_captures(arguments.captures));
}

int run_replay(const ReplayArguments& arguments) {
  if (arguments.resend.is_wanted()) return run_resend(arguments);
  arguments.resend.check_absent();
  arguments.ring.check(arguments.content.events);
  arguments.card.check(wants_card(arguments.engine));
  const Work work = arguments.feed.empty() ? work_of_framing(arguments) : work_of_feed(arguments);
  const Lanes& lanes = work.lanes;
  const std::uint16_t jobs = jobs_of(arguments);
  check_end_arguments(arguments, lanes.size(), jobs);
  const MapChoice choice = map_of(arguments, work);
  const Sources sources = read_ahead(open_captures(arguments.captures), arguments.merge);

  catch_stop_signals();  // a card that is closed in good order leaves no files
  const std::unique_ptr<Card> card = open_card(arguments, *lanes.front());
  Outlets outlets(arguments, lanes, jobs, choice);
  if (!outlets.wait_for_readers()) return kExitDone;

  ProgressBar bar(!arguments.quiet && !outlets.is_terminal());
  lanes.front()->options.on_progress = [&](const replay::Progress& progress) {
    bar.draw(progress);
    outlets.look_after();
  };
  const std::vector<replay::Summary> summaries =
      jobs > 1 ? decode_on_cores(arguments, lanes, jobs, sources, outlets.records_to())
               : decode(arguments, lanes, sources, outlets, choice, card.get());
  outlets.finish_records();
  const std::string of_card = card ? card->summary() : std::string();  // throws if it failed, whatever came of the rest
  const std::string of_market = outlets.finish(summaries);
  return report(arguments, lanes, summaries, of_card, of_market);
}

}  // namespace

Command replay_command() {
  const auto arguments = std::make_shared<ReplayArguments>();
  std::vector<Option> options = {captures_option(arguments->captures)};
  Option format =
      format_option(arguments->format, "Output format. Default jsonl, or none with --ring.", {"sbe", "none"});
  std::vector<Option> styles = style_options(arguments->style);
  Option map = map_option(arguments->map);
  map.required = false;
  map.help += " For --events. The captures are then treated as with --feed: without it, each group is a channel.";
  for (Option& option : program_options(arguments->program)) {
    if (option.names == "--firmware") option.or_next = true;
    options.push_back(std::move(option));
    if (options.back().names != "--firmware") continue;
    options.push_back(feed_option(arguments->feed,
                                  "The lines of a channel are merged, and gaps and resets become records. Replaces "
                                  "--templates, --firmware, --framing, --reset and --group."));
  }
  options.push_back(fields_option(arguments->program.compile.fields));
  options.back().help += " Needs --templates; see `stopbit compile --help`.";
  options.push_back(framing_option(arguments->framing));
  options.back().required = false;
  options.push_back(reset_option(arguments->reset));
  const std::vector<Option> more = {
      engine_option(arguments->engine, true),
      {.names = "--records",
       .value = "",
       .help = "The outputs, which are --format, --columns and --ring, get the records. The default.",
       .target = &arguments->content.records},
      {.names = "--events",
       .value = "",
       .help = "The outputs get market events instead, as the map makes them. With --records, too, a --ring gets both.",
       .target = &arguments->content.events},
      std::move(format),
      std::move(styles[0]),
      std::move(styles[1]),
      std::move(styles[2]),
      std::move(styles[3]),
      std::move(map),
      depth_option(arguments->depth),
      {.names = "-o,--output",
       .value = "FILE",
       .help = "Output file; - is stdout, the default.",
       .target = &arguments->output,
       .hint = file_hint()},
      {.names = "--columns",
       .value = "DIR",
       .help =
           "Writes columns instead of text: a folder with a .npy file for each field, which numpy maps into memory, "
           "and index.json. It must be empty or new.",
       .target = &arguments->columns,
       .hint = file_hint()},
      {.names = "--force",
       .value = "",
       .help = "With --columns: replaces the columns that are in the folder.",
       .target = &arguments->force},
      {.names = "-j,--jobs",
       .value = "N",
       .help = "Decodes on N threads and prints on N more; 0: one for each core, at most 64. N does not change the "
               "output. Default 1. Not with --ring, --events, --limit, --pace or a card.",
       .target = &arguments->jobs},
      {.names = "--merge",
       .value = "",
       .help = "Merges all captures by packet time, for instance captures of lines A and B by two cards. Default: one "
               "capture after the other.",
       .target = &arguments->merge},
      {.names = "--pace,--speed",
       .value = "PACE",
       .help = "Speed: max, or a multiple of the capture's own: 1x, 10x, 0.5x. Default max, with --to udp 1x.",
       .target = &arguments->pace,
       .hint = open_choice_hint({"max", "1x", "10x"})},
      {.names = "--group",
       .value = "A.B.C.D:PORT",
       .help = "Only packets to this multicast group.",
       .target = &arguments->groups},
      {.names = "--limit", .value = "N", .help = "Stops after N decoded datagrams.", .target = &arguments->limit},
      {.names = "-q,--quiet",
       .value = "",
       .help = "Prints only problems on stderr, no progress and no summary.",
       .target = &arguments->quiet},
  };
  options.insert(options.end(), more.begin(), more.end());
  for (Option& option : ring_options(arguments->ring)) options.push_back(std::move(option));
  for (Option& option : resend_options(arguments->resend)) options.push_back(std::move(option));
  for (Option& option : engine_options(arguments->engine_arguments)) options.push_back(std::move(option));
  for (Option& option : card_options(arguments->card)) options.push_back(std::move(option));
  return {
      .name = "replay",
      .summary = "Decodes captures into records",
      .description =
          "Decodes the FAST messages of captured packets. Records are printed one per line, written to a ring in "
          "shared memory, or both. For a datagram that cannot be decoded, a line of its own gives the place and the "
          "reason; decoding continues at the next reset of the dictionary. The summary on stderr counts the packets "
          "and messages that were read, decoded, skipped and lost.\n"
          "\n"
          "A separate thread reads and decompresses captures. With --jobs, channels are decoded and "
          "records printed on several more; without --feed, each group is a channel.\n"
          "\n"
          "The exit status is 1 if a datagram could not be decoded. Sequence numbers missing from the capture are "
          "reported, but are not an error.\n"
          "\n"
          "--records and --events say what comes out, --format, --columns and --ring where it goes. Market events are "
          "what the records mean for instruments and their books; they need a map. A file, a pipe or a folder has one "
          "of both, so that each line, row or message of it has the same form.\n"
          "\n"
          "With --feed the packets of a channel are treated as in live reception, with the channel's mode and window. "
          "Each sequence number is decoded once; a gap becomes an event record in its place. Captures are read one "
          "after the other, each in its own order: give them in the order of their times. If they overlap, for "
          "instance "
          "because lines A and B are in separate files, add --merge.\n"
          "\n"
          "With --to udp nothing is decoded: the multicast datagrams of the captures go out to the network again, at "
          "the times they had among each other, to their own groups or those of --rename. The sender is this machine. "
          "The exit status is 3 if the system refused to send, and 1 if there was nothing to send.\n"
          "\n" +
          framing_text() + "\n\n" + format_text() + "\n\n" + event_format_text() + "\n\n" + card_text(),
      .options = std::move(options),
      .examples = {{"stopbit replay day.pcap --templates templates.xml --framing cme > day.jsonl",
                    "every message as a JSON line"},
                   {"stopbit replay day.pcap --feed feed.toml --header --time ns > day.jsonl",
                    "with arrival time, channel, line, sequence and sender epoch"},
                   {"stopbit replay day.pcap --feed feed.toml --format csv --wide --template Quote/Legs > legs.csv",
                    "a row for each entry of a sequence, a column for each field"},
                   {"stopbit replay day.pcap.gz --firmware feed.sbf --framing t7 --format none",
                    "only the summary: what does this capture contain?"},
                   {"stopbit replay day.pcap --firmware feed.sbf --framing moex --pace 1x --ring moex",
                    "at the speed of the capture, for readers of the ring 'moex'"},
                   {"stopbit replay day.pcap --firmware feed.sbf --framing moex --ring moex --lossless 1",
                    "as fast as the reader `stopbit tail moex`, which gets every record"},
                   {"stopbit replay day.pcap --firmware feed.sbf --framing cme --pace 1x --ring cme --hold 100ms",
                    "a ring whose readers may pause for 100 ms without loss"},
                   {"stopbit replay a.pcap b.pcap --firmware feed.sbf --framing custom:skip=6,seq=u32be@2,reset=packet",
                    "two captures in sequence, with a custom preamble"},
                   {"stopbit replay day.pcap.zst --feed feed.toml --jobs 0 > day.jsonl",
                    "the channels of a day on all cores"},
                   {"stopbit replay day.pcap --firmware feed.sbf --framing cme --columns day",
                    "the folder 'day' with an array for each field, for stopbit.columns('day') in Python"},
                   {"stopbit replay day.pcap --firmware feed.sbf --framing cme --map cme-mdp2 --events --format csv",
                    "a row for each market event"},
                   {"stopbit replay day.pcap --feed feed.toml --events --pace 1x --ring moex-events",
                    "market events for readers of a ring, and tables of instruments and states"},
                   {"stopbit replay day.pcap --feed feed.toml > day.jsonl",
                    "lines A and B merged, gaps reported, every channel with its own templates"},
                   {"stopbit replay day.pcap --to udp --interface lo --feed feed.toml --speed 10x",
                    "the packets of a feed as multicast to programs on this machine, ten times as fast"},
                   {"stopbit replay day.pcap --to udp --interface eth1 --rename "
                    "224.0.31.1:10001=239.1.1.1:30001",
                    "all groups at their own pace, one of them under another address"},
                   {"stopbit replay day.pcap --firmware feed.sbf --framing cme --limit 1000 --engine card --xclbin sim",
                    "decoded by the simulated hardware"}},
      .run = [arguments] { return run_replay(*arguments); },
  };
}

}  // namespace stopbit::tools
