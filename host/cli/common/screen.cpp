#include "host/cli/common/screen.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "host/cli/common/command.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kLeastColumns = 20;
constexpr std::size_t kLeastRows = 8;

Output open_terminal() {
  if (::isatty(STDOUT_FILENO) == 0) {
    throw ToolError(kExitUsage, "stdout is not a terminal; use --once to print one screen");
  }
  return Output::open("-");
}

}  // namespace

Screen::Screen() : out_(open_terminal()) {
  has_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
  if (has_keys_) {
    termios raw = before_;
    raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  is_open_ = true;
  out_.write("\x1b[?1049h\x1b[?25l");
}

Screen::~Screen() {
  if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  try {
    if (is_open_) close();
  } catch (...) {  // the terminal was closed
  }
}

Screen::Size Screen::size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {.columns = std::max<std::size_t>(kLeastColumns, size.ws_col),
          .rows = std::max<std::size_t>(kLeastRows, size.ws_row) - 1};
}

void Screen::show(std::string_view text) {
  out_.write("\x1b[H\x1b[2J" + std::string(text));
  out_.flush();
}

char Screen::key(int wait_ms) const {
  pollfd in{.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
  if (::poll(&in, 1, wait_ms) <= 0) return 0;
  char key = 0;
  if (::read(STDIN_FILENO, &key, 1) != 1 || key == 'Q') return 'q';
  return key;
}

void Screen::close() {
  is_open_ = false;
  out_.write("\x1b[?25h\x1b[?1049l");
  out_.close();
}

}  // namespace stopbit::tools
