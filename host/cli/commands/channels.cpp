#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "decoder/record/buffer_sink.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/feed/description/from_moex.hpp"
#include "host/feed/description/from_rdi.hpp"

namespace stopbit::tools {
namespace {

struct ChannelsArguments {
  std::string rdi;
  std::string moex;
  ProgramSource program;
  std::string output = "-";
};

/// Gives every record to the reader when it is complete.
class RdiSink final : public record::RecordSink {
 public:
  RdiSink(std::size_t max_record_slots, feed::RdiReader& reader) : slots_(max_record_slots), reader_(reader) {}

  [[nodiscard]] Place open() noexcept override { return {slots_.data(), number_, false}; }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    slots_[0] = first;
    number_ += slots;
    reader_.take(std::span(slots_).first(slots));
  }

 private:
  std::vector<record::Slot> slots_;
  std::uint32_t number_ = 0;
  feed::RdiReader& reader_;
};

std::string from_rdi(const ChannelsArguments& arguments) {
  const Program program = load_program(arguments.program);
  const record::Schema schema = schema_of(program);
  replay::Options options;
  options.framing = framing_from("t7");
  const std::unique_ptr<Engine> engine = engine_for("", program, options, false);
  feed::RdiReader reader(schema);
  RdiSink sink(program.max_record_slots, reader);
  Sources sources;
  sources.push_back(open_capture(arguments.rdi));
  const replay::Summary summary = replay::Replay(program, *engine, sink, options).run(sources);
  print_problems(summary);
  if (reader.feeds().empty()) {
    throw ToolError(kExitRejected, arguments.rdi + ": the capture has no product with feeds (the sequence Feeds)");
  }
  const feed::RdiDescription made = feed::from_rdi(reader.feeds());
  if (made.description.channels.empty()) {
    throw ToolError(kExitRejected, arguments.rdi + ": none of the feeds has a usable address");
  }
  print_stderr(
      "{} feed entries, {} channels{}\n", reader.feeds().size(), made.description.channels.size(),
      made.left_out == 0 ? "" : fmt::format(", {} entries omitted: no usable address of their own", made.left_out));
  return feed::to_toml(
      made.description,
      fmt::format("From the reference data in {}: {} feed entries.\n"
                  "Set the paths of the templates. Delete the channels that are not FAST; the exchange's manual lists "
                  "the types,\n"
                  "for instance an order-by-order book.",
                  arguments.rdi, reader.feeds().size()));
}

std::string from_moex(const ChannelsArguments& arguments) {
  if (arguments.program.templates.size() > 1 || !arguments.program.firmware.empty()) {
    throw ToolError(kExitUsage, "--from-moex: at most one template file; the result names it");
  }
  const std::string templates =
      arguments.program.templates.empty() ? "templates.xml" : arguments.program.templates.front();
  Diagnostics diagnostics;
  const auto description = feed::from_moex(read_text(arguments.moex), templates, diagnostics);
  write_stderr(diagnostics.format());
  if (!description) throw ToolError(kExitRejected, "");
  print_stderr("{} channels\n", description->channels.size());
  return feed::to_toml(*description, fmt::format("From {}.", arguments.moex));
}

int run_channels(const ChannelsArguments& arguments) {
  if (arguments.rdi.empty() == arguments.moex.empty()) {
    throw ToolError(kExitUsage, "give either --from-rdi or --from-moex");
  }
  const std::string text = arguments.rdi.empty() ? from_moex(arguments) : from_rdi(arguments);
  write_file(arguments.output, text, {arguments.rdi, arguments.moex});
  return kExitDone;
}

}  // namespace

Command channels_command() {
  const auto arguments = std::make_shared<ChannelsArguments>();
  Command command{
      .name = "channels",
      .summary = "Writes a feed.toml from an exchange's list of channels",
      .description =
          "Exchanges publish the groups and ports they send to. This command reads that list and writes the channels, "
          "with lines A and B, as a feed.toml for `stopbit replay --feed`.\n"
          "\n"
          "--from-rdi: a capture of T7 reference data. Each product in it lists its feeds; products that share a pair "
          "of groups become one channel. Needs the templates of the reference data. Snapshots recover the increments "
          "of the same products and type of book, if there is one channel of each. The data does not say which "
          "channels are FAST, nor where their templates are: set the paths, and delete the others.\n"
          "\n"
          "--from-moex: the configuration.xml of the Moscow Exchange. TCP connections are left out. Channels with "
          "books "
          "of SPECTRA (ORDERS-LOG, FUT-BOOK, OPT-BOOK) get their map and a ring, and their snapshots recover them.",
      .options = {{.names = "--from-rdi",
                   .value = "CAPTURE",
                   .help = "A capture of T7 reference data; - is stdin.",
                   .target = &arguments->rdi,
                   .hint = file_hint(),
                   .or_next = true},
                  {.names = "--from-moex",
                   .value = "CONFIGURATION.xml",
                   .help = "A configuration file of the Moscow Exchange.",
                   .target = &arguments->moex,
                   .hint = file_hint({".xml"})}},
      .examples = {{"stopbit channels --from-rdi rdi.pcap --templates rdi.xml -o feed.toml",
                    "all products in the reference data"},
                   {"stopbit channels --from-moex configuration.xml --templates fast-templates.xml > feed.toml",
                    "the Moscow Exchange, with source addresses"}},
      .run = [arguments] { return run_channels(*arguments); },
  };
  for (Option& option : program_options(arguments->program)) {
    option.or_next = false;
    command.options.push_back(std::move(option));
  }
  command.options.push_back({.names = "-o,--output",
                             .value = "FILE",
                             .help = "Output file; - is stdout, the default.",
                             .target = &arguments->output,
                             .hint = file_hint({".toml"})});
  return command;
}

}  // namespace stopbit::tools
