#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "host/device/sim/sim_card.hpp"

namespace stopbit::testing {

/// What this run of a test opens the simulated card by; stopbit_card_test runs it once for each leaf.
inline device::Leaf leaf_of_run() {
  const char* const said = std::getenv("STOPBIT_LEAF");
  const std::string leaf = said != nullptr ? said : "";
  if (leaf != "xrt" && leaf != "vfio") throw std::runtime_error("STOPBIT_LEAF is '" + leaf + "', not xrt or vfio");
  return leaf == "xrt" ? device::Leaf::Xrt : device::Leaf::Vfio;
}

/// Decode cores of the card that this run opens.
inline unsigned engines_of_run() {
  const char* const said = std::getenv("STOPBIT_ENGINES");
  return said != nullptr ? static_cast<unsigned>(std::stoul(said)) : 1;
}

}  // namespace stopbit::testing
