#pragma once

#include <memory>

#include "tests/nic/units.hpp"

namespace stopbit::nic {

/// The unit of fpga/rtl/tag, simulated, with room for as much as `options` say, up to 1,024 each. `transactions`
/// outlives it.
[[nodiscard]] std::unique_ptr<TagUnit> hardware_tag(const MatcherOptions& options, Transactions& transactions);

}  // namespace stopbit::nic
