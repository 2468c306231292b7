// Puts one fault after the other into the arbiter or the receiver, and runs simulated days until one notices. Exit
// status 1 if any fault goes unnoticed, or no longer fits the arbiter's source.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <utility>

#include "tests/day/day.hpp"
#include "tests/lib/mutant.hpp"

int main(int argc, char** argv) {
  struct Mutant {
    int number;
    const char* name;
    bool fits;
    std::uint64_t first_seed;
  };
  constexpr Mutant kMutants[] = {
#include "mutants.inc"
  };
  std::uint64_t schedules = 300;
  CLI::App app("Faults put in on purpose: each must be noticed.");
  app.add_option("--schedules", schedules, "At most how many for each");
  CLI11_PARSE(app, argc, argv);

  using namespace stopbit;
  using namespace stopbit::day;
  // Schedules that differ without a fault put in show nothing.
  std::map<std::uint64_t, bool> differs_anyway;
  const auto shows_nothing = [&](std::uint64_t seed) {
    const auto [known, is_new] = differs_anyway.try_emplace(seed, false);
    if (is_new) {
      const int here = std::exchange(cases::mutant, 0);
      Counts counts{};
      known->second = !run_day(seed, counts).fault.empty();
      cases::mutant = here;
    }
    return known->second;
  };
  int missed = 0;
  for (const Mutant& what : kMutants) {
    if (!what.fits) {
      fmt::print("{:3} {}: does not fit the arbiter any more (mutants.py)\n", what.number, what.name);
      ++missed;
      continue;
    }
    cases::mutant = what.number;
    std::string fault;
    std::uint64_t seed = what.first_seed;
    for (; seed < what.first_seed + schedules && fault.empty(); ++seed) {
      Counts counts{};
      if (!shows_nothing(seed)) fault = run_day(seed, counts).fault;
    }
    missed += fault.empty() ? 1 : 0;
    fmt::print("{:3} {}: {}\n", what.number, what.name,
               fault.empty() ? "NOT NOTICED" : fmt::format("seed {}: {}", seed - 1, fault));
  }
  return missed == 0 ? 0 : 1;
}
