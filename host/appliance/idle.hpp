#pragma once

#include <cstdint>

#include "host/appliance/settings.hpp"

namespace stopbit::appliance {

/// Waits according to the settings after a number of consecutive turns without work.
void idle(const AgentSettings& settings, std::uint32_t quiet_turns);

}  // namespace stopbit::appliance
