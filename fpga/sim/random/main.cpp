#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "attacks.hpp"
#include "tests/lib/arguments.hpp"

/// Long attacks on the hardware; the figures are a line of JSON on stdout.
int main(int argc, char** argv) {
  stopbit::testing::Arguments arguments(
      "Tests the hardware engine with random firmware that was not verified, and with random frames.");
  stopbit::sim::AttackOptions options;
  std::string what;
  arguments.word(
      "programs|frames", what,
      "random programs of at most 64 instructions, loaded into the core; mutated frames through front end and core",
      {"programs", "frames"});
  arguments.number("--count", options.count, "attempts, 1 if not given", std::uint64_t{1});
  arguments.number("--seed", options.seed, "another one makes other random choices");
  arguments.number("--first", options.first, "number of the first one");
  arguments.flag("--progress", options.progress, "on stderr");
  if (const auto status = arguments.read(argc, argv)) return *status;
  const bool is_programs = what == "programs";
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
