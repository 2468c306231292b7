// Puts one fault after the other into the arbiter or the receiver, and runs simulated days until one notices.

#include <map>
#include <string>
#include <utility>

#include "tests/day/day.hpp"
#include "tests/lib/mutants_program.hpp"

int main(int argc, char** argv) {
  using namespace stopbit;
  constexpr cases::Mutant kMutants[] = {
#include "mutants.inc"
  };
  const auto fault_of = [](std::uint64_t seed) {
    day::Counts counts{};
    return day::run_day(seed, counts).fault;
  };
  // Days that differ without a fault put in show nothing.
  std::map<std::uint64_t, bool> differs_anyway;
  const auto shows_nothing = [&](std::uint64_t seed) {
    const auto [known, is_new] = differs_anyway.try_emplace(seed, false);
    if (is_new) {
      const int here = std::exchange(cases::mutant, 0);
      known->second = !fault_of(seed).empty();
      cases::mutant = here;
    }
    return known->second;
  };
  return cases::try_mutants(argc, argv, kMutants, 300,
                            [&](std::uint64_t seed) { return shows_nothing(seed) ? std::string() : fault_of(seed); });
}
