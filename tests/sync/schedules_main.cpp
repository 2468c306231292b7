// Seeded schedules of the synchroniser, from a seed on. Exit status 1 if one goes wrong.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "tests/sync/schedule.hpp"

int main(int argc, char** argv) {
  std::uint64_t first = 1;
  std::uint64_t count = 1'000;
  CLI::App app("Plays schedules of an exchange whose messages get lost, and compares books and states with the truth.");
  app.add_option("--first", first, "Seed of the first");
  app.add_option("--count", count, "How many, each for numbers of instruments, products and channels");
  CLI11_PARSE(app, argc, argv);

  using namespace stopbit::market;
  const auto start = std::chrono::steady_clock::now();
  testing::Happened all[3];
  std::uint64_t faults = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    for (const ScopeOf scope : {ScopeOf::Instrument, ScopeOf::Product, ScopeOf::Channel}) {
      testing::Happened happened;
      const std::string problem = testing::play(seed, scope, happened);
      all[static_cast<std::size_t>(scope)].add(happened);
      if (problem.empty()) continue;
      fmt::print("seed {}, {}: {}\n", seed, testing::name_of(scope), problem);
      std::fflush(stdout);
      ++faults;
    }
    if ((seed - first) % 10'000 == 9'999) fmt::print(stderr, "go on with --first {}\n", seed + 1);
  }
  for (const ScopeOf scope : {ScopeOf::Instrument, ScopeOf::Product, ScopeOf::Channel}) {
    fmt::print("{}: {}\n", testing::name_of(scope), all[static_cast<std::size_t>(scope)].text());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("3 x {} schedules: {} went wrong; {:.1f} s; go on with --first {}\n", count, faults, seconds,
             first + count);
  return faults == 0 ? 0 : 1;
}
