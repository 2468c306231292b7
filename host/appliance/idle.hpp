#pragma once

#include <cstdint>

#include "host/appliance/settings.hpp"

namespace stopbit::appliance {

/// Waits as the settings say when there was nothing to do, for so many turns in a row.
void idle(const AgentSettings& settings, std::uint32_t quiet_turns);

}  // namespace stopbit::appliance
