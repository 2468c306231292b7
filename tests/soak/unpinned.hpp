#pragma once

#include <cstdint>

namespace stopbit::nic {

/// So many puts, gets and additions at random places of a sparse file of 64 GiB, of which 16 MiB are here at once; says
/// in one line of JSON what was seen. Returns the exit status.
int unpinned(std::uint64_t wanted, std::uint64_t seed);

}  // namespace stopbit::nic
