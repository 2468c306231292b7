#pragma once

#include <string>
#include <vector>

#include "host/cli/common/program_source.hpp"
#include "host/feed/description/description.hpp"
#include "host/feed/description/line_table.hpp"

/// --feed: a description of the feed in place of templates, framing and groups.
namespace stopbit::tools {

struct FeedArguments {
  std::string feed;
  std::string channel;

  [[nodiscard]] bool is_given() const noexcept { return !feed.empty(); }
};

/// --feed, for a command that also has the options of program_options. `more` ends its help.
[[nodiscard]] Option feed_option(std::string& target, const std::string& more);
/// --templates, --firmware, --feed, one of which is needed, the options of templates, and --channel.
[[nodiscard]] std::vector<Option> program_or_feed_options(ProgramSource& source, FeedArguments& feed);

/// A usage error for options that the feed sets.
void refuse_beside_feed(const ProgramSource& program, const std::string& framing, const std::string& reset);

/// A feed.toml. Its errors are printed to stderr and end the command.
[[nodiscard]] feed::Description load_feed(const std::string& path);

/// The channel with that number or name. Usage error if there is none.
[[nodiscard]] const feed::Channel& channel_of(const feed::Description& description, const std::string& number_or_name);

/// The channels of a feed that one program decodes.
struct FeedPart {
  std::string image;
  ProgramSource program;
  std::vector<const feed::Channel*> channels;  ///< Of the description.
};
/// A part for each image that a channel uses. Rejects a part whose channels have different reset rules. `name` is the
/// feed's, for messages.
[[nodiscard]] std::vector<FeedPart> feed_parts(const feed::Description& description, const TemplateArguments& compile,
                                               const std::string& name);
/// The part that --channel means, with this channel alone; without --channel the only part. A usage error if there are
/// several.
[[nodiscard]] FeedPart feed_part(const feed::Description& description, const FeedArguments& arguments,
                                 const TemplateArguments& compile);
/// The framing that all its channels have. A usage error if they have several.
[[nodiscard]] net::Framing framing_of(const FeedPart& part);
/// The lines of the channels, by their positions.
[[nodiscard]] feed::LineTable lines_of(const std::vector<const feed::Channel*>& channels);

}  // namespace stopbit::tools
