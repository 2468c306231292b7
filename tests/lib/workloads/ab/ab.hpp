#pragma once

#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {

/// Both lines of a feed as one card receives them: see README.md.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_ab();

}  // namespace stopbit::bench
