#pragma once

#include <cstdint>

namespace stopbit::nic {

/// Makes `wanted` puts, gets and additions at random offsets of a sparse file of 64 GiB, of which 16 MiB are resident;
/// says in one line of JSON what was seen. Returns the exit status.
int unpinned(std::uint64_t wanted, std::uint64_t seed);

}  // namespace stopbit::nic
