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
  if (arguments.json && arguments.skew) throw ToolError(kExitUsage, "--json and --skew do not go together");
  accept_user(arguments.user);
  const counters::Reader reader = open_counters(arguments.name);
  const appliance::Status status = appliance::read_status(reader, appliance::now_of_machine());
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
          "Shows where every packet and every sequence number went: what each line brought and missed and how much "
          "of that the other one saved; what was delivered, held, lost; drops by place, those of readers with a name "
          "too; ports, rings, threads; and the distinct errors, each with the first datagram that had it. `exact` says "
          "that received = delivered + "
          "duplicate + late + held + malformed + incomplete, and expected = delivered + recovered + lost + held; "
          "`changing`, that the counters were read in the middle of a change.\n"
          "\n"
          "Counters begin at 0 when the appliance starts, and stay after its end until the next one starts.",
      .options = {appliance_name_option(arguments->name),
                  user_option(arguments->user),
                  {.names = "--json", .value = "", .help = "All of it as one JSON object.", .target = &arguments->json},
                  {.names = "--skew",
                   .value = "",
                   .help = "How far the lines of each channel are apart, and a window that covers it: 99.99 % of the "
                           "later copies seen, and a quarter more. Where the other line is later than the window, a "
                           "loss on the first one cannot be saved.",
                   .target = &arguments->skew}},
      .examples = {{"stopbit stat", "the only appliance of this machine"},
                   {"stopbit stat xetra --json | jq .drops", "for programs"},
                   {"stopbit stat xetra --skew", "proposes windows for feed.toml"}},
      .run = [arguments] { return stat(*arguments); }};
}

}  // namespace stopbit::tools
