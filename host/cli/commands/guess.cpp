#include "host/analyse/guess/guess.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/market_source.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/feed/packet/packet.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

constexpr std::uint64_t kMaxPackets = 100'000;
constexpr std::size_t kRows = 10;

struct GuessArguments {
  std::string capture;
  ProgramSource program;
  FeedArguments feed;
  std::string write_feed;
  std::optional<std::uint64_t> packets;
  bool json = false;
};

std::string program_text(const ProgramSource& source) {
  std::string text;
  if (!source.firmware.empty()) text = "--firmware " + source.firmware;
  for (const std::string& path : source.templates) text += (text.empty() ? "--templates " : " --templates ") + path;
  return text;
}

/// The packets of a source that come on the lines of a feed.
class OnLines final : public ingest::PacketSource {
 public:
  OnLines(ingest::PacketSource& inner, feed::LineTable lines) : inner_(inner), lines_(std::move(lines)) {}

  [[nodiscard]] ingest::Next next(ingest::Packet& packet) noexcept override {
    for (;;) {
      const ingest::Next next = inner_.next(packet);
      if (next != ingest::Next::Packet) return next;
      net::Datagram datagram;
      const bool is_datagram =
          net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) == net::Verdict::Accepted;
      if (is_datagram && lines_.find(datagram.destination, datagram.source.address) != nullptr) return next;
    }
  }
  [[nodiscard]] std::string_view name() const noexcept override { return inner_.name(); }
  [[nodiscard]] const ingest::Fault& fault() const noexcept override { return inner_.fault(); }
  [[nodiscard]] ingest::SourceProgress progress() const noexcept override { return inner_.progress(); }
  [[nodiscard]] record::TimeQuality time_quality() const noexcept override { return inner_.time_quality(); }

 private:
  ingest::PacketSource& inner_;
  feed::LineTable lines_;
};

/// Whether the feed says what was found, on stderr.
void compare_with_feed(const guess::Guess& guess, const FeedPart& part) {
  if (!guess.fits) return;
  const std::string& found = guess.ranked.front().trial.framing.name;
  for (const feed::Channel* channel : part.channels) {
    if (channel->framing.name == found) continue;
    print_stderr("channel '{}' of the feed has the framing '{}', and '{}' fits better\n", printable(channel->name),
                 printable(channel->framing.name), printable(found));
    return;
  }
  print_stderr("the feed says the same: '{}'\n", printable(found));
}

/// A feed.toml with the framing that was found and a channel for each group.
void write_feed(const GuessArguments& arguments, const guess::Guess& guess) {
  if (!guess.fits) {
    print_stderr("{} is not written: no framing fits\n", arguments.write_feed);
    return;
  }
  feed::Description description = channels_of({arguments.capture}, guess.ranked.front().trial.framing);
  const std::filesystem::path folder = std::filesystem::path(arguments.write_feed).parent_path();
  const auto beside = [&](const std::string& path) {
    const std::filesystem::path relative = std::filesystem::proximate(path, folder.empty() ? "." : folder);
    return relative.empty() ? path : relative.string();
  };
  description.name = "guessed";
  feed::Image& image = description.images.front();
  image.name = "image";
  for (const std::string& path : arguments.program.templates) image.templates.push_back(beside(path));
  if (!arguments.program.firmware.empty()) image.firmware = beside(arguments.program.firmware);
  std::vector<std::string> inputs = arguments.program.templates;
  inputs.push_back(arguments.program.firmware);
  inputs.push_back(arguments.capture);
  write_file(
      arguments.write_feed,
      feed::to_toml(description,
                    "Made by stopbit guess: each group of the capture is a channel.\nIf two groups are lines A and "
                    "B of one channel, make one [[channel]] of them, with a and b.\nGive each line the source of "
                    "its sender, else any host can send to it."),
      inputs);
}

int run_guess(const GuessArguments& arguments) {
  guess::SampleLimits limits;
  if (arguments.packets) limits.packets = static_cast<std::size_t>(*arguments.packets);
  if (limits.packets == 0 || limits.packets > kMaxPackets) {
    throw ToolError(kExitUsage, "--packets: from 1 to " + std::to_string(kMaxPackets));
  }
  if (arguments.feed.is_given() && !arguments.write_feed.empty()) {
    throw ToolError(kExitUsage, "--write-feed: there is a feed already");
  }
  std::optional<feed::Description> description;
  FeedPart part{.image = {}, .program = arguments.program, .channels = {}};
  if (arguments.feed.is_given()) {
    refuse_beside_feed(arguments.program, "", "");
    description.emplace(load_feed(arguments.feed.feed));
    part = feed_part(*description, arguments.feed, arguments.program.compile);
  }
  const Program program = load_program(part.program);
  // Read again for the groups of all packets.
  const bool is_kept = !arguments.write_feed.empty();
  const auto capture = is_kept ? open_kept(arguments.capture) : open_capture(arguments.capture);
  OnLines on_lines(*capture, lines_of(part.channels));
  ingest::PacketSource& source = description ? static_cast<ingest::PacketSource&>(on_lines) : *capture;
  const guess::Sample sample = guess::take_sample(source, limits);
  if (!sample.fault.empty()) print_stderr("{}\n", printable(sample.fault));

  const guess::Guess guess = guess::guess(program, sample);
  Output out = Output::open("-");
  out.write(arguments.json ? guess::to_json(guess, arguments.capture)
                           : guess::to_text(guess, arguments.capture, program_text(part.program), kRows));
  out.close();
  if (description) compare_with_feed(guess, part);
  if (!arguments.write_feed.empty()) write_feed(arguments, guess);
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
  for (Option& option : program_or_feed_options(arguments->program, arguments->feed))
    options.push_back(std::move(option));
  options.push_back({.names = "--packets",
                     .value = "N",
                     .help = "Reads the first N packets, at most 8 MiB of them. Default 2000.",
                     .target = &arguments->packets});
  options.push_back({.names = "--write-feed",
                     .value = "FEED.toml",
                     .help = "Writes a description of the feed with the framing that was found, and a channel for each "
                             "group of the capture.",
                     .target = &arguments->write_feed,
                     .hint = file_hint({".toml"})});
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
                   {"stopbit guess day.pcap --templates templates.xml --write-feed feed.toml",
                    "a description of the feed, for --feed and `stopbit run`"},
                   {"stopbit guess day.pcap --feed feed.toml --channel 310", "does the feed have the right framing?"},
                   {"stopbit guess day.pcap --firmware feed.sbf --packets 200 --json", "for programs"}},
      .run = [arguments] { return run_guess(*arguments); },
  };
}

}  // namespace stopbit::tools
