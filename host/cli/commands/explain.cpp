#include "host/analyse/explain/explain.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/hex_source.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/feed/packet/packet.hpp"

namespace stopbit::tools {
namespace {

struct ExplainArguments {
  std::string capture;
  std::string hex;
  ProgramSource program;
  FeedArguments feed;
  std::string framing;
  std::string reset;
  EngineArguments engine;
  std::optional<std::uint64_t> packet;
  std::string colour = "auto";
  bool json = false;
};

/// Datagrams in hex, all of them: which one is the last is known at the end only.
std::unique_ptr<ingest::PacketSource> read_hex(const std::string& hex, std::uint64_t& last) {
  const bool is_stdin = hex == "-";
  InputFile file = is_stdin ? InputFile::open("-") : InputFile::of_text("--hex", hex);
  auto source = std::make_unique<HexSource>(std::move(file), [] {});
  guess::Sample sample;
  sample.name = is_stdin ? "<stdin>" : "--hex";
  ingest::Packet packet;
  while (source->next(packet) == ingest::Next::Packet) sample.add(packet);
  source->rethrow_error();
  if (source->bad_lines() != 0) throw ToolError(kExitRejected, "");
  if (sample.packets.empty()) throw ToolError(kExitRejected, sample.name + ": contains no bytes");
  last = sample.packets.back().number;
  return std::make_unique<guess::SampleSource>(std::move(sample));
}

/// The channel of the feed that the packet belongs to. `source` is read up to it.
const feed::Channel& channel_of_packet(const feed::Description& description, ingest::PacketSource& source,
                                       std::uint64_t number) {
  std::vector<const feed::Channel*> channels;
  for (const feed::Channel& channel : description.channels) channels.push_back(&channel);
  const feed::LineTable lines = lines_of(channels);
  ingest::Packet packet;
  for (ingest::Next next = source.next(packet); next != ingest::Next::End; next = source.next(packet)) {
    if (next == ingest::Next::Fault) throw ToolError(kExitRejected, source.fault().message);
    if (packet.number != number) continue;
    net::Datagram datagram;
    const bool is_datagram =
        net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) == net::Verdict::Accepted;
    const feed::LineTarget* line = is_datagram ? lines.find(datagram.destination, datagram.source.address) : nullptr;
    if (line != nullptr) return *channels[line->channel];
    throw ToolError(kExitRejected,
                    fmt::format("packet {} {} no line of the feed; --channel says which channel it is to "
                                "be explained as",
                                number,
                                is_datagram ? "goes to " + net::to_text(datagram.destination) + ", which is"
                                            : std::string("is no UDP datagram of IPv4, so of")));
  }
  throw ToolError(kExitRejected, fmt::format("the capture has no packet {}", number));
}

/// What the packet is decoded by: the options, or a channel of a feed.
struct ExplainedBy {
  ProgramSource program;
  net::Framing framing;
};

ExplainedBy explained_by(const ExplainArguments& arguments, std::uint64_t number) {
  if (!arguments.feed.is_given()) {
    if (!arguments.feed.channel.empty()) throw ToolError(kExitUsage, "--channel needs --feed");
    ExplainedBy by{.program = arguments.program,
                   .framing = framing_from(arguments.framing.empty() ? "none" : arguments.framing)};
    set_reset_rule(arguments.reset, by.framing);
    return by;
  }
  refuse_beside_feed(arguments.program, arguments.framing, arguments.reset);
  const feed::Description description = load_feed(arguments.feed.feed);
  FeedArguments chosen = arguments.feed;
  if (chosen.channel.empty() && arguments.hex.empty()) {
    const auto source = open_kept(arguments.capture);
    chosen.channel = std::to_string(channel_of_packet(description, *source, number).number);
  }
  const FeedPart part = feed_part(description, chosen, arguments.program.compile);
  return {.program = part.program, .framing = framing_of(part)};
}

int run_explain(const ExplainArguments& arguments) {
  const bool is_hex = !arguments.hex.empty();
  if (is_hex != arguments.capture.empty()) {
    throw ToolError(kExitUsage, "give either a capture or --hex");
  }
  if (arguments.packet == 0U) throw ToolError(kExitUsage, "--packet: packets are counted from 1");
  ExplainedBy by = explained_by(arguments, arguments.packet.value_or(1));
  replay::Options options;
  options.framing = std::move(by.framing);
  apply(arguments.engine, options);

  const Program program = load_program(by.program);
  const record::Schema schema = schema_of(program);
  std::uint64_t number = 1;
  std::unique_ptr<ingest::PacketSource> source =
      is_hex ? read_hex(arguments.hex, number) : open_capture(arguments.capture);
  if (arguments.packet) number = *arguments.packet;

  const Result<explain::Explanation> explanation =
      explain::explain(schema, options, std::move(source), number, !is_hex);
  if (!explanation) throw ToolError(kExitRejected, explanation.message());
  Output out = Output::open("-");
  const bool with_colours = arguments.colour == "always" ||
                            (arguments.colour == "auto" && out.is_terminal() && std::getenv("NO_COLOR") == nullptr);
  out.write(arguments.json ? explain::to_json(explanation.value())
                           : explain::to_text(explanation.value(), with_colours));
  out.close();
  return explanation.value().has_fault() ? kExitRejected : kExitDone;
}

}  // namespace

