#pragma once

/// A fault that is put in on purpose: 0 = none. Only programs of mutants ever set it; mutants.py writes where it is
/// read.
namespace stopbit::cases {
inline int mutant = 0;
}  // namespace stopbit::cases
