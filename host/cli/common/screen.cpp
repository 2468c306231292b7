#include "host/cli/common/screen.hpp"

#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cstdlib>
#include <string>
#include <utility>

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

/// What terminals send for keys without a character, after an escape.
constexpr std::array<std::pair<std::string_view, int>, 14> kSequences = {{
    {"[A", Screen::kUp},
    {"OA", Screen::kUp},
    {"[B", Screen::kDown},
    {"OB", Screen::kDown},
    {"[5~", Screen::kPageUp},
    {"[6~", Screen::kPageDown},
    {"[H", Screen::kHome},
    {"OH", Screen::kHome},
    {"[1~", Screen::kHome},
    {"[7~", Screen::kHome},
    {"[F", Screen::kEnd},
    {"OF", Screen::kEnd},
    {"[4~", Screen::kEnd},
    {"[8~", Screen::kEnd},
}};

/// Takes the first key out of what was typed, which is not empty.
int take_key(std::string& typed) {
  std::size_t bytes = 1;
  int key = static_cast<unsigned char>(typed.front());
  if (key == Screen::kEscape && typed.size() > 2 && (typed[1] == '[' || typed[1] == 'O')) {
    // Up to a byte that ends a sequence, known or not: its rest is no key.
    bytes = 3;
    while (bytes < typed.size() && (typed[bytes - 1] < '@' || typed[bytes - 1] > '~')) ++bytes;
    const std::string_view sequence = std::string_view(typed).substr(1, bytes - 1);
    const auto* const known = std::ranges::find(kSequences, sequence, &std::pair<std::string_view, int>::first);
    key = known != kSequences.end() ? known->second : Screen::kUnknown;
  }
  typed.erase(0, bytes);
  return key;
}

/// Only ends a wait for a key.
extern "C" void on_other_size(int) {}

}  // namespace

Screen::Screen() : out_(open_terminal()) {
  has_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
  if (has_keys_) {
    termios raw = before_;
    raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  struct sigaction action = {};
  action.sa_handler = on_other_size;
  ::sigaction(SIGWINCH, &action, nullptr);
  is_open_ = true;
  // The terminal cuts lines that are too long for it; wrapped, they would push the top out of sight.
  out_.write("\x1b[?1049h\x1b[?25l\x1b[?7l");
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

bool Screen::has_colours() {
  const char* const none = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return (none == nullptr || *none == '\0') && terminal != nullptr &&
         std::string_view(terminal).find("256color") != std::string_view::npos;
}

bool Screen::has_unicode() {
  std::setlocale(LC_CTYPE, "");
  return std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
}

int Screen::key(int wait_ms) {
  if (typed_.empty()) {
    pollfd in{.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
    if (::poll(&in, 1, wait_ms) <= 0) return 0;
    std::array<char, 64> bytes;
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count <= 0) return kEndOfInput;
    typed_.assign(bytes.data(), static_cast<std::size_t>(count));
  }
  return take_key(typed_);
}

void Screen::close() {
  is_open_ = false;
  out_.write("\x1b[?7h\x1b[?25h\x1b[?1049l");
  out_.close();
}

}  // namespace stopbit::tools
