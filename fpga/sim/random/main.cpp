#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "attacks.hpp"

/// Long attacks on the hardware; the figures are a line of JSON on stdout.
int main(int argc, char** argv) {
  CLI::App app("What the hardware engine does with firmware that nobody verified, and with frames that nobody sent");
  app.require_subcommand(1);
  stopbit::sim::AttackOptions options;
  const auto add = [&](const char* name, const char* text) {
    CLI::App* command = app.add_subcommand(name, text);
    command->add_option("--count", options.count, "attempts")->required()->check(CLI::PositiveNumber);
    command->add_option("--seed", options.seed)->capture_default_str();
    command->add_option("--first", options.first, "number of the first one")->capture_default_str();
    command->add_flag("--progress", options.progress, "on stderr");
    return command;
  };
  const CLI::App* programs = add("programs", "random programs of at most 64 instructions, loaded into the core");
  add("frames", "mutated frames through front end and core");
  CLI11_PARSE(app, argc, argv);
  const bool is_programs = programs->parsed();
  try {
    const auto begin = std::chrono::steady_clock::now();
    const stopbit::sim::AttackFigures figures =
        is_programs ? stopbit::sim::attack_with_programs(options) : stopbit::sim::attack_with_frames(options);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    fmt::print(R"({{"run": "{}", "count": {}, "seed": {}, "first": {}, "datagrams": {}, "records": {}, "events": {}, )"
               R"("watchdog": {}, "most_cycles": {}, "cycles": {}, "seconds": {:.0f}}})"
               "\n",
               is_programs ? "programs" : "frames", options.count, options.seed, options.first, figures.datagrams,
               figures.records, figures.events, figures.watchdog, figures.most_cycles, figures.cycles, seconds.count());
    return 0;
  } catch (const std::exception& error) {
    std::fputs(fmt::format("stopbit_rtl_random: seed {}: {}\n", options.seed, error.what()).c_str(), stderr);
    return 1;
  }
}
