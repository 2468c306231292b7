#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdio>
#include <map>
#include <memory>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/ring_compare.hpp"
#include "host/cli/common/signals.hpp"
#include "host/feed/arbitrate/histogram.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/os/readable.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::tools {
namespace {

struct CompareArguments {
  std::vector<std::string> captures;
  FeedArguments feed;
  std::string framing;
  std::string group_a;
  std::string group_b;
  bool rings = false;
  std::string output = "-";
};

/// By what a packet is known again: sender, sequence and chunk, or the bytes.
struct Key {
  std::uint64_t sender = 0;
  std::uint64_t sequence = 0;
  std::uint64_t chunk = 0;
  auto operator<=>(const Key&) const = default;
};

/// Packets of a line.
struct LineOfCapture {
  /// First arrival of each packet. No hashes: a capture can be made of numbers of which all are the same.
  std::map<Key, std::uint64_t> first_ns;
  std::vector<Key> order;  ///< Of first arrivals.
  std::uint64_t packets = 0;
  std::uint64_t copies = 0;
  std::uint64_t unreadable = 0;
};

Key key_of(std::span<const std::byte> payload, const std::optional<net::Framing>& framing, bool& is_readable) {
  is_readable = true;
  if (framing) {
    const net::Preamble preamble = net::read_preamble(*framing, payload);
    is_readable = preamble.error == ErrorCode::None;
    return {preamble.sender, preamble.sequence, preamble.chunk};
  }
  // Two hashes of 64 bits: packets that only look alike do not happen.
  Key key{kFnv1aBegin, payload.size(), 0};
  for (const std::byte byte : payload) {
    key.sender = fnv1a(key.sender, static_cast<std::uint64_t>(byte));
    key.sequence = key.sequence * 0x9E37'79B9'7F4A'7C15U + static_cast<std::uint64_t>(byte) + 1;
  }
  return key;
}

/// What is compared: packets of a group, from one sender or any; nothing: all packets.
struct Compared {
  std::optional<net::Framing> framing;
  std::array<std::optional<feed::Line>, 2> lines = {};
};

Compared compared_by_groups(const CompareArguments& arguments) {
  Compared compared;
  if (!arguments.framing.empty()) compared.framing = framing_from(arguments.framing);
  const std::string* const groups[] = {&arguments.group_a, &arguments.group_b};
  for (std::size_t i = 0; i < compared.lines.size(); ++i) {
    if (groups[i]->empty()) continue;
    const auto endpoint = net::parse_endpoint(*groups[i]);
    if (!endpoint) throw ToolError(kExitUsage, (i == 0 ? "--group-a: " : "--group-b: ") + endpoint.message());
    compared.lines[i] = feed::Line{.group = endpoint.value(), .source = std::nullopt};
  }
  return compared;
}

/// Lines and framing of a channel.
Compared compared_by_feed(const CompareArguments& arguments) {
  refuse_beside_feed({}, arguments.framing, "");
  if (!arguments.group_a.empty() || !arguments.group_b.empty()) {
    throw ToolError(kExitUsage, "--group-a and --group-b conflict with --feed, which sets them");
  }
  const feed::Description description = load_feed(arguments.feed.feed);
  if (arguments.feed.channel.empty() && description.channels.size() != 1) {
    throw ToolError(kExitUsage, "--feed: the feed has several channels; name one with --channel");
  }
  const feed::Channel& channel =
      arguments.feed.channel.empty() ? description.channels.front() : channel_of(description, arguments.feed.channel);
  if (!channel.lines[1]) {
    throw ToolError(kExitUsage, "--channel: channel '" + channel.name + "' has only one line: nothing to compare");
  }
  return {.framing = channel.framing, .lines = channel.lines};
}

void read_line(ingest::PacketSource& source, const std::optional<feed::Line>& wanted,
               const std::optional<net::Framing>& framing, LineOfCapture& line) {
  ingest::Packet packet;
  for (;;) {
    const ingest::Next next = source.next(packet);
    if (next == ingest::Next::Fault) throw ToolError(kExitRejected, source.fault().message);
    if (next != ingest::Next::Packet || stop_requested()) break;
    net::Datagram datagram;
    if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted)
      continue;
    if (wanted && datagram.destination != wanted->group) continue;
    if (wanted && wanted->source && datagram.source.address != *wanted->source) continue;
    ++line.packets;
    bool is_readable = true;
    const Key key = key_of(datagram.payload, framing, is_readable);
    if (!is_readable) {
      ++line.unreadable;
    } else if (line.first_ns.emplace(key, packet.arrival_ns).second) {
      line.order.push_back(key);
    } else {
      ++line.copies;
    }
  }
}

