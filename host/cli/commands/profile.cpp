#include "host/analyse/profile/profile.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <limits>
#include <memory>

#include "decoder/record/buffer_sink.hpp"
#include "host/analyse/profile/counter.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/progress_bar.hpp"
#include "host/cli/common/signals.hpp"

namespace stopbit::tools {
namespace {

struct ProfileArguments {
  std::vector<std::string> captures;
  ProgramSource program;
  FeedArguments feed;
  std::string framing;
  std::string reset;
  EngineArguments engine;
  std::vector<std::string> groups;
  std::string packets;
  std::string output = "-";
  bool merge = false;
  bool quiet = false;
};

struct PacketRange {
  std::uint64_t first = 1;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

/// "1..5000", "5001..", "..5000"
PacketRange packets_from(const std::string& text) {
  PacketRange range;
  if (text.empty()) return range;
  const std::size_t dots = text.find("..");
  const auto number = [&](std::string_view digits, std::uint64_t otherwise) {
    if (digits.empty()) return otherwise;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && end == digits.data() + digits.size() ? value : 0;
  };
  if (dots != std::string::npos) {
    range.first = number(std::string_view(text).substr(0, dots), range.first);
    range.last = number(std::string_view(text).substr(dots + 2), range.last);
  }
  if (dots == std::string::npos || range.first == 0 || range.last < range.first) {
    throw ToolError(kExitUsage, "--packets: must be FIRST..LAST; the first packet is 1");
  }
  return range;
}

replay::Options replay_options(const ProfileArguments& arguments) {
  replay::Options options;
  if (!arguments.feed.is_given()) {
    if (arguments.framing.empty()) throw ToolError(kExitUsage, "give either --framing or --feed");
    options.framing = framing_from(arguments.framing);
    set_reset_rule(arguments.reset, options.framing);
  }
  for (const std::string& group : arguments.groups) {
    const Result<net::Endpoint> endpoint = net::parse_endpoint(group);
    if (!endpoint) throw ToolError(kExitUsage, "--group: " + endpoint.message());
    options.groups.push_back(endpoint.value());
  }
  apply(arguments.engine, options);
  return options;
}

int run_profile(const ProfileArguments& arguments) {
  replay::Options options = replay_options(arguments);
  const PacketRange range = packets_from(arguments.packets);
  std::optional<feed::Description> description;
  ProgramSource program_source = arguments.program;
  if (arguments.feed.is_given()) {
    refuse_beside_feed(arguments.program, arguments.framing, arguments.reset);
    if (!arguments.groups.empty()) throw ToolError(kExitUsage, "--group conflicts with --feed, which sets it");
    description.emplace(load_feed(arguments.feed.feed));
    FeedPart part = feed_part(*description, arguments.feed, arguments.program.compile);
    program_source = std::move(part.program);
    options.feed = std::move(part.channels);
  }
  options.merge = arguments.merge;
  const Program program = load_program(program_source);
  const Sources sources = open_captures(arguments.captures);
  std::vector<std::string> inputs = arguments.captures;
  inputs.insert(inputs.end(), arguments.program.templates.begin(), arguments.program.templates.end());
  if (!arguments.program.firmware.empty()) inputs.push_back(arguments.program.firmware);
  if (arguments.feed.is_given()) inputs.push_back(arguments.feed.feed);
  Output out = Output::open(arguments.output, inputs);

  catch_stop_signals();
  ProgressBar bar(!arguments.quiet && !out.is_terminal());
  profile::Counter counter(program, replay::engine_options(options), range.first, range.last);
  record::BufferSink sink(program.max_record_slots, [](std::span<const record::Slot>) {});
  replay::Replay* running = nullptr;
  options.on_progress = [&](const replay::Progress& progress) {
    bar.draw(progress);
    if (stop_requested()) running->request_stop();
  };
  replay::Replay replay(program, counter, sink, std::move(options));
  running = &replay;
  const replay::Summary summary = replay.run(sources);
  const profile::Profile profile = counter.take();
  out.write(profile::to_json(profile));
  out.close();
  print_problems(summary);
  if (!arguments.quiet) {
    print_stderr("{} datagrams, {} messages counted; {} segments, {} sequences, {} strings\n", profile.datagrams,
                 profile.messages, profile.segments.size(), profile.sequences.size(), profile.strings.size());
  }
  return summary.error_count() == 0 ? kExitDone : kExitRejected;
}

}  // namespace

Command profile_command() {
  const auto arguments = std::make_shared<ProfileArguments>();
  std::vector<Option> options = {captures_option(arguments->captures)};
  for (Option& option : program_or_feed_options(arguments->program, arguments->feed))
    options.push_back(std::move(option));
  Option framing = framing_option(arguments->framing);
  framing.required = false;
  const std::vector<Option> more = {
      std::move(framing),
      reset_option(arguments->reset),
      {.names = "-o,--output",
       .value = "FEED.profile.json",
       .help = "Output file; - is stdout, the default.",
       .target = &arguments->output,
       .hint = file_hint({".json"})},
      {.names = "--packets",
       .value = "FIRST..LAST",
       .help = "Counts only these packets of each capture, for instance 1..5000 or 5001..; the others are decoded and "
               "not counted.",
       .target = &arguments->packets},
      {.names = "--group",
       .value = "A.B.C.D:PORT",
       .help = "Only packets to this multicast group.",
       .target = &arguments->groups},
      {.names = "--merge",
       .value = "",
       .help = "Merges all captures by packet time, for instance captures of lines A and B by two cards.",
       .target = &arguments->merge},
      {.names = "-q,--quiet",
       .value = "",
       .help = "Prints only problems on stderr, no progress and no summary.",
       .target = &arguments->quiet},
  };
  options.insert(options.end(), more.begin(), more.end());
  for (Option& option : engine_options(arguments->engine)) options.push_back(std::move(option));
  return {
      .name = "profile",
      .summary = "Counts the presence maps and lengths in a feed's messages",
      .description =
          "Decodes captures and counts how often each presence map occurs: for the body of each template, and for "
          "each group and sequence with its own presence map. Also counts the lengths of sequences and strings. "
          "`stopbit compile --profile` then adds straight-line programs for the frequent maps. Templates, groups and "
          "sequences are matched by name, so a profile remains usable when templates are compiled again; maps of "
          "parts that changed are ignored.\n"
          "\n"
          "The exit status is 1 if a datagram could not be decoded; the rest is counted.\n"
          "\n" +
          framing_text(),
      .options = std::move(options),
      .examples = {{"stopbit profile day.pcap --templates templates.xml --framing cme -o feed.profile.json",
                    "what is frequent in this feed?"},
                   {"stopbit profile a.pcap b.pcap --merge --feed feed.toml -o feed.profile.json",
                    "lines A and B merged, as `stopbit run` merges them"},
                   {"stopbit profile day.pcap --firmware feed.sbf --framing cme --packets 1..5000 -o half.profile.json",
                    "count the first half, to measure on the second"}},
      .run = [arguments] { return run_profile(*arguments); },
  };
}

}  // namespace stopbit::tools
