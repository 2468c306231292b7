#pragma once

#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {

/// Messages in which nothing can be predicted: see README.md.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_shuffled();

/// The first few of them, over and over: as many bytes of each kind, and every branch learnt.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_repeated();

}  // namespace stopbit::bench
