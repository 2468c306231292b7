#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/impair/impairer.hpp"

namespace stopbit::nic {

/// A network to run a case on. The case must say the same on all of them.
struct Carrier {
  std::string_view name;
  impair::LineOptions line;
};

/// What the steps of a case said, a line each; README.md lists the steps.
struct Said {
  std::vector<std::string> lines;
  std::string failure;  ///< Why a step could not be run; empty if all could.
};

[[nodiscard]] Said run_steps(const std::vector<std::string>& steps, const Carrier& carrier);

}  // namespace stopbit::nic
