#pragma once

#include <cstdint>

/// The models of tests/unit/nic, in random schedules or through all states. Each says in one line of JSON what was
/// seen, and returns the exit status.
namespace stopbit::nic {

/// Members at locks and semaphores: half of each, some with deaths, all with hasty looks.
int model_locks(std::uint64_t schedules, std::uint64_t seed);
/// A node, sleepers and a dispatcher.
int model_events(std::uint64_t schedules, std::uint64_t seed);
/// Two windows of a link, half of the steps with 4 slots, half with those that nodes have.
int model_window(std::uint64_t steps, std::uint64_t seed);
/// A channel with the credits that channels have, and up to 132 slots.
int model_credits(std::uint64_t steps, std::uint64_t seed);
/// Pages that are revoked, and registered again, while units have transfers under way.
int model_flush(std::uint64_t steps, std::uint64_t seed);
/// Every state of what is too large for a test. `size` 0: of a little of it.
int model_states(std::uint64_t size, std::uint64_t seed);

}  // namespace stopbit::nic
