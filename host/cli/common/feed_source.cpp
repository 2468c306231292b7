#include "host/cli/common/feed_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "host/cli/common/command.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/replay/replay.hpp"
#include "microcode/base/diagnostic.hpp"
#include "microcode/base/nearest.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

/// "310 'FESX', 311 'FDAX'": the first channels.
std::string channels_text(const feed::Description& description) {
  constexpr std::size_t kMost = 8;
  std::string out;
  for (std::size_t i = 0; i < std::min(kMost, description.channels.size()); ++i) {
    const feed::Channel& channel = description.channels[i];
    out += fmt::format("{}{} '{}'", i == 0 ? "" : ", ", channel.number, printable(channel.name));
  }
  const std::size_t rest = description.channels.size() - std::min(kMost, description.channels.size());
  return out + (rest == 0 ? "" : fmt::format(", and {} more", rest));
}

}  // namespace

Option feed_option(std::string& target, const std::string& more) {
  return {.names = "--feed",
          .value = "FEED.toml",
          .help = "Description of the feed: channels, their lines A and B, framing and images. " + more,
          .target = &target,
          .hint = file_hint({".toml"})};
}

std::vector<Option> program_or_feed_options(ProgramSource& source, FeedArguments& feed) {
  std::vector<Option> options;
  for (Option& option : program_options(source)) {
    if (option.names == "--firmware") option.or_next = true;
    options.push_back(std::move(option));
    if (options.back().names != "--firmware") continue;
    options.push_back(feed_option(feed.feed, "Replaces --templates, --firmware, --framing and --reset."));
  }
  options.push_back({.names = "--channel",
                     .value = "C",
                     .help = "With --feed: the number or name of the channel that is meant.",
                     .target = &feed.channel});
  return options;
}

void refuse_beside_feed(const ProgramSource& program, const std::string& framing, const std::string& reset) {
  const auto refuse = [](bool is_given, const char* option) {
    if (is_given) throw ToolError(kExitUsage, std::string(option) + " conflicts with --feed, which sets it");
  };
  refuse(!program.templates.empty(), "--templates");
  refuse(!program.firmware.empty(), "--firmware");
  refuse(!framing.empty(), "--framing");
  refuse(!reset.empty(), "--reset");
}

feed::Description load_feed(const std::string& path) {
  claim_file(path);
  Diagnostics diagnostics;
  auto description = feed::load(path, diagnostics);
  write_stderr(diagnostics.format());
  if (!description) throw ToolError(kExitRejected, "");
  return std::move(*description);
}

const feed::Channel& channel_of(const feed::Description& description, const std::string& number_or_name) {
  const feed::Channel* const channel = feed::find_channel(description, number_or_name);
  if (channel != nullptr) return *channel;
  std::vector<std::string> names;
  for (const feed::Channel& one : description.channels) names.push_back(one.name);
  const std::string near = did_you_mean(number_or_name, names);
  throw ToolError(kExitUsage, "--channel: the feed has no channel '" + number_or_name + "'" +
                                  (near.empty() ? "; it has " + channels_text(description) : near));
}

std::vector<FeedPart> feed_parts(const feed::Description& description, const TemplateArguments& compile,
                                 const std::string& name) {
  std::vector<FeedPart> parts;
  for (std::size_t i = 0; i < description.images.size(); ++i) {
    const feed::Image& image = description.images[i];
    FeedPart part{.image = image.name,
                  .program = {.templates = image.templates, .firmware = image.firmware, .compile = compile},
                  .channels = {}};
    for (const feed::Channel& channel : description.channels) {
      if (channel.image == i) part.channels.push_back(&channel);
    }
    if (part.channels.empty()) continue;
    if (!replay::same_reset_rule(part.channels)) {
      throw ToolError(kExitRejected, fmt::format("{}: the channels of image '{}' have different reset rules: use one "
                                                 "image for each rule",
                                                 name, image.name));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

FeedPart feed_part(const feed::Description& description, const FeedArguments& arguments,
                   const TemplateArguments& compile) {
  std::vector<FeedPart> parts = feed_parts(description, compile, arguments.feed);
  if (!arguments.channel.empty()) {
    const feed::Channel& channel = channel_of(description, arguments.channel);
    for (FeedPart& part : parts) {
      if (std::find(part.channels.begin(), part.channels.end(), &channel) == part.channels.end()) continue;
      part.channels = {&channel};
      return std::move(part);
    }
  }
  if (parts.size() != 1) {
    throw ToolError(kExitUsage, "--feed: the feed has several images; name one of its channels with --channel: " +
                                    channels_text(description));
  }
  return std::move(parts.front());
}

net::Framing framing_of(const FeedPart& part) {
  const net::Framing& framing = part.channels.front()->framing;
  for (const feed::Channel* channel : part.channels) {
    if (channel->framing.name == framing.name) continue;
    throw ToolError(kExitUsage, "--feed: the channels have the framings '" + framing.name + "' and '" +
                                    channel->framing.name + "'; name one of them with --channel");
  }
  return framing;
}

feed::LineTable lines_of(const std::vector<const feed::Channel*>& channels) {
  std::size_t count = 0;
  for (const feed::Channel* channel : channels) count += channel->lines.size();
  feed::LineTable lines(count);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    for (std::size_t line = 0; line < channels[i]->lines.size(); ++line) {
      const auto& one = channels[i]->lines[line];
      if (one) lines.add(one->group, one->source, {static_cast<std::uint32_t>(i), static_cast<arbitrate::Line>(line)});
    }
  }
  return lines;
}

}  // namespace stopbit::tools
