#pragma once

#include <string>
#include <vector>

#include "tests/nic/carrier.hpp"
#include "tests/nic/units.hpp"

namespace stopbit::nic {

/// What the steps of a case said, a line each; README.md lists the steps.
struct Said {
  std::vector<std::string> lines;
  std::string failure;  ///< Why a step could not be run; empty if all could.
  std::string skipped;  ///< Why the case cannot be run on this system; empty if it can.
};

[[nodiscard]] Said run_steps(const std::vector<std::string>& steps, const Carrier& carrier, const Units& units);

}  // namespace stopbit::nic
