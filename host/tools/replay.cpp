#include "host/replay/replay.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "decoder/record/buffer_sink.hpp"
#include "host/ring/writer.hpp"
#include "host/tools/card.hpp"
#include "host/tools/commands.hpp"
#include "host/tools/engine_arguments.hpp"
#include "host/tools/pipeline.hpp"
#include "host/tools/program_source.hpp"
#include "host/tools/progress_bar.hpp"
#include "host/tools/ring_output.hpp"
#include "host/tools/signals.hpp"

namespace stopbit::tools {
namespace {

struct ReplayArguments {
  std::vector<std::string> captures;
  ProgramSource program;
  std::string framing;
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
  options.framing = framing_from(arguments.framing);
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
  inputs.insert(inputs.end(), arguments.program.templates.begin(), arguments.program.templates.end());
  if (!arguments.program.firmware.empty()) inputs.push_back(arguments.program.firmware);
  return inputs;
}

std::uint64_t wall_clock_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// Decodes everything once to see how many slots come within the time that the ring is to hold.
std::uint64_t measure_peak(const ReplayArguments& arguments, const Program& program, const replay::Options& options) {
  if (std::find(arguments.captures.begin(), arguments.captures.end(), "-") != arguments.captures.end()) {
    throw ToolError(kExitUsage, "--hold: stdin can be read only once, say --slot-rate");
  }
  replay::Options unpaced = options;
  unpaced.speed = 0;
  record::BufferSink memory(program.max_record_slots, [](std::span<const record::Slot>) {});
  PeakSink peak(memory, arguments.ring.hold_ns(), options.speed);
  const std::unique_ptr<Engine> engine = engine_for(arguments.engine, program, unpaced, false);
  const Pipeline pipeline{.program = program, .engine = *engine, .options = unpaced, .ring = &peak};
  (void)run_pipeline(pipeline, open_captures(arguments.captures));
  return peak.slots();
}

int run_replay(const ReplayArguments& arguments) {
  arguments.ring.check();
  arguments.card.check(wants_card(arguments.engine));
  replay::Options options = replay_options(arguments);
  const Program program = load_program(arguments.program);
  const Sources sources = open_captures(arguments.captures);
  const record::Schema schema = schema_of(program);

  const Format format = format_from(!arguments.format.empty()     ? arguments.format
                                    : arguments.ring.name.empty() ? "jsonl"
                                                                  : "none");
  std::optional<RecordPrinter> printer;
  bool prints_to_terminal = false;
  if (format != Format::None) {
    Output out = Output::open(arguments.output, inputs_of(arguments));
    prints_to_terminal = out.is_terminal();
    printer.emplace(schema, format, std::move(out));
  } else if (arguments.output != "-") {
    throw ToolError(kExitUsage, "-o: there is nothing to write with --format none");
  }

  std::unique_ptr<Card> card;
  if (wants_card(arguments.engine)) {
    EngineOptions wanted = replay::engine_options(options);
    card = Card::open(arguments.card, program, wanted);
    if (card) options.channels = wanted.channels;
  }

  catch_stop_signals();
  std::optional<ring::Writer> ring;
  if (!arguments.ring.name.empty()) {
    const std::uint64_t peak = arguments.ring.wants_rate() ? measure_peak(arguments, program, options) : 0;
    ring.emplace(create_ring(arguments.ring, program, peak, arguments.quiet));
    if (!wait_for_readers(arguments.ring, *ring, arguments.quiet)) return kExitDone;
  }

  ProgressBar bar(!arguments.quiet && !prints_to_terminal);
  options.on_progress = [&](const replay::Progress& progress) {
    bar.draw(progress);
    if (ring) ring->beat(wall_clock_ns());
  };
  const std::unique_ptr<Engine> software =
      card ? nullptr : engine_for(arguments.engine, program, options, !arguments.quiet);
  const Pipeline pipeline{.program = program,
                          .engine = card ? card->engine() : *software,
                          .options = std::move(options),
                          .printer = printer ? &*printer : nullptr,
                          .ring = ring ? &*ring : nullptr,
                          .has_failed = card ? std::function([&card] { return card->failed(); }) : nullptr};
  const replay::Summary summary = run_pipeline(pipeline, sources);
  if (ring) ring->finish();
  if (printer) printer->finish();
  const std::string of_card = card ? card->summary() : std::string();
  if (!arguments.quiet) {
    std::fputs((replay::to_text(summary, program) + of_card).c_str(), stderr);
  } else {
    print_problems(summary);
  }
  if (!arguments.quiet && summary.decode_errors() != 0) {
    std::fputs("`stopbit explain` shows such a packet byte by byte, and looks for the cause.\n", stderr);
  }
  return summary.error_count() == 0 ? kExitDone : kExitRejected;
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
  for (Option& option : program_options(arguments->program)) options.push_back(std::move(option));
  options.push_back(fields_option(arguments->program.compile.fields));
  options.back().help += " Goes with --templates; see `stopbit compile --help`.";
  const std::vector<Option> more = {
      framing_option(arguments->framing),
      engine_option(arguments->engine, true),
      format_option(arguments->format, "How records are printed. Default jsonl, or none with --ring.", true),
      {.names = "-o,--output",
       .value = "FILE",
       .help = "Where records are printed; - is stdout, the default.",
       .target = &arguments->output,
       .hint = file_hint()},
      {.names = "--merge",
       .value = "",
       .help = "Reads all captures at once and orders their packets by time, as those of lines A and B that two cards "
               "took. Default: one capture after the other.",
       .target = &arguments->merge},
      {.names = "--pace",
       .value = "PACE",
       .help = "max, or a multiple of the capture's own speed: 1x, 10x, 0.5x. Default max.",
       .target = &arguments->pace,
       .hint = open_choice_hint({"max", "1x", "10x"})},
      {.names = "--group",
       .value = "A.B.C.D:PORT",
       .help = "Only packets to this multicast group.",
       .target = &arguments->groups},
      {.names = "--limit", .value = "N", .help = "Stops after N datagrams were decoded.", .target = &arguments->limit},
      {.names = "-q,--quiet",
       .value = "",
       .help = "No progress and no summary on stderr, only what went wrong.",
       .target = &arguments->quiet},
  };
  options.insert(options.end(), more.begin(), more.end());
  for (Option& option : ring_options(arguments->ring)) options.push_back(std::move(option));
  for (Option& option : engine_options(arguments->engine_arguments)) options.push_back(std::move(option));
  for (Option& option : card_options(arguments->card)) options.push_back(std::move(option));
  return {
      .name = "replay",
      .summary = "Decodes captures to records",
      .description =
          "Decodes the FAST messages of captured packets. Records are printed one a line, written to a ring in shared "
          "memory, or both. A datagram that cannot be decoded gives a line of its own that says why and where; the "
          "next "
          "one is decoded again as soon as the dictionary has been reset. A summary on stderr counts everything that "
          "was "
          "seen, decoded, left aside and lost.\n"
          "\n"
          "The exit status is 1 if anything could not be decoded.\n"
          "\n" +
          framing_text() + "\n\n" + format_text() + "\n\n" + card_text(),
      .options = std::move(options),
      .examples = {{"stopbit replay day.pcap --templates templates.xml --framing cme > day.jsonl",
                    "every message as a JSON line"},
                   {"stopbit replay day.pcap.gz --firmware feed.sbf --framing t7 --format none",
                    "only the summary: what is in this capture?"},
                   {"stopbit replay day.pcap --firmware feed.sbf --framing moex --pace 1x --ring moex",
                    "as fast as it was captured, for readers of the ring 'moex'"},
                   {"stopbit replay day.pcap --firmware feed.sbf --framing moex --ring moex --lossless 1",
                    "as fast as the reader `stopbit tail moex` can, which gets every record"},
                   {"stopbit replay day.pcap --firmware feed.sbf --framing cme --pace 1x --ring cme --hold 100ms",
                    "a ring that readers may leave alone for 100 ms and lose nothing"},
                   {"stopbit replay a.pcap b.pcap --firmware feed.sbf --framing custom:skip=6,seq=u32be@2,reset=packet",
                    "two captures in sequence, with a preamble of one's own"},
                   {"stopbit replay day.pcap --firmware feed.sbf --framing cme --limit 1000 --engine xrt --xclbin sim",
                    "decoded by the hardware, simulated"}},
      .run = [arguments] { return run_replay(*arguments); },
  };
}

}  // namespace stopbit::tools
