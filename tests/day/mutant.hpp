#pragma once

/// A fault that is put in on purpose: 0 = none. Only the program of mutants ever sets it.
namespace stopbit::day {
inline int mutant = 0;
}  // namespace stopbit::day
