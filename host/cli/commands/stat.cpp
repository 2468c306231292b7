#include <memory>

#include "host/appliance/appliance.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/appliance_text.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"

namespace stopbit::tools {
namespace {

struct StatArguments {
  std::string name;
  std::string user;
  bool json = false;
  bool skew = false;
};

int stat(const StatArguments& arguments) {
  if (arguments.json && arguments.skew) throw ToolError(kExitUsage, "--json and --skew cannot be combined");
  accept_user(arguments.user);
  const counters::Reader reader = open_counters(arguments.name);
  const appliance::StatusReport status = appliance::read_status(reader, appliance::now_of_machine());
  Output out = Output::open("-");
  out.write(arguments.json   ? appliance::to_json(status) + "\n"
            : arguments.skew ? skew_text(status)
                             : stat_text(status));
  out.close();
  return kExitDone;
}

}  // namespace

Command stat_command() {
  const auto arguments = std::make_shared<StatArguments>();
  return {
      .name = "stat",
      .summary = "Shows the counters of an appliance",
      .description =
          "Shows where every packet and every sequence number went: for each line, what it received, what it missed "
          "and how much of that the other line delivered; for each channel, what was delivered, held and lost; drops "
          "by place, including readers with a name; ports, rings, threads; and each distinct error with the first "
          "datagram that had it. `exact` means that received = delivered + duplicate + late + held + malformed + "
          "incomplete, and expected = delivered + recovered + lost + held. `changing` means that the counters changed "
          "while they were read.\n"
          "\n"
          "Counters start at 0 when the appliance starts. After it ends they remain until the next start.",
      .options = {appliance_name_option(arguments->name),
                  user_option(arguments->user),
                  {.names = "--json",
                   .value = "",
                   .help = "Prints everything as one JSON object.",
                   .target = &arguments->json},
                  {.names = "--skew",
                   .value = "",
                   .help = "Shows the delay between the lines of each channel, and proposes a window: the 99.99th "
                           "percentile of the delay plus a quarter. A loss on one line is recovered only if the other "
                           "line delivers the packet within the window.",
                   .target = &arguments->skew}},
      .examples = {{"stopbit stat", "the only appliance of this machine"},
                   {"stopbit stat xetra --json | jq .drops", "for programs"},
                   {"stopbit stat xetra --skew", "proposes windows for feed.toml"}},
      .run = [arguments] { return stat(*arguments); }};
}

}  // namespace stopbit::tools