/// Ranges of sequence numbers, the first ones.
std::string ranges_text(std::vector<std::uint64_t> numbers) {
  constexpr std::size_t kShown = 20;
  std::sort(numbers.begin(), numbers.end());
  std::string out;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] <= numbers[end - 1] + 1) ++end;
    if (++ranges <= kShown) {
      out += numbers[i] == numbers[end - 1] ? fmt::format("    {}\n", numbers[i])
                                            : fmt::format("    {} to {}\n", numbers[i], numbers[end - 1]);
    }
    i = end;
  }
  if (ranges > kShown) out += fmt::format("    ... and {} more ranges\n", ranges - kShown);
  return out;
}

std::string histogram_text(const arbitrate::Histogram& behind, std::string_view title) {
  constexpr std::uint64_t kBar = 40;
  if (behind.count() == 0) return {};
  const std::uint64_t most = *std::max_element(behind.buckets.begin(), behind.buckets.end());
  std::string out = fmt::format("\n{}: {} packets, 99 % within {}, 99.9 % within {}\n", title, behind.count(),
                                os::delay_text(behind.at_most(0.99)), os::delay_text(behind.at_most(0.999)));
  for (std::size_t i = 0; i < behind.buckets.size(); ++i) {
    const std::uint64_t count = behind.buckets[i];
    if (count == 0) continue;
    const std::uint64_t below = i == 0 ? 1 : i < 64 ? std::uint64_t{1} << i : ~std::uint64_t{0};
    out += fmt::format("  below {:>10} {:>12}  {}\n", os::delay_text(below), count,
                       std::string(1 + count * (kBar - 1) / most, '#'));
  }
  return out;
}

/// The two arguments are names of rings.
int run_compare_rings(const CompareArguments& arguments) {
  const bool has_more = arguments.feed.is_given() || !arguments.feed.channel.empty() || !arguments.framing.empty() ||
                        !arguments.group_a.empty() || !arguments.group_b.empty();
  if (has_more) throw ToolError(kExitUsage, "--rings: the other options are for captures");
  if (arguments.captures.size() != 2) throw ToolError(kExitUsage, "--rings: give two rings");
  catch_stop_signals();
  const std::string& first = arguments.captures.front();
  const std::string& second = arguments.captures.back();
  const RingComparison comparison = compare_rings(first, second);
  write_file(arguments.output, comparison.text(first, second), {});
  if (comparison.same == 0 && comparison.is_equal()) {
    throw ToolError(kExitRejected, "the rings have no record in common");
  }
  return comparison.is_equal() ? kExitDone : kExitRejected;
}

int run_compare(const CompareArguments& arguments) {
  if (arguments.rings) return run_compare_rings(arguments);
  if (arguments.captures.empty() || arguments.captures.size() > 2) {
    throw ToolError(kExitUsage, "give one capture of both lines, or one capture of each line");
  }
  const bool is_one = arguments.captures.size() == 1;
  const bool has_feed = arguments.feed.is_given();
  if (!has_feed && !arguments.feed.channel.empty()) throw ToolError(kExitUsage, "--channel needs --feed");
  if (!has_feed && is_one && (arguments.group_a.empty() || arguments.group_b.empty())) {
    throw ToolError(kExitUsage, "one capture of both lines needs --feed, or --group-a and --group-b");
  }
  const Compared compared = has_feed ? compared_by_feed(arguments) : compared_by_groups(arguments);
  const std::optional<net::Framing>& framing = compared.framing;
  const auto source_a = is_one ? open_kept(arguments.captures.front()) : open_capture(arguments.captures.front());
  auto source_b = is_one ? nullptr : open_capture(arguments.captures.back());
  catch_stop_signals();
  LineOfCapture a;
  LineOfCapture b;
  read_line(*source_a, compared.lines[0], framing, a);
  if (is_one) source_b = open_kept(arguments.captures.front());  // after the first look: both have one position
  read_line(*source_b, compared.lines[1], framing, b);
  if (stop_requested()) throw ToolError(interrupted_status(), "interrupted before all was read: nothing is compared");

  std::vector<std::uint64_t> only_a;
  std::vector<std::uint64_t> only_b;
  std::uint64_t both = 0;
  arbitrate::Histogram a_behind;
  arbitrate::Histogram b_behind;
  for (const Key& key : a.order) {
    const auto found = b.first_ns.find(key);
    if (found == b.first_ns.end()) {
      only_a.push_back(key.sequence);
      continue;
    }
    ++both;
    const std::uint64_t at_a = a.first_ns.at(key);
    if (found->second >= at_a) {
      b_behind.add(found->second - at_a);
    } else {
      a_behind.add(at_a - found->second);
    }
  }
  for (const Key& key : b.order) {
    if (!a.first_ns.contains(key)) only_b.push_back(key.sequence);
  }

  std::string text = fmt::format("{:>12}  packets on A{}\n{:>12}  packets on B{}\n{:>12}  on both\n", a.packets,
                                 a.copies == 0 ? "" : fmt::format(", {} of them second copies", a.copies), b.packets,
                                 b.copies == 0 ? "" : fmt::format(", {} of them second copies", b.copies), both);
  if (a.unreadable + b.unreadable != 0) {
    text += fmt::format("{:>12}  with an implausible preamble\n", a.unreadable + b.unreadable);
  }
  text += fmt::format("{:>12}  on A only\n", only_a.size());
  if (framing) text += ranges_text(only_a);
  text += fmt::format("{:>12}  on B only\n", only_b.size());
  if (framing) text += ranges_text(only_b);
  text += histogram_text(b_behind, "B after A") + histogram_text(a_behind, "A after B");
  write_file(arguments.output, text, arguments.captures);
  return only_a.empty() && only_b.empty() && a.unreadable + b.unreadable == 0 ? kExitDone : kExitRejected;
}

}  // namespace

