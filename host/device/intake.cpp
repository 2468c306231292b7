#include "host/device/intake.hpp"

#include <array>
#include <cstdint>
#include <optional>

#include "decoder/record/layout.hpp"
#include "host/feed/description/arbiter_options.hpp"

namespace stopbit::device {
namespace {

constexpr std::array<record::SourceLine, 2> kLines = {record::SourceLine::LineA, record::SourceLine::LineB};
constexpr std::array<const char*, 2> kLineKeys = {"a", "b"};

std::uint8_t sequence_bits(const feed::Channel& channel) {
  return feed::arbiter_options(channel).sequence_bits;
}

std::string in_channel(const feed::Channel& channel, const std::string& key, const std::string& problem) {
  return "[[channel]] '" + channel.name + "': " + key + ": " + problem;
}

/// Of one channel, apart from its lines.
void add_obstacles(const feed::Channel& channel, std::vector<std::string>& out) {
  if (channel.number >= kChannels) {
    out.push_back(in_channel(
        channel, "number",
        "the card has channels 0 to " + std::to_string(kChannels - 1) + ", not " + std::to_string(channel.number)));
  }
  if (channel.framing.kind == net::FramingKind::B3) {
    out.push_back(in_channel(channel, "framing", "chunks of 'b3' are joined in software only"));
  } else if (const std::string problem = framing_problem(channel.framing); !problem.empty()) {
    out.push_back(in_channel(channel, "framing", problem));
  }
  const unsigned bits = sequence_bits(channel);
  if (bits == 0) return;
  if (bits != 32) {
    out.push_back(in_channel(channel, "framing",
                             "the card arbitrates sequence numbers of 4 bytes, not of " + std::to_string(bits / 8)));
  }
  if (channel.mode != feed::Mode::Fast) {
    out.push_back(in_channel(channel, "mode", "the card passes the first copy at once, so it must be \"fast\""));
  }
}

}  // namespace

std::vector<std::string> intake_obstacles(std::span<const feed::Channel> channels) {
  std::vector<std::string> out;
  std::size_t groups = 0;
  const feed::Channel* overflows = nullptr;
  std::size_t overflows_at = 0;
  for (const feed::Channel& channel : channels) {
    add_obstacles(channel, out);
    if (channel.framing.reset != channels.front().framing.reset) {
      out.push_back(in_channel(
          channel, "framing",
          "the card has one reset rule, and that of channel '" + channels.front().name + "' is another one"));
    }
    for (std::size_t line = 0; line < channel.lines.size(); ++line) {
      if (!channel.lines[line] || ++groups != kGroups + 1) continue;
      overflows = &channel;
      overflows_at = line;
    }
  }
  if (overflows != nullptr) {
    out.push_back(in_channel(*overflows, kLineKeys[overflows_at],
                             "the card has room for " + std::to_string(kGroups) + " groups, and the channels have " +
                                 std::to_string(groups)));
  }
  return out;
}

std::vector<net::Membership> memberships_of(std::span<const feed::Channel> channels) {
  std::vector<net::Membership> out;
  for (const feed::Channel& channel : channels) {
    for (const auto& line : channel.lines) {
      if (line) out.push_back({.group = line->group, .source = line->source});
    }
  }
  return out;
}

Status set_channels(Kernel& kernel, std::span<const feed::Channel> channels) {
  Status done = Done{};
  for (std::uint32_t number = 0; done && number < kChannels; ++number) {
    done = kernel.set_framing(number, std::nullopt);
    if (done) done = kernel.set_line_rule(number, std::nullopt);
  }
  std::uint32_t groups = 0;
  for (const feed::Channel& channel : channels) {
    if (done) done = kernel.set_framing(channel.number, channel.framing);
    if (done && sequence_bits(channel) != 0) {
      // The whole window: numbers that are forgotten count as late, and copies of them are none. A carousel with one
      // line has no copies: a number 1 that the window remembers is that of the next cycle.
      const bool is_carousel = channel.role == feed::Role::Carousel;
      const bool has_copies = channel.lines[0] && channel.lines[1];
      done = kernel.set_line_rule(
          channel.number, LineRule{.carousel = is_carousel, .window = is_carousel && !has_copies ? 1 : kMaxWindow});
    }
    for (std::size_t line = 0; done && line < channel.lines.size(); ++line) {
      if (!channel.lines[line]) continue;
      done = kernel.set_group(groups++, Group{.address = channel.lines[line]->group.address,
                                              .port = channel.lines[line]->group.port,
                                              .channel = channel.number,
                                              .line = static_cast<std::uint8_t>(kLines[line]),
                                              .source = channel.lines[line]->source});
    }
  }
  while (done && groups < kGroups) done = kernel.set_group(groups++, std::nullopt);
  return done ? kernel.no_filters() : done;
}

}  // namespace stopbit::device
