#pragma once

#include <vector>

#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {

/// One workload for each way in which a message can be dear: see README.md.
[[nodiscard]] std::vector<WorkloadSource> worst_sources();

}  // namespace stopbit::bench
