#pragma once

#include <cstdint>

/// Random schedules of the models of tests/unit/nic. Each says in one line of JSON what was seen, and returns the exit
/// status.
namespace stopbit::nic {

/// Members at locks and semaphores: half of each, some with deaths, all with hasty looks.
int model_locks(std::uint64_t schedules, std::uint64_t seed);
/// A node, sleepers and a dispatcher.
int model_events(std::uint64_t schedules, std::uint64_t seed);

}  // namespace stopbit::nic