Command compare_command() {
  const auto arguments = std::make_shared<CompareArguments>();
  Command command{
      .name = "compare",
      .summary = "Compares lines A and B: packets on one line only, and the delay between copies",
      .description =
          "Lists the packets that arrived on one line only, and shows how long after the first copy of a packet the "
          "other line's copy arrived. Packets are matched by sender, sequence number and chunk if the framing is "
          "given, otherwise by their bytes. Comparing times across captures is only as accurate as the clocks that "
          "stamped them.\n"
          "\n"
          "Both captures are held in memory, 110 bytes per packet. The exit status is 1 if the lines differ.\n"
          "\n"
          "With --rings the two arguments are rings of two appliances on the same feeds. The records that both hold "
          "now are compared, except fields that each appliance sets itself: arrival, source and quality of the time, "
          "stamp, epoch, generation, rows of instruments, and how a message came. Gaps, errors and other events are "
          "only counted. The exit status is 1 if records differ, or one ring lacks some within the range that both "
          "have.",
      .options = {{.names = "",
                   .value = "CAPTURE",
                   .help = "A capture of line A, then one of line B; or one capture of both, with --feed, or "
                           "with --group-a and --group-b.",
                   .target = &arguments->captures,
                   .hint = file_hint(),
                   .required = true}},
      .examples = {{"stopbit compare a.pcap b.pcap --framing t7", "two recordings of one channel"},
                   {"stopbit compare day.pcap --feed feed.toml --channel 310", "the lines of a channel of a feed"},
                   {"stopbit compare day.pcap --group-a 239.1.1.1:30001 --group-b 239.1.2.1:31001 --framing moex",
                    "two groups of one capture"},
                   {"stopbit compare --rings md1 md2", "whether two appliances publish the same"}},
      .run = [arguments] { return run_compare(*arguments); },
  };
  command.options.push_back(feed_option(arguments->feed.feed, "Sets --framing, --group-a and --group-b."));
  command.options.push_back({.names = "--channel",
                             .value = "C",
                             .help = "With --feed: the channel whose lines are compared; may be left out if there is "
                                     "only one.",
                             .target = &arguments->feed.channel});
  command.options.push_back(framing_option(arguments->framing));
  command.options.back().required = false;
  command.options.back().help =
      "Preamble of the datagrams; see `stopbit replay --help`. Default: none, packets are compared by their bytes.";
  command.options.push_back({.names = "--group-a",
                             .value = "A.B.C.D:PORT",
                             .help = "Line A: only packets to this group.",
                             .target = &arguments->group_a});
  command.options.push_back({.names = "--group-b",
                             .value = "A.B.C.D:PORT",
                             .help = "Line B: only packets to this group.",
                             .target = &arguments->group_b});
  command.options.push_back({.names = "--rings",
                             .value = "",
                             .help = "Compares the records of two rings, of two appliances on the same feeds.",
                             .target = &arguments->rings});
  command.options.push_back({.names = "-o,--output",
                             .value = "FILE",
                             .help = "Output file; - is stdout, the default.",
                             .target = &arguments->output,
                             .hint = file_hint()});
  return command;
}

}  // namespace stopbit::tools
