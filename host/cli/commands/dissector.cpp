#include "templates/emit/lua/dissector.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/program_source.hpp"

namespace stopbit::tools {
namespace {

struct DissectorArguments {
  ProgramSource program;
  FeedArguments feed;
  std::string framing;
  std::vector<std::string> ports;
  std::optional<std::string> name;
  std::string output = "-";
  EngineArguments engine;
};

emit::DissectorFraming::Field field_of(const net::PreambleField& field) {
  return {.offset = field.offset, .bytes = field.bytes, .big_endian = field.big_endian};
}

emit::DissectorFraming framing_of(const net::Framing& framing) {
  using Kind = emit::DissectorFraming::Kind;
  using Reset = emit::DissectorFraming::Reset;
  return {.kind = framing.kind == net::FramingKind::B3   ? Kind::B3
                  : framing.kind == net::FramingKind::T7 ? Kind::T7
                                                         : Kind::Fixed,
          .skip = framing.skip,
          .sequence = field_of(framing.sequence),
          .length = field_of(framing.length),
          .blocks = framing.blocks,
          .reset = framing.reset == ResetRule::Packet     ? Reset::Packet
                   : framing.reset == ResetRule::Template ? Reset::Template
                                                          : Reset::Never};
}

std::vector<std::uint16_t> ports_of(const std::vector<std::string>& texts) {
  std::vector<std::uint16_t> ports;
  for (const std::string& text : texts) {
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, port);
    if (error != std::errc() || rest != end || port == 0) {
      throw ToolError(kExitUsage, "--port: '" + text + "' is not a number from 1 to 65535");
    }
    ports.push_back(port);
  }
  return ports;
}

/// The name of the output file, as far as it is one of a protocol.
std::string name_of(const DissectorArguments& arguments) {
  if (arguments.name) {
    if (emit::is_protocol_name(*arguments.name)) return *arguments.name;
    throw ToolError(kExitUsage, "--name: '" + *arguments.name +
                                    "' is not a protocol name: a lower-case letter, then lower-case letters, digits "
                                    "and underscores, 2 to 40 in all");
  }
  const std::string stem = std::filesystem::path(arguments.output).stem();
  return emit::is_protocol_name(stem) ? stem : "feed";
}

/// The program, framing and ports that are given, or those of a feed.
struct DissectorInput {
  Program program;
  net::Framing framing;
  std::vector<std::uint16_t> ports;
};

DissectorInput input_of(const DissectorArguments& arguments) {
  if (!arguments.feed.is_given()) {
    return {.program = load_program(arguments.program),
            .framing = framing_from(arguments.framing.empty() ? "none" : arguments.framing),
            .ports = ports_of(arguments.ports)};
  }
  refuse_beside_feed(arguments.program, arguments.framing, "");
  const feed::Description description = load_feed(arguments.feed.feed);
  const FeedPart part = feed_part(description, arguments.feed, arguments.program.compile);
  std::vector<std::uint16_t> ports = ports_of(arguments.ports);
  for (const feed::Channel* channel : part.channels) {
    for (const auto& line : channel->lines) {
      if (arguments.ports.empty() && line) ports.push_back(line->group.port);
    }
  }
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  return {.program = load_program(part.program), .framing = framing_of(part), .ports = std::move(ports)};
}

int run_dissector(const DissectorArguments& arguments) {
  replay::Options engine;
  apply(arguments.engine, engine);
  emit::DissectorOptions options;
  options.name = name_of(arguments);
  DissectorInput input = input_of(arguments);
  options.ports = std::move(input.ports);
  options.framing = framing_of(input.framing);
  for (const net::FramingPreset& preset : net::framing_presets()) {
    options.presets.emplace_back(preset.name, framing_of(net::parse_framing(preset.name).value()));
  }
  options.strict = engine.strict;
  options.limits = {.datagram_bytes = engine.limits.datagram_bytes,
                    .elements = engine.limits.elements,
                    .empty_elements = engine.limits.empty_elements,
                    .nesting = engine.limits.nesting,
                    .string_bytes = engine.limits.string_bytes};
  std::vector<std::string> inputs = arguments.program.templates;
  inputs.push_back(arguments.program.firmware);
  inputs.push_back(arguments.feed.feed);
  write_file(arguments.output, emit::lua_dissector(input.program, options), inputs);
  return kExitDone;
}

}  // namespace

Command dissector_command() {
  const auto arguments = std::make_shared<DissectorArguments>();
  std::vector<Option> options = program_or_feed_options(arguments->program, arguments->feed);
  Option framing = framing_option(arguments->framing);
  framing.required = false;
  framing.help += " Default none.";
  options.push_back(std::move(framing));
  options.push_back({.names = "--port",
                     .value = "N",
                     .help = "UDP port of the feed; may be given several times. Without it, choose the protocol with "
                             "Decode As in Wireshark, or set the ports in its preferences.",
                     .target = &arguments->ports});
  options.push_back({.names = "--name",
                     .value = "PROTO",
                     .help =
                         "Name of the protocol, and first part of every filter: a lower-case letter, then lower-case "
                         "letters, digits and underscores. Default: the output file's name without .lua, or feed.",
                     .target = &arguments->name});
  options.push_back({.names = "-o,--output",
                     .value = "FEED.lua",
                     .help = "Output file; - is stdout, the default.",
                     .target = &arguments->output,
                     .hint = file_hint({".lua"})});
  for (Option& option : engine_options(arguments->engine)) options.push_back(std::move(option));
  return {
      .name = "dissector",
      .summary = "Writes a Wireshark dissector for a feed",
      .description =
          "Writes a Lua dissector. With it, Wireshark and tshark show the messages of a feed field by field, each "
          "with its bytes. It decodes as `stopbit replay` does: all operators, dictionaries that persist between "
          "packets, resets; a message with an error is marked as malformed with the same error code. Values that were "
          "not in the packet are shown in brackets.\n"
          "\n"
          "To install the dissector, put it into Wireshark's folder of personal Lua plugins (listed under Help, "
          "About, Folders; usually ~/.local/lib/wireshark/plugins), or load it with -X lua_script:FEED.lua. Ports, "
          "framing, reset rule and strictness can be changed in the preferences of the protocol.\n"
          "\n"
          "Filters have the form PROTO.Template.Field, without the groups and sequences that contain the field: "
          "cme.MDIncRefresh.MDEntryPx > 1400. Characters other than letters, digits and underscores become "
          "underscores. PROTO.template, PROTO.sequence, PROTO.error and PROTO.malformed exist for all templates.\n"
          "\n" +
          framing_text(),
      .options = std::move(options),
      .examples = {{"stopbit dissector --templates cme.xml --framing cme --port 10001 -o cme.lua",
                    "write the dissector"},
                   {"stopbit dissector --feed feed.toml -o feed.lua", "with the framing and the ports of a feed"},
                   {"tshark -r day.pcap -X lua_script:cme.lua -Y 'cme.MDIncRefresh.MDEntryPx > 1400'",
                    "use it without installing it"},
                   {"tshark -r day.pcap -X lua_script:cme.lua -Y cme.malformed -T fields -e frame.number -e cme.error",
                    "list the packets with errors"},
                   {"tshark -r day.pcap -X lua_script:cme.lua -d udp.port==7001,cme -V", "for another port"}},
      .run = [arguments] { return run_dissector(*arguments); },
  };
}

}  // namespace stopbit::tools
