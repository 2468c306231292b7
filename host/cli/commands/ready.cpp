#include <algorithm>
#include <cstdio>
#include <memory>

#include "host/appliance/appliance.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/appliance_text.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"

namespace stopbit::tools {
namespace {

struct ReadyArguments {
  std::string name;
  std::string user;
  bool quiet = false;
};

int ready(const ReadyArguments& arguments) {
  accept_user(arguments.user);
  const counters::Reader reader = open_counters(arguments.name);
  const appliance::StatusReport status = appliance::read_status(reader, appliance::now_of_machine());
  const bool is_running = status.writer == counters::Reader::Writer::Running;
  const auto& channels = status.channels;
  const bool is_ready =
      is_running && std::all_of(channels.begin(), channels.end(), [](const auto& item) { return item.is_ready(); });
  if (!arguments.quiet) {
    Output out = Output::open("-");
    out.write(ready_text(status));
    out.close();
  }
  if (!is_running) write_stderr("stopbit: the appliance is not running\n");
  return is_ready ? kExitDone : kExitRejected;
}

}  // namespace

Command ready_command() {
  const auto arguments = std::make_shared<ReadyArguments>();
  return {
      .name = "ready",
      .summary = "Checks whether every channel of an appliance is live",
      .description =
          "Prints a line for each channel: its state (waiting, live, stale, silent, or closed, if its "
          "calendar has no session now), the age of each line's last "
          "packet (! means older than the settings allow), the next sequence number, the count of lost numbers, the "
          "99th percentile of the delay between the lines, and the image. If channels have maps, a line follows for "
          "each ring of market events: how many instruments and books it has, and how many books equal the exchange's "
          "(latest), were right before a loss (suspect), or lack something (stale); the longest time that a book has "
          "been stale; how long a cycle of snapshots takes, and the announced time (`cycle` of feed.toml). Books do "
          "not "
          "change the exit status.\n"
          "\n"
          "The exit status is 0 if the appliance runs, every channel is live and every line receives, "
          "or the channel is closed; otherwise 1; "
          "and 3 if no such appliance has counters on this machine. The command reads shared memory only; it does not "
          "disturb the appliance.",
      .options = {appliance_name_option(arguments->name),
                  user_option(arguments->user),
                  {.names = "-q,--quiet",
                   .value = "",
                   .help = "Prints nothing; only sets the exit status.",
                   .target = &arguments->quiet}},
      .examples = {{"stopbit ready", "one line per channel"},
                   {"stopbit ready xetra -q || mail -s 'feed not ready' me", "for cron"}},
      .run = [arguments] { return ready(*arguments); }};
}

}  // namespace stopbit::tools
