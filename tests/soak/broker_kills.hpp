#pragma once

#include <cstdint>

namespace stopbit::nic {

/// Kills `wanted` brokers, publishers and clients. @returns the status of the process.
int broker_kills(std::uint64_t wanted, std::uint64_t seed);
/// The process that is killed: writes a ring, publishes it, and opens ports for others, all in a folder.
int serve(const char* folder);

}  // namespace stopbit::nic
