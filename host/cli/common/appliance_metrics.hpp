#pragma once

#include <vector>

#include "host/appliance/status.hpp"
#include "host/monitor/control/metrics.hpp"

namespace stopbit::tools {

/// What /metrics has besides the counters: drops by place, readers with a name, and how well the clock of this machine
/// is kept. A reader stands there as long as its sign beside the ring does.
[[nodiscard]] std::vector<control::Extra> extra_metrics(const appliance::Status& status);

}  // namespace stopbit::tools
