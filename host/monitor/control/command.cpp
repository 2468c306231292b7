#include "host/monitor/control/command.hpp"

#include <algorithm>

namespace stopbit::control {
namespace {

constexpr std::size_t kMaxNameBytes = 256;

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

Result<Command> parse_command(std::string_view line) {
  const std::size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  const std::string_view rest = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  if (word == "status" && rest.empty()) return Command{};
  if (word == "freeze" && rest.empty()) return Command{.kind = Command::Kind::Freeze, .image = {}};
  if (word == "entitle" && rest.empty()) return Command{.kind = Command::Kind::Entitle, .image = {}};
  if (word == "publish" && rest.empty()) return Command{.kind = Command::Kind::Publish, .image = {}};
  if (word == "stop" && rest.empty()) return Command{.kind = Command::Kind::Stop, .image = {}};
  if (word == "load" && !rest.empty() && rest.size() <= kMaxNameBytes && is_printable(rest)) {
    return Command{.kind = Command::Kind::Load, .image = std::string(rest)};
  }
  return Failure{"unknown command; commands are: status, load IMAGE, freeze, entitle, publish, stop"};
}

}  // namespace stopbit::control
