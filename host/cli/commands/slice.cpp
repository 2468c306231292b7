#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <memory>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/signals.hpp"
#include "host/feed/description/line_table.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/ports/merger.hpp"
#include "host/ports/out/frame.hpp"
#include "host/ports/recorder/pcapng_writer.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

struct SliceArguments {
  std::vector<std::string> captures;
  std::string feed;
  std::string channel;
  std::string sequences;
  std::string output;
};

struct SequenceRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// "100..200" or "100".
SequenceRange sequences_from(std::string_view text) {
  const std::size_t dots = text.find("..");
  const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || rest != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  const auto first = number(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : number(text.substr(dots + 2));
  if (!first || !last || *first > *last)
    throw ToolError(kExitUsage, "--seq: must be one number, or A..B with A at most B");
  return {*first, *last};
}

int run_slice(const SliceArguments& arguments) {
  const SequenceRange wanted = sequences_from(arguments.sequences);
  const feed::Description description = load_feed(arguments.feed);
  const feed::Channel& channel = channel_of(description, arguments.channel);
  const Sources sources = open_captures(arguments.captures);
  catch_stop_signals();

  const feed::LineTable lines = lines_of({&channel});
  std::vector<std::string> inputs = arguments.captures;
  inputs.push_back(arguments.feed);
  Output out = Output::open(arguments.output, inputs);
  constexpr std::string_view kNames[] = {"A", "B"};
  recorder::PcapngWriter writer(
      [&](std::span<const std::byte> bytes) {
        out.buffer().append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        out.flush_if_full();
      },
      kNames);

  std::array<std::uint64_t, 2> written{};
  std::uint64_t faults = 0;
  ingest::Merger merger(sources);
  ingest::Packet packet;
  for (ingest::Next next = merger.next(packet); next != ingest::Next::End && !stop_requested();
       next = merger.next(packet)) {
    if (next == ingest::Next::Fault) {
      print_stderr("{}\n", printable(sources[merger.source()]->fault().message));
      ++faults;
      continue;
    }
    net::Datagram datagram;
    if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted)
      continue;
    const feed::LineTarget* const line = lines.find(datagram.destination, datagram.source.address);
    if (line == nullptr) continue;
    const net::Preamble preamble = net::read_preamble(channel.framing, datagram.payload);
    if (preamble.error != ErrorCode::None || preamble.sequence < wanted.first || preamble.sequence > wanted.last)
      continue;
    const auto index = static_cast<std::uint32_t>(line->line);
    ++written[index];
    if (packet.link == net::LinkType::Ethernet) {
      writer.write(index, packet.frame, packet.arrival_ns);
    } else {
      egress::FrameBuilder frames(datagram.source, datagram.destination);
      writer.write(index, frames.build(datagram.payload), packet.arrival_ns);
    }
  }
  out.close();
  print_stderr("channel {}, {}: {} packets of line A, {} of line B\n", channel.number, printable(channel.name),
               written[0], written[1]);
  return faults == 0 && written[0] + written[1] != 0 ? kExitDone : kExitRejected;
}

}  // namespace

Command slice_command() {
  const auto arguments = std::make_shared<SliceArguments>();
  return {
      .name = "slice",
      .summary = "Cuts a range of sequence numbers of a channel out of captures",
      .description =
          "Writes the packets of one channel whose sequence numbers are in a range, ordered by time, to a pcapng file "
          "with an interface for each line. Captures are merged by time, so recordings of lines A and B can be given "
          "together.\n"
          "\n"
          "If a number occurs again (after a reset, in the cycles of a carousel), every occurrence is written. The "
          "exit status is 1 if no packet matches.",
      .options = {captures_option(arguments->captures),
                  {.names = "--feed",
                   .value = "FEED.toml",
                   .help = "Description of the feed.",
                   .target = &arguments->feed,
                   .hint = file_hint({".toml"}),
                   .required = true},
                  {.names = "--channel",
                   .value = "C",
                   .help = "The channel's number or name.",
                   .target = &arguments->channel,
                   .required = true},
                  {.names = "--seq",
                   .value = "A..B",
                   .help = "The first and the last sequence number.",
                   .target = &arguments->sequences,
                   .required = true},
                  {.names = "-w,--write",
                   .value = "OUT.pcapng",
                   .help = "Output file; - is stdout.",
                   .target = &arguments->output,
                   .hint = file_hint({".pcapng"}),
                   .required = true}},
      .examples = {{"stopbit slice a.pcapng b.pcapng --feed feed.toml --channel 310 --seq 88120..88140 -w gap.pcapng",
                    "the packets around a gap, on both lines"}},
      .run = [arguments] { return run_slice(*arguments); },
  };
}

}  // namespace stopbit::tools
