#include "host/cli/common/feed_source.hpp"

#include <cstdio>

#include "host/cli/common/command.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "microcode/base/diagnostic.hpp"

namespace stopbit::tools {

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
  if (channel == nullptr) {
    throw ToolError(kExitUsage, "--channel: the feed has no channel '" + number_or_name + "'");
  }
  return *channel;
}

}  // namespace stopbit::tools
