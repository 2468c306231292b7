#pragma once

#include "microcode/program.hpp"
#include "tests/lib/random.hpp"

namespace stopbit::attack {

/// One change anywhere in a program: an instruction altered, moved, doubled or taken out, an entry of a table or of the
/// schema altered. Most changes are small and of a kind that a broken tool would make.
void change_program(Program& program, cases::Random& random);

/// Other operators, slots and constants of the same types, all over the program: what no compiler would write and the
/// verifier may still accept.
void reshape_program(Program& program, cases::Random& random);

/// Instructions, tables and schema of random numbers. Hardly ever accepted.
[[nodiscard]] Program noise_program(cases::Random& random);

}  // namespace stopbit::attack
