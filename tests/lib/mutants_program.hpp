// The program of mutants: puts one fault after the other in (mutant.hpp), and plays seeds until one notices it.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "tests/lib/mutant.hpp"

namespace stopbit::cases {

/// A row of the list that mutants_writer.py writes.
struct Mutant {
  int number;
  const char* name;
  bool fits;  ///< Its text is in the source.
  std::uint64_t first_seed;
};

/// `play(seed)` gives what has gone wrong; empty: nothing. Seeds that go wrong without a fault show nothing, and are
/// passed over. `seeds`: at most how many for each fault, unless the command line says it. @returns the exit status: 1
/// if a fault goes unnoticed, or no longer fits the source.
template <class Play>
int try_mutants(int argc, char** argv, std::span<const Mutant> mutants, std::uint64_t seeds, const Play& play) {
  CLI::App app("Faults put in on purpose: each must be noticed.");
  app.add_option("--schedules", seeds, "At most how many for each");
  CLI11_PARSE(app, argc, argv);

  std::map<std::uint64_t, bool> wrong_anyway;
  const auto shows_nothing = [&](std::uint64_t seed) {
    const auto [known, is_new] = wrong_anyway.try_emplace(seed, false);
    if (is_new) {
      const int here = std::exchange(mutant, 0);
      known->second = !play(seed).empty();
      mutant = here;
    }
    return known->second;
  };
  int missed = 0;
  for (const Mutant& what : mutants) {
    mutant = what.number;
    std::string fault = what.fits ? "" : "does not fit the source any more (mutants.py)";
    missed += what.fits ? 0 : 1;
    for (std::uint64_t seed = what.first_seed; seed < what.first_seed + seeds && fault.empty(); ++seed) {
      if (shows_nothing(seed)) continue;
      fault = play(seed);
      if (!fault.empty()) fault = fmt::format("seed {}: {}", seed, fault);
    }
    missed += fault.empty() ? 1 : 0;
    fmt::print("{:3} {}: {}\n", what.number, what.name, fault.empty() ? "NOT NOTICED" : fault);
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace stopbit::cases