Command explain_command() {
  const auto arguments = std::make_shared<ExplainArguments>();
  std::vector<Option> options = {{.names = "",
                                  .value = "CAPTURE",
                                  .help = "The capture: pcap or pcapng, plain, gzip or zstd; - is stdin.",
                                  .target = &arguments->capture,
                                  .hint = file_hint()},
                                 {.names = "--packet",
                                  .value = "N",
                                  .help = "Number of the packet in the capture, as `stopbit replay` prints it, or of "
                                          "the line of hex. Default: the first packet, the last line.",
                                  .target = &arguments->packet},
                                 {.names = "--hex",
                                  .value = "BYTES",
                                  .help = "Explains a datagram written in hex instead of a capture; - reads lines of "
                                          "hex from stdin.",
                                  .target = &arguments->hex}};
  for (Option& option : program_or_feed_options(arguments->program, arguments->feed))
    options.push_back(std::move(option));
  Option framing = framing_option(arguments->framing);
  framing.required = false;
  framing.help += " Default none.";
  options.push_back(std::move(framing));
  options.push_back(reset_option(arguments->reset));
  for (Option& option : engine_options(arguments->engine)) options.push_back(std::move(option));
  options.push_back({.names = "--json", .value = "", .help = "Prints one JSON object.", .target = &arguments->json});
  options.push_back({.names = "--colour",
                     .value = "WHEN",
                     .help = "Colours the output. Default auto: on a terminal, unless NO_COLOR is set.",
                     .target = &arguments->colour,
                     .hint = choice_hint({"auto", "always", "never"})});
  return {
      .name = "explain",
      .summary = "Shows what every byte of a packet means",
      .description =
          "Shows every byte of one packet, in order: headers, preamble, each presence map bit by bit with the field "
          "that uses the bit, and each field with its bytes, type and operator, its value in the stream, the previous "
          "value in the dictionary, the result, and the position of the result in the record (slot.word). Fields that "
          "took no byte are listed too, with the reason in parentheses.\n"
          "\n"
          "If the dictionary is not reset for every packet, the earlier packets of the capture are decoded first.\n"
          "\n"
          "A packet that cannot be decoded is explained up to the byte that failed. Other framings and reset rules "
          "are then tried on it and on the packets around it, and the most likely cause is printed with its evidence. "
          "The exit status is 1.\n"
          "\n" +
          framing_text(),
      .options = std::move(options),
      .examples = {{"stopbit explain day.pcap --packet 17 --templates templates.xml --framing cme",
                    "a packet that replay reported"},
                   {"stopbit explain day.pcap --packet 17 --feed feed.toml",
                    "the same by a description of the feed, which knows the packet's channel"},
                   {"stopbit explain --hex 'e0 81 81 82 83' --templates tests/data/sample/templates.xml",
                    "a datagram from a log"},
                   {"stopbit explain day.pcap --packet 17 --firmware feed.sbf --framing t7 --json | jq '.rows[].name'",
                    "for programs"}},
      .run = [arguments] { return run_explain(*arguments); },
  };
}

}  // namespace stopbit::tools
