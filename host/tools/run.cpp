#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "host/appliance/appliance.hpp"
#include "host/appliance/gap_log.hpp"
#include "host/appliance/keeper.hpp"
#include "host/appliance/status.hpp"
#include "host/tools/appliance_text.hpp"
#include "host/tools/commands.hpp"
#include "host/tools/signals.hpp"

namespace stopbit::tools {
namespace {

constexpr auto kStep = std::chrono::milliseconds(50);

struct RunArguments {
  std::string settings;
  bool check = false;
  bool quiet = false;
};

void log(const appliance::Change& change) {
  fmt::print(stderr, "{} level={} {}\n", appliance::time_text(appliance::wall_clock_ns()),
             appliance::to_text(change.level), appliance::to_text(change));
}

std::optional<appliance::Settings> load_settings(const std::string& path) {
  Diagnostics diagnostics;
  auto settings = appliance::load(path, diagnostics);
  std::fputs(diagnostics.format().c_str(), stderr);
  return settings;
}

int run(const RunArguments& arguments) {
  auto settings = load_settings(arguments.settings);
  if (!settings) return kExitRejected;
  if (arguments.check) {
    for (const appliance::FeedSettings& feed : settings->feeds) {
      for (const feed::Image& image : feed.description.images) {
        Diagnostics diagnostics;
        const bool is_good = appliance::load_image(image, diagnostics).has_value();
        std::fputs(diagnostics.format().c_str(), stderr);
        if (!is_good) return kExitRejected;
      }
    }
    return kExitDone;
  }
  catch_stop_signals();
  Diagnostics diagnostics;
  auto made = appliance::Appliance::make(std::move(*settings), {}, diagnostics);
  std::fputs(diagnostics.format().c_str(), stderr);
  if (!made) throw ToolError(diagnostics.has_errors() ? kExitRejected : kExitEnvironment, made.message());
  appliance::Appliance& appliance = *made.value();
  appliance::Keeper keeper(appliance, appliance::wall_clock_ns, log);
  if (const std::string problem = keeper.prepare(); !problem.empty()) throw ToolError(kExitEnvironment, problem);
  for (const std::string& note : appliance.notes()) {
    log({appliance::Change::Level::Warning, "note", {{"text", note}}});
  }
  if (const auto started = appliance.start(); !started) throw ToolError(kExitEnvironment, started.message());
  log({appliance::Change::Level::Info, "started", {{"name", appliance.settings().name}}});
  while (!stop_requested() && !appliance.ended()) {
    keeper.step();
    std::this_thread::sleep_for(kStep);
  }
  appliance.stop();
  keeper.step();
  log({appliance::Change::Level::Info, "stopped", {{"name", appliance.settings().name}}});
  if (!arguments.quiet) {
    const auto reader = counters::Reader::over(appliance.segment().bytes());
    if (reader) {
      std::fputs(stat_text(appliance::read_status(reader.value(), appliance::wall_clock_ns())).c_str(), stderr);
    }
  }
  return kExitDone;
}

}  // namespace

Command run_command() {
  const auto arguments = std::make_shared<RunArguments>();
  return {
      .name = "run",
      .summary = "Runs an appliance: live feeds from ports to rings",
      .description =
          "Receives the feeds that the settings name, merges lines A and B, decodes, and publishes records in rings "
          "in shared memory, until SIGTERM or SIGINT ends it, or all its ports have ended (captures do). What is "
          "lost, reset or stale becomes an event record in the ring. Changes of state are told on stderr, a line "
          "each. At the end the accounting follows: where every packet and every sequence number went.\n"
          "\n"
          "`stopbit ready`, `stat`, `gaps` and `top` show a running appliance; they read shared memory and ask "
          "nothing of it.\n"
          "\n"
          "appliance.toml:\n"
          "\n"
          "  name = \"demo\"               # stopbit stat demo\n"
          "\n"
          "  state = \"/var/lib/stopbit\"  # gaps of the last days\n"
          "\n"
          "  [[agent]] name, core, idle = spin|yield|sleep, sleep, batch\n"
          "\n"
          "  [[port]] name, agent, kind = socket|dpdk|capture, interface | device | file\n"
          "\n"
          "  [[feed]] file = \"feed.toml\", a = port of line A, b = port of line B\n"
          "\n"
          "host/appliance/README.md has all keys.",
      .options =
          {{.names = "",
            .value = "APPLIANCE.toml",
            .help = "Settings; paths in them are relative to their folder.",
            .target = &arguments->settings,
            .hint = file_hint({".toml"}),
            .required = true},
           {.names = "--check",
            .value = "",
            .help = "Only reads settings, feeds and images, and tells what is wrong.",
            .target = &arguments->check},
           {.names = "-q,--quiet", .value = "", .help = "No accounting at the end.", .target = &arguments->quiet}},
      .examples = {{"stopbit run appliance.toml", "until SIGTERM"},
                   {"stopbit run appliance.toml --check", "before a change goes live"}},
      .run = [arguments] { return run(*arguments); }};
}

}  // namespace stopbit::tools
