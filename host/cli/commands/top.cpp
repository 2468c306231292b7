#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "host/appliance/appliance.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/appliance_text.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
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

/// Keys come one at a time and are not shown, as long as this lives.
class RawKeys {
 public:
  RawKeys() : is_terminal_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!is_terminal_) return;
    termios raw = before_;
    raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  RawKeys(const RawKeys&) = delete;
  RawKeys& operator=(const RawKeys&) = delete;
  ~RawKeys() {
    if (is_terminal_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  /// Waits up to `wait_ms` for a key; true if it is one that ends the program.
  [[nodiscard]] bool quits(int wait_ms) const {
    pollfd in{.fd = is_terminal_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
    if (::poll(&in, 1, wait_ms) <= 0) return false;
    char key = 0;
    return ::read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
  }

 private:
  termios before_{};
  bool is_terminal_;
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
  if (::isatty(STDOUT_FILENO) == 0)
    throw ToolError(kExitUsage,
                    "stdout is not a terminal; use --once to print one "
                    "screen");
  catch_stop_signals();
  const RawKeys keys;
  // The other screen of the terminal, without cursor; back at the end.
  Output out = Output::open("-");
  out.write("\x1b[?1049h\x1b[?25l");
  while (!stop_requested()) {
    appliance::StatusReport now = appliance::read_status(reader, appliance::now_of_machine());
    winsize size{};
    const bool has_size = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
    const std::string screen = screen_text(now, before, has_size ? std::max<std::size_t>(20, size.ws_col) : kColumns,
                                           has_size ? std::max<std::size_t>(8, size.ws_row) - 1 : kRows);
    out.write("\x1b[H\x1b[2J" + screen);
    out.flush();
    before = std::move(now);
    if (keys.quits(kRefreshMs)) break;
  }
  out.write("\x1b[?25h\x1b[?1049l");
  out.close();
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
          "come first. The lines above them show drops by place, if any. The screen fits 80 columns and 24 rows, and "
          "uses a larger terminal. Press q to quit.",
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
