// Puts one fault after the other into the synchroniser, and plays schedules until one notices. Exit status 1 if any
// fault goes unnoticed, or no longer fits the source.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "tests/lib/mutant.hpp"
#include "tests/sync/schedule.hpp"

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
  std::uint64_t schedules = 500;
  CLI::App app("Faults put in on purpose: each must be noticed.");
  app.add_option("--schedules", schedules, "At most how many for each");
  CLI11_PARSE(app, argc, argv);

  using namespace stopbit;
  int missed = 0;
  for (const Mutant& what : kMutants) {
    cases::mutant = what.number;
    std::string fault = what.fits ? "" : "does not fit the source any more (mutants.py)";
    missed += what.fits ? 0 : 1;
    for (std::uint64_t seed = what.first_seed; seed < what.first_seed + schedules && fault.empty(); ++seed) {
      for (const auto scope : {market::ScopeOf::Instrument, market::ScopeOf::Product, market::ScopeOf::Channel}) {
        market::testing::Happened happened;
        const std::string problem = market::testing::play(seed, scope, happened);
        if (problem.empty() || !fault.empty()) continue;
        fault = fmt::format("seed {}, {}: {}", seed, market::testing::name_of(scope), problem);
      }
    }
    missed += fault.empty() ? 1 : 0;
    fmt::print("{:3} {}: {}\n", what.number, what.name, fault.empty() ? "NOT NOTICED" : fault);
  }
  return missed == 0 ? 0 : 1;
}
