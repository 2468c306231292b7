// Puts one fault after the other into the synchroniser, and plays schedules until one notices.

#include <fmt/format.h>

#include <string>

#include "tests/lib/mutants_program.hpp"
#include "tests/sync/schedule.hpp"

int main(int argc, char** argv) {
  using namespace stopbit;
  constexpr cases::Mutant kMutants[] = {
#include "mutants.inc"
  };
  return cases::try_mutants(argc, argv, kMutants, 500, [](std::uint64_t seed) {
    for (const auto scope : {market::ScopeOf::Instrument, market::ScopeOf::Product, market::ScopeOf::Channel}) {
      market::testing::Happened happened;
      const std::string problem = market::testing::play(seed, scope, happened);
      if (!problem.empty()) return fmt::format("{}: {}", market::testing::name_of(scope), problem);
    }
    return std::string();
  });
}
