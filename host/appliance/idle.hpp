#pragma once

#include <chrono>
#include <cstdint>

#include "host/appliance/settings.hpp"

namespace stopbit::appliance {

/// How long a thread with idle = "backoff" blocks at a time: 50 turns a second cost next to nothing, and what it looks
/// at without being woken (new images, the end of the process) waits no longer.
inline constexpr auto kLongestRest = std::chrono::milliseconds(20);

/// Whether the thread has looked in vain long enough to block until it is woken.
[[nodiscard]] bool may_rest(const AgentSettings& settings, std::uint32_t quiet_turns) noexcept;

/// Waits according to the settings after a number of consecutive turns without work, for a thread that nothing wakes.
void idle(const AgentSettings& settings, std::uint32_t quiet_turns);

/// Blocks until the descriptor is readable or the time has passed. @returns whether it is.
[[nodiscard]] bool wait_for(int descriptor, std::chrono::milliseconds longest) noexcept;

}  // namespace stopbit::appliance
