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

#include "decoder/record/buffer_sink.hpp"
#include "host/cli/common/card.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/progress_bar.hpp"
#include "host/cli/common/ring_output.hpp"
#include "host/cli/common/signals.hpp"
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
  std::string output = "-";
  RingArguments ring;
  std::string pace = "max";
  bool merge = false;
  std::vector<std::string> groups;
  std::optional<std::uint64_t> limit;
  bool quiet = false;
};

replay::Options replay_options(const ReplayArguments& arguments) {
  replay::Options options;
  if (arguments.feed.empty()) {
    options.framing = framing_from(arguments.framing);
    set_reset_rule(arguments.reset, options.framing);
  }
  for (const std::string& group : arguments.groups) {
    const Result<net::Endpoint> endpoint = net::parse_endpoint(group);
    if (!endpoint) throw ToolError(kExitUsage, "--group: " + endpoint.message());
    options.groups.push_back(endpoint.value());
  }
  const Result<double> speed = replay::parse_pace(arguments.pace);
  if (!speed) throw ToolError(kExitUsage, "--pace: " + speed.message());
  options.speed = speed.value();
  options.merge = arguments.merge;
  if (arguments.limit == 0U) throw ToolError(kExitUsage, "--limit: at least 1");
  options.limit = arguments.limit.value_or(0);
  apply(arguments.engine_arguments, options);
  return options;
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
  const auto refuse = [](bool is_given, const char* option) {
    if (is_given) throw ToolError(kExitUsage, std::string(option) + " conflicts with --feed, which sets it");
  };
  refuse(!arguments.program.templates.empty(), "--templates");
  refuse(!arguments.program.firmware.empty(), "--firmware");
  refuse(!arguments.framing.empty(), "--framing");
  refuse(!arguments.reset.empty(), "--reset");
  refuse(!arguments.groups.empty(), "--group");
  if (wants_card(arguments.engine))
    throw ToolError(kExitUsage, "--feed: a card has no arbitration; use --engine native");
}

/// A lane for each image that a channel uses.
Lanes feed_lanes(const ReplayArguments& arguments, const feed::Description& description) {
  Lanes lanes;
  for (std::size_t i = 0; i < description.images.size(); ++i) {
    const feed::Image& image = description.images[i];
    replay::Options options = replay_options(arguments);
    for (const feed::Channel& channel : description.channels) {
      if (channel.image == i) options.feed.push_back(&channel);
    }
    if (options.feed.empty()) continue;
    if (!replay::same_reset_rule(options.feed)) {
      throw ToolError(kExitRejected, fmt::format("{}: the channels of image '{}' have different reset rules: use one "
                                                 "image for each rule",
                                                 arguments.feed, image.name));
    }
    const ProgramSource source{
        .templates = image.templates, .firmware = image.firmware, .compile = arguments.program.compile};
    lanes.push_back(std::make_unique<Lane>(image.name, load_program(source), std::move(options)));
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

void print_summary(const replay::Summary& summary, const Lane& lane, bool is_quiet) {
  if (is_quiet) return print_problems(summary);
  if (!lane.name.empty()) print_stderr("Image {}\n", printable(lane.name));
  write_stderr(replay::to_text(summary, lane.program));
}

int run_replay(const ReplayArguments& arguments) {
  arguments.ring.check();
  arguments.card.check(wants_card(arguments.engine));
  std::optional<feed::Description> description;
  Lanes lanes;
  if (arguments.feed.empty()) {
    if (arguments.framing.empty()) throw ToolError(kExitUsage, "give either --framing or --feed");
    replay::Options options = replay_options(arguments);
    lanes.push_back(std::make_unique<Lane>("", load_program(arguments.program), std::move(options)));
  } else {
    check_feed_arguments(arguments);
    description = load_feed(arguments.feed);
    lanes = feed_lanes(arguments, *description);
    if (lanes.size() > 1 && !arguments.ring.name.empty()) {
      throw ToolError(kExitUsage, "--ring: a ring carries the records of one image, and the feed has several");
    }
    if (lanes.size() == 1) lanes.front()->name.clear();
  }
  Lane& first = *lanes.front();
  const Sources sources = open_captures(arguments.captures);

  const Format format = format_from(!arguments.format.empty()     ? arguments.format
                                    : arguments.ring.name.empty() ? "jsonl"
                                                                  : "none");
  std::optional<RecordPrinter> printer;
  bool prints_to_terminal = false;
  if (format != Format::None) {
    Output out = Output::open(arguments.output, inputs_of(arguments));
    prints_to_terminal = out.is_terminal();
    printer.emplace(first.schema, format, std::move(out));
    for (std::size_t i = 1; i < lanes.size(); ++i) (void)printer->add(lanes[i]->schema);
  } else if (arguments.output != "-") {
    throw ToolError(kExitUsage, "-o: --format none writes nothing");
  }

  catch_stop_signals();  // a card that is closed in good order leaves no files
  std::unique_ptr<Card> card;
  if (wants_card(arguments.engine)) {
    EngineOptions wanted = replay::engine_options(first.options);
    card = Card::open(arguments.card, first.program, wanted);
    if (card) first.options.channels = wanted.channels;
  }

  std::optional<ring::Writer> ring;
  if (!arguments.ring.name.empty()) {
    const std::uint64_t peak = arguments.ring.wants_rate() ? measure_peak(arguments, first) : 0;
    ring.emplace(create_ring(arguments.ring, first.program, peak, arguments.quiet));
    if (!wait_for_readers(arguments.ring, *ring, arguments.quiet)) return kExitDone;
  }

  ProgressBar bar(!arguments.quiet && !prints_to_terminal);
  first.options.on_progress = [&](const replay::Progress& progress) {
    bar.draw(progress);
    if (ring) ring->beat(os::wall_clock_ns());
  };
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<Pipeline> pipelines;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Lane& lane = *lanes[i];
    if (!card) engines.push_back(engine_for(arguments.engine, lane.program, lane.options, i == 0 && !arguments.quiet));
    pipelines.push_back({.program = lane.program,
                         .engine = card ? card->engine() : *engines.back(),
                         .options = lane.options,
                         .printer = printer ? &*printer : nullptr,
                         .schema = i,
                         .ring = ring ? &*ring : nullptr,
                         .has_failed = card ? std::function([&card] { return card->failed(); }) : nullptr});
  }
  const std::vector<replay::Summary> summaries = run_pipelines(pipelines, sources);
  if (ring) ring->finish();
  if (printer) printer->finish();
  const std::string of_card = card ? card->summary() : std::string();
  std::uint64_t errors = 0;
  std::uint64_t decode_errors = 0;
  std::uint64_t messages = 0;
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    print_summary(summaries[i], *lanes[i], arguments.quiet);
    errors += summaries[i].error_count();
    decode_errors += summaries[i].decode_errors();
    messages += summaries[i].messages;
  }
  if (!arguments.quiet) {
    write_stderr(of_card);
    if (decode_errors != 0 && messages == 0) {
      write_stderr(
          "No message was decoded: the framing or the templates are wrong. `stopbit guess` finds the framing that "
          "fits.\n");
    } else if (decode_errors != 0) {
      write_stderr("`stopbit explain` shows such a packet byte by byte and looks for the cause.\n");
    }
  }
  return errors == 0 ? kExitDone : kExitRejected;
}

}  // namespace

