#include "host/analyse/guess/guess.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/program_source.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

constexpr std::uint64_t kMaxPackets = 100'000;
constexpr std::size_t kRows = 10;

struct GuessArguments {
  std::string capture;
  ProgramSource program;
  std::optional<std::uint64_t> packets;
  bool json = false;
};

std::string program_text(const ProgramSource& source) {
  std::string text;
  if (!source.firmware.empty()) text = "--firmware " + source.firmware;
  for (const std::string& path : source.templates) text += (text.empty() ? "--templates " : " --templates ") + path;
  return text;
}

int run_guess(const GuessArguments& arguments) {
  guess::SampleLimits limits;
  if (arguments.packets) limits.packets = static_cast<std::size_t>(*arguments.packets);
  if (limits.packets == 0 || limits.packets > kMaxPackets) {
    throw ToolError(kExitUsage, "--packets: from 1 to " + std::to_string(kMaxPackets));
  }
  const Program program = load_program(arguments.program);
  const auto source = open_capture(arguments.capture);
  const guess::Sample sample = guess::take_sample(*source, limits);
  if (!sample.fault.empty()) print_stderr("{}\n", printable(sample.fault));

  const guess::Guess guess = guess::guess(program, sample);
  Output out = Output::open("-");
  out.write(arguments.json ? guess::to_json(guess, arguments.capture)
                           : guess::to_text(guess, arguments.capture, program_text(arguments.program), kRows));
  out.close();
  return guess.fits ? kExitDone : kExitRejected;
}

}  // namespace

Command guess_command() {
  const auto arguments = std::make_shared<GuessArguments>();
  std::vector<Option> options = {{.names = "",
                                  .value = "CAPTURE",
                                  .help = "The capture: pcap or pcapng, plain, gzip or zstd; - is stdin.",
                                  .target = &arguments->capture,
                                  .hint = file_hint(),
                                  .required = true}};
  for (Option& option : program_options(arguments->program)) options.push_back(std::move(option));
  options.push_back({.names = "--packets",
                     .value = "N",
                     .help = "Reads the first N packets, at most 8 MiB of them. Default 2000.",
                     .target = &arguments->packets});
  options.push_back({.names = "--json", .value = "", .help = "Prints one JSON object.", .target = &arguments->json});
  return {
      .name = "guess",
      .summary = "Finds the framing and the reset rule of a capture",
      .description =
          "Decodes the first packets of a capture with every known framing, and with preambles of 0 to 16 bytes, each "
          "under every reset rule, with and without blocks. Prints the one that fits and the evidence: how many "
          "datagrams decode without an error and into how many fields, how many template identifiers are known, and "
          "how the sequence numbers run. The last line is the command to use next.\n"
          "\n"
          "A framing fits if nine of ten datagrams decode. The exit status is 1 if none fits.",
      .options = std::move(options),
      .examples = {{"stopbit guess day.pcap --templates templates.xml", "what is this capture?"},
                   {"stopbit guess day.pcap --firmware feed.sbf --packets 200 --json", "for programs"}},
      .run = [arguments] { return run_guess(*arguments); },
  };
}

}  // namespace stopbit::tools
