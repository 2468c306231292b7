#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "host/appliance/appliance.hpp"
#include "host/appliance/gap_log.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/gap_cut.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/recordings.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/since.hpp"
#include "host/cli/common/text.hpp"
#include "host/os/readable.hpp"

namespace stopbit::tools {
namespace {

struct GapsArguments {
  std::string name;
  std::string user;
  std::string since = "today";
  std::string folder;
  std::string channel;
  std::string cut;
  std::optional<std::uint64_t> around;
  std::string settings;
  bool json = false;
};

std::string gap_line(const appliance::GapEntry& gap) {
  std::string line =
      fmt::format("{}  {}  {}  {}  {}: {}", os::time_text(gap.time_ns), plain(gap.channel), appliance::range_text(gap),
                  gap.count, appliance::to_text(gap.cause), appliance::lines_text(gap));
  if (const std::string replay = appliance::replay_text(gap); !replay.empty()) line += "; " + replay;
  if (gap.came_late != 0) {
    line += fmt::format("; {} arrived {} late", gap.came_late, os::duration_text(gap.late_by_ns));
  }
  if (const std::string books = appliance::books_text(gap); !books.empty()) line += "; " + books;
  return line;
}

/// Writes a capture and a text for each gap.
int cut(const GapsArguments& arguments, const std::vector<appliance::GapEntry>& gaps) {
  if (arguments.json) throw ToolError(kExitUsage, "--cut writes files; leave out --json");
  constexpr std::uint64_t kMostAround = 10'000;
  CutOptions options{.folder = arguments.cut};
  options.around = arguments.around.value_or(options.around);
  if (options.around > kMostAround) throw ToolError(kExitUsage, "--around: at most 10000");
  if (gaps.empty()) {
    print_stderr("0 gaps\n");
    return kExitDone;
  }
  const appliance::Settings settings = settings_of(arguments.name, arguments.settings);
  catch_stop_signals();
  const CutReport report = cut_gaps(gaps, settings, options);
  Output out = Output::open("-");
  out.write(report.text);
  out.close();
  return report.empty == 0 ? kExitDone : kExitRejected;
}

int gaps(const GapsArguments& arguments) {
  if (arguments.cut.empty() && arguments.around) throw ToolError(kExitUsage, "--around is for --cut");
  const std::uint64_t since = since_from(arguments.since);
  std::string folder = arguments.folder;
  if (folder.empty()) {
    accept_user(arguments.user);
    const counters::Reader reader = open_counters(arguments.name);
    folder = appliance::read_status(reader, {}).state_folder;
  }
  appliance::GapHistory history = appliance::read_gaps(folder, since);
  if (!history.problem.empty()) throw ToolError(kExitEnvironment, history.problem);
  std::erase_if(history.gaps, [&](const appliance::GapEntry& gap) {
    return !arguments.channel.empty() && gap.channel != arguments.channel;
  });
  if (!arguments.cut.empty()) return cut(arguments, history.gaps);
  Output out = Output::open("-");
  std::uint64_t count = 0;
  std::uint64_t numbers = 0;
  for (const appliance::GapEntry& gap : history.gaps) {
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
          "card or the kernel of this machine dropped packets within the second before; `late`: all numbers arrived "
          "after they were given up; `appliance down`: they were sent while no appliance ran. If numbers arrived after "
          "they were given up, the line shows how much later.\n"
          "\n"
          "If the feed of a channel has a map, the line also says what the gap did to books: how many were in doubt, "
          "how many of them were stale, how they became right again (by messages, or by a snapshot of the same cycle "
          "or "
          "of a later one), how many were rebuilt from empty, and how long it took. A book that is in doubt already "
          "counts for the gap that began this. Books that are still not right are noted after 1 s, 10 s, 100 s and so "
          "on.\n"
          "\n"
          "The appliance writes gaps to its state folder, one file per day (UTC), and keeps as many days as its "
          "settings say. They remain after the appliance ends.\n"
          "\n"
          "--cut DIR cuts the gaps out of what the appliance has recorded ([recorder]), frozen files included. For "
          "each "
          "gap the folder gets CHANNEL-FIRST-LAST.pcapng (CHANNEL-FIRST.pcapng for one number), with an interface for "
          "each line and comments at the packets "
          "of the gap, and CHANNEL-FIRST-LAST.txt: which line had which number and when, what that says about the "
          "cause, and every byte of the packets at its edges and of its numbers that came. The exit status is 1 if the "
          "recordings have no packet of a gap.",
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
           {.names = "--cut",
            .value = "DIR",
            .help = "Writes a capture and an explanation of each gap to this folder.",
            .target = &arguments->cut,
            .hint = folder_hint()},
           {.names = "--around",
            .value = "N",
            .help = "With --cut: the numbers before and after the gap that are cut out with it. Default 10.",
            .target = &arguments->around},
           settings_option(arguments->settings),
           {.names = "--json", .value = "", .help = "Prints one JSON object per line.", .target = &arguments->json}},
      .examples = {{"stopbit gaps", "what was lost today"},
                   {"stopbit gaps xetra --since 2h --json", "the last two hours, for programs"},
                   {"stopbit gaps xetra --since 10min --channel seven --cut gaps",
                    "the packets around each gap of a channel, and what they say"}},
      .run = [arguments] { return gaps(*arguments); }};
}

}  // namespace stopbit::tools
