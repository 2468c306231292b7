// Puts one fault after the other into the synchroniser, and plays schedules until one notices.

#include "tests/lib/mutants_program.hpp"
#include "tests/venue/schedule.hpp"

int main(int argc, char** argv) {
  using namespace stopbit;
  constexpr cases::Mutant kMutants[] = {
#include "mutants.inc"
  };
  return cases::try_mutants(argc, argv, kMutants, 200, [](std::uint64_t seed) {
    venue_test::Counts counts{};
    return venue_test::play(seed, counts);
  });
}
