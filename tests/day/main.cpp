// Simulated days of the line, from a seed on. Exit status 1 if more go wrong than are known to, or anything occurs too
// seldom.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <string>

#include "tests/day/day.hpp"

int main(int argc, char** argv) {
  std::uint64_t schedules = 1'000;
  std::uint64_t seed = 1;
  std::uint64_t least = 0;
  std::uint64_t open = 0;
  CLI::App app(
      "Runs simulated days of an exchange's lines through the arbitration, and compares what it says with what "
      "was sent.");
  app.add_option("--schedules", schedules, "How many, of one seed each");
  app.add_option("--seed", seed, "Of the first");
  app.add_option("--least", least, "How often each kind of thing must occur");
  app.add_option("--open", open, "How many schedules in a thousand may differ: what is known and not yet settled");
  int story = -1;
  app.add_option("--story", story, "Prints everything about this channel");
  using namespace stopbit::day;
  Through through = Through::Arbiter;
  const std::map<std::string, Through> names = {{"arbiter", Through::Arbiter}, {"agent", Through::Agent}};
  app.add_option("--through", through, "What decides: the arbiters alone, or the appliance's agent and all in it")
      ->transform(CLI::CheckedTransformer(names));
  CLI11_PARSE(app, argc, argv);

  Counts counts{};
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t faults = 0;
  std::uint64_t done = 0;
  for (; done < schedules; ++done) {
    const Outcome outcome = run_day(seed + done, counts, through, story);
    if (done % 10'000 == 9'999) {
      fmt::print(stderr, "{} schedules; go on with --seed {}\n", done + 1, seed + done + 1);
    }
    if (outcome.fault.empty()) continue;
    fmt::print("seed {}: {}\n", seed + done, outcome.fault);
    std::fflush(stdout);
    ++faults;
  }
  std::uint64_t seldom = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const bool is_seldom = counts[i] < least;
    seldom += is_seldom ? 1 : 0;
    fmt::print("{:12}  {}{}\n", counts[i], to_text(static_cast<Count>(i)), is_seldom ? "  TOO SELDOM" : "");
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{} schedules from seed {}: {} went wrong; {:.1f} s; go on with --seed {}\n", done, seed, faults, seconds,
             seed + done);
  return faults * 1'000 <= open * done && seldom == 0 ? 0 : 1;
}