Command replay_command() {
  const auto arguments = std::make_shared<ReplayArguments>();
  std::vector<Option> options = {{.names = "",
                                  .value = "CAPTURE",
                                  .help = "Captures: pcap or pcapng, plain, gzip or zstd; - is stdin.",
                                  .target = &arguments->captures,
                                  .hint = file_hint(),
                                  .required = true}};
  for (Option& option : program_options(arguments->program)) {
    if (option.names == "--firmware") option.or_next = true;
    options.push_back(std::move(option));
    if (options.back().names != "--firmware") continue;
    options.push_back({.names = "--feed",
                       .value = "FEED.toml",
                       .help =
                           "Description of the feed: channels, their lines A and B, framing and images. The lines of "
                           "a channel are merged, and gaps and resets become records. Replaces --templates, "
                           "--firmware, --framing, --reset and --group.",
                       .target = &arguments->feed,
                       .hint = file_hint({".toml"})});
  }
  options.push_back(fields_option(arguments->program.compile.fields));
  options.back().help += " Needs --templates; see `stopbit compile --help`.";
  options.push_back(framing_option(arguments->framing));
  options.back().required = false;
  options.push_back(reset_option(arguments->reset));
  const std::vector<Option> more = {
      engine_option(arguments->engine, true),
      format_option(arguments->format, "Output format. Default jsonl, or none with --ring.", true),
      {.names = "-o,--output",
       .value = "FILE",
       .help = "Output file for the records; - is stdout, the default.",
       .target = &arguments->output,
       .hint = file_hint()},
      {.names = "--merge",
       .value = "",
       .help = "Merges all captures by packet time, for instance captures of lines A and B by two cards. Default: one "
               "capture after the other.",
       .target = &arguments->merge},
      {.names = "--pace",
       .value = "PACE",
       .help = "Speed: max, or a multiple of the capture's own: 1x, 10x, 0.5x. Default max.",
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
          "The exit status is 1 if a datagram could not be decoded. Sequence numbers missing from the capture are "
          "reported, but are not an error.\n"
          "\n"
          "With --feed the packets of a channel are treated as in live reception: in the order of the capture's time "
          "stamps, with the channel's mode and window. Each sequence number is decoded once; a gap becomes an event "
          "record in its place. If the lines are in separate files, add --merge.\n"
          "\n" +
          framing_text() + "\n\n" + format_text() + "\n\n" + card_text(),
      .options = std::move(options),
      .examples = {{"stopbit replay day.pcap --templates templates.xml --framing cme > day.jsonl",
                    "every message as a JSON line"},
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
                   {"stopbit replay day.pcap --feed feed.toml > day.jsonl",
                    "lines A and B merged, gaps reported, every channel with its own templates"},
                   {"stopbit replay day.pcap --firmware feed.sbf --framing cme --limit 1000 --engine xrt --xclbin sim",
                    "decoded by the simulated hardware"}},
      .run = [arguments] { return run_replay(*arguments); },
  };
}

}  // namespace stopbit::tools
