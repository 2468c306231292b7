#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>

#include "host/appliance/appliance.hpp"
#include "host/appliance/gap_log.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/text.hpp"
#include "host/os/clock.hpp"
#include "host/os/readable.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::tools {
namespace {

struct GapsArguments {
  std::string name;
  std::string user;
  std::string since = "today";
  std::string folder;
  std::string channel;
  bool json = false;
};

/// ns since 1970 of "90min" ago, "today", "2019-04-04" or "2019-04-04T08:36:00"; UTC.
std::optional<std::uint64_t> parse_since(const std::string& text, std::uint64_t now) {
  constexpr std::uint64_t kDay = 86'400 * kNsPerSecond;
  if (text == "today") return now / kDay * kDay;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const std::uint64_t size = unit == "s"     ? kNsPerSecond
                             : unit == "min" ? 60 * kNsPerSecond
                             : unit == "h"   ? 3'600 * kNsPerSecond
                             : unit == "d"   ? kDay
                                             : 0;
  if (error == std::errc() && size != 0) {
    std::uint64_t before = 0;
    if (__builtin_mul_overflow(number, size, &before)) return std::nullopt;
    return before < now ? now - before : 0;
  }
  for (const char* format : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    std::tm parts{};
    const char* rest = ::strptime(text.c_str(), format, &parts);
    if (rest == nullptr || (*rest != '\0' && std::string_view(rest) != "Z")) continue;
    const std::time_t seconds = ::timegm(&parts);
    return seconds < 0 ? 0 : static_cast<std::uint64_t>(seconds) * kNsPerSecond;
  }
  return std::nullopt;
}

std::string gap_line(const appliance::GapEntry& gap) {
  std::string line =
      fmt::format("{}  {}  {}  {}  {}: {}", os::time_text(gap.time_ns), plain(gap.channel), appliance::range_text(gap),
                  gap.count, appliance::to_text(gap.cause), appliance::lines_text(gap));
  if (gap.came_late != 0) {
    line += fmt::format("; {} arrived {} late", gap.came_late, os::duration_text(gap.late_by_ns));
  }
  if (const std::string books = appliance::books_text(gap); !books.empty()) line += "; " + books;
  return line;
}

int gaps(const GapsArguments& arguments) {
  const auto since = parse_since(arguments.since, os::wall_clock_ns());
  if (!since) {
    throw ToolError(kExitUsage, "--since: '" + arguments.since +
                                    "' is not a time; write today, 90min, 2h, 3d, 2019-04-04 or 2019-04-04T08:36:00 "
                                    "(UTC)");
  }
  std::string folder = arguments.folder;
  if (folder.empty()) {
    accept_user(arguments.user);
    const counters::Reader reader = open_counters(arguments.name);
    folder = appliance::read_status(reader, {}).state_folder;
  }
  const appliance::GapHistory history = appliance::read_gaps(folder, *since);
  if (!history.problem.empty()) throw ToolError(kExitEnvironment, history.problem);
  Output out = Output::open("-");
  std::uint64_t count = 0;
  std::uint64_t numbers = 0;
  for (const appliance::GapEntry& gap : history.gaps) {
    if (!arguments.channel.empty() && gap.channel != arguments.channel) continue;
    ++count;
    numbers += gap.count;
    out.write((arguments.json ? appliance::to_json(gap) : gap_line(gap)) + "\n");
  }
  out.close();
  if (!arguments.json) {
    print_stderr("{} {}, {} {}\n", count, count == 1 ? "gap" : "gaps", numbers, numbers == 1 ? "number" : "numbers");
  }
  if (history.skipped != 0) print_stderr("stopbit: {} damaged lines skipped\n", history.skipped);
  return kExitDone;
}

}  // namespace

Command gaps_command() {
  const auto arguments = std::make_shared<GapsArguments>();
  return {
      .name = "gaps",
      .summary = "Lists the sequence numbers that an appliance lost",
      .description =
          "Prints a line for each run of missing numbers: when it was given up, channel, numbers, their count, the "
          "cause, and what each line received. Causes: `lost on both`: both lines were alive and neither brought the "
          "numbers; `line down`: one line was silent, so it could not replace what the other lost; `local drop`: the "
          "card or the kernel of this machine dropped packets within the second before. If numbers arrived after they "
          "were given up, the line shows how much later.\n"
          "\n"
          "Of a channel whose feed has a map the line also says what the gap did to books: how many were in doubt, how "
          "many "
          "of these were stale for certain, how they became right again (by later or late messages, or by a snapshot), "
          "and "
          "within which time. A book that is in doubt already counts for the gap that began this. What books are still "
          "not "
          "right is noted after 1 s, 10 s, 100 s and so on.\n"
          "\n"
          "The appliance writes gaps to its state folder, one file per day (UTC), and keeps as many days as its "
          "settings say. They remain after the appliance ends.",
      .options =
          {appliance_name_option(arguments->name),
           user_option(arguments->user),
           {.names = "--since",
            .value = "TIME",
            .help = "Start of the list, UTC: today, 90min, 2h, 3d, 2019-04-04 or 2019-04-04T08:36:00. Default "
                    "today.",
            .target = &arguments->since,
            .hint = open_choice_hint({"today", "10min", "1h", "1d"})},
           {.names = "--channel", .value = "NAME", .help = "Only this channel.", .target = &arguments->channel},
           {.names = "--state",
            .value = "FOLDER",
            .help = "The state folder. Needed only if the appliance left no counters.",
            .target = &arguments->folder,
            .hint = folder_hint()},
           {.names = "--json", .value = "", .help = "Prints one JSON object per line.", .target = &arguments->json}},
      .examples = {{"stopbit gaps", "what was lost today"},
                   {"stopbit gaps xetra --since 2h --json", "the last two hours, for programs"}},
      .run = [arguments] { return gaps(*arguments); }};
}

}  // namespace stopbit::tools
