// Puts one fault after the other into the arbiter or the receiver, and runs simulated days until one notices.

#include "tests/day/day.hpp"
#include "tests/lib/mutants_program.hpp"

int main(int argc, char** argv) {
  using namespace stopbit;
  constexpr cases::Mutant kMutants[] = {
#include "mutants.inc"
  };
  return cases::try_mutants(argc, argv, kMutants, 300, [](std::uint64_t seed) {
    day::Counts counts{};
    return day::run_day(seed, counts).fault;
  });
}
