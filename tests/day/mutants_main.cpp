// Puts one fault after the other into the arbiter or the receiver, and runs simulated days until one notices. Exit
// status 1 if any fault goes unnoticed, or no longer fits the arbiter's source.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "tests/day/day.hpp"
#include "tests/day/mutant.hpp"

int main(int argc, char** argv) {
  struct Mutant {
    int number;
    const char* name;
    bool fits;
  };
  constexpr Mutant kMutants[] = {
#include "mutants.inc"
  };
  std::uint64_t schedules = 1'000;
  CLI::App app("Faults put in on purpose: each must be noticed.");
  app.add_option("--schedules", schedules, "At most how many for each, from seed 1");
  CLI11_PARSE(app, argc, argv);

  using namespace stopbit::day;
  // Schedules that differ without a fault put in show nothing.
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    Counts counts{};
    if (run_day(seed, counts).fault.empty()) seeds.push_back(seed);
  }
  int missed = 0;
  for (const Mutant& what : kMutants) {
    if (!what.fits) {
      fmt::print("{:3} {}: does not fit arbiter.cpp any more (mutants.py)\n", what.number, what.name);
      ++missed;
      continue;
    }
    mutant = what.number;
    Counts counts{};
    std::string fault;
    std::size_t tried = 0;
    for (; tried < seeds.size() && fault.empty(); ++tried) fault = run_day(seeds[tried], counts).fault;
    missed += fault.empty() ? 1 : 0;
    fmt::print("{:3} {}: {}\n", what.number, what.name,
               fault.empty() ? "NOT NOTICED" : fmt::format("seed {}: {}", seeds[tried - 1], fault));
  }
  return missed == 0 ? 0 : 1;
}
