#include <memory>
#include <utility>

#include "host/appliance/appliance.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/appliance_text.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/screen.hpp"
#include "host/cli/common/signals.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kRows = 24;
constexpr int kRefreshMs = 1'000;

struct TopArguments {
  std::string name;
  std::string user;
  bool once = false;
};

int top(const TopArguments& arguments) {
  accept_user(arguments.user);
  const counters::Reader reader = open_counters(arguments.name);
  appliance::StatusReport before = appliance::read_status(reader, appliance::now_of_machine());
  if (arguments.once) {
    Output out = Output::open("-");
    out.write(screen_text(before, before, kColumns, kRows));
    out.close();
    return kExitDone;
  }
  catch_stop_signals();
  Screen screen;
  while (!stop_requested()) {
    appliance::StatusReport now = appliance::read_status(reader, appliance::now_of_machine());
    const Screen::Size size = Screen::size();
    screen.show(screen_text(now, before, size.columns, size.rows));
    before = std::move(now);
    if (screen.key(kRefreshMs) == 'q') break;
  }
  screen.close();
  return kExitDone;
}

}  // namespace

Command top_command() {
  const auto arguments = std::make_shared<TopArguments>();
  return {
      .name = "top",
      .summary = "Shows a running appliance on a screen that refreshes",
      .description =
          "Shows the channels of an appliance and their rates, refreshed once per second; channels that are not ready "
          "come first. The lines above them show drops by place, if any, and how many books are right. The screen fits "
          "80 columns and 24 rows, and uses a larger terminal. Press q to quit.",
      .options = {appliance_name_option(arguments->name),
                  user_option(arguments->user),
                  {.names = "--once",
                   .value = "",
                   .help = "Prints one screen of 80 columns and 24 rows and ends. It has no rates, since they need "
                           "two readings.",
                   .target = &arguments->once}},
      .examples = {{"stopbit top", "the only appliance of this machine"}},
      .run = [arguments] { return top(*arguments); },
      .runs_until_stopped = true};
}

}  // namespace stopbit::tools
