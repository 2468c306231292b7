#pragma once

#include <vector>

#include "host/appliance/status.hpp"
#include "host/monitor/control/metrics.hpp"

namespace stopbit::tools {

/// Values of /metrics other than counters: drops by place, named readers, and the state of this machine's clock. A
/// reader is listed while its file beside the ring exists.
[[nodiscard]] std::vector<control::Extra> extra_metrics(const appliance::StatusReport& status);

}  // namespace stopbit::tools
