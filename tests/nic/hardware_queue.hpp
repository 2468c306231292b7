#pragma once

#include <memory>

#include "tests/nic/units.hpp"

namespace stopbit::nic {

/// The unit of fpga/rtl/queue, simulated: commands of one port are written to its transactional port, and leave for
/// remote memory access.
[[nodiscard]] std::unique_ptr<CommandUnit> hardware_commands(Transactions& transactions);

}  // namespace stopbit::nic
