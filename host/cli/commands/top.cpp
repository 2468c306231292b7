#include <algorithm>
#include <chrono>
#include <memory>

#include "host/appliance/appliance.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/screen.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/top_view.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kRows = 24;
constexpr std::chrono::milliseconds kRefresh{1'000};

struct TopArguments {
  std::string name;
  std::string user;
  bool once = false;
};

void show_until_quit(counters::Reader& reader) {
  using Clock = std::chrono::steady_clock;
  Screen screen;
  TopView view({.has_colours = Screen::has_colours(), .has_blocks = Screen::has_unicode(), .has_keys = true});
  Clock::time_point next = Clock::now();
  int key = 0;
  do {
    // A key shows the same readings in another way: rates over the time between two keys would jump.
    if (Clock::now() >= next) {
      (void)reader.refresh();  // what is damaged is not shown
      view.take(appliance::read_status(reader, appliance::now_of_machine()));
      next = Clock::now() + kRefresh;
    }
    const Screen::Size size = Screen::size();
    screen.show(view.text(size.columns, size.rows));
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    key = screen.key(static_cast<int>(std::max(wait, std::chrono::milliseconds(0)).count()));
  } while (view.press(key) && !stop_requested());
  screen.close();
}

int top(const TopArguments& arguments) {
  accept_user(arguments.user);
  counters::Reader reader = open_counters(arguments.name);
  if (arguments.once) {
    TopView view({});
    view.take(appliance::read_status(reader, appliance::now_of_machine()));
    Output out = Output::open("-");
    out.write(view.text(kColumns, kRows));
    out.close();
    return kExitDone;
  }
  catch_stop_signals();
  show_until_quit(reader);
  return kExitDone;
}

}  // namespace

Command top_command() {
  const auto arguments = std::make_shared<TopArguments>();
  return {
      .name = "top",
      .summary = "Shows a running appliance on a screen that refreshes",
      .description =
          "Shows the channels of an appliance and their rates, refreshed once per second. Channels that need attention "
          "come first; < and > sort by another column, r reverses, / shows only channels whose name contains a text, "
          "the "
          "arrow keys scroll, space pauses, h shows all keys, q quits. The lines above the channels show "
          "messages "
          "per second in the last readings, drops by place, latency, and how many books are right. The screen fits 80 "
          "columns and 24 rows, and uses a larger terminal. It has colours if TERM names 256 of them and NO_COLOR is "
          "not "
          "set; they mark nothing that the text does not say.",
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
