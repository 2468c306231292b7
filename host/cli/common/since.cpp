#include "host/cli/common/since.hpp"

#include <charconv>
#include <ctime>

#include "host/cli/common/command.hpp"
#include "host/os/clock.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::tools {
namespace {

constexpr std::uint64_t kDay = 86'400 * kNsPerSecond;

}  // namespace

std::optional<std::uint64_t> parse_span(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::uint64_t size = unit == "s"     ? kNsPerSecond
                             : unit == "min" ? 60 * kNsPerSecond
                             : unit == "h"   ? 3'600 * kNsPerSecond
                             : unit == "d"   ? kDay
                                             : 0;
  std::uint64_t span = 0;
  if (error != std::errc() || size == 0 || __builtin_mul_overflow(number, size, &span)) return std::nullopt;
  return span;
}

std::optional<std::uint64_t> parse_since(const std::string& text, std::uint64_t now) {
  if (text == "today") return now / kDay * kDay;
  if (const auto span = parse_span(text)) return *span < now ? now - *span : 0;
  for (const char* format : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    std::tm parts{};
    const char* rest = ::strptime(text.c_str(), format, &parts);
    if (rest == nullptr || (*rest != '\0' && std::string_view(rest) != "Z")) continue;
    const std::time_t seconds = ::timegm(&parts);
    return seconds < 0 ? 0 : static_cast<std::uint64_t>(seconds) * kNsPerSecond;
  }
  return std::nullopt;
}

std::uint64_t since_from(const std::string& text) {
  const auto since = parse_since(text, os::wall_clock_ns());
  if (since) return *since;
  throw ToolError(kExitUsage, "--since: '" + text +
                                  "' is not a time; write today, 90min, 2h, 3d, 2019-04-04 or 2019-04-04T08:36:00 "
                                  "(UTC)");
}

}  // namespace stopbit::tools
