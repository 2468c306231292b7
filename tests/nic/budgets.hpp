#pragma once

#include <string_view>
#include <vector>

#include "host/nic/transport/model/steps.hpp"

namespace stopbit::nic {

/// A transfer for which a source document tells steps and time.
struct Budget {
  std::string_view name;
  const StepCosts* costs = nullptr;
  double source_ns = 0;  ///< As the source measured it.
  StepCounts counts{};   ///< What our units did for it.

  [[nodiscard]] double ours_ns() const noexcept { return costs->total_ns(counts); }
  [[nodiscard]] double difference() const noexcept { return ours_ns() / source_ns - 1; }
};

/// Carries each of them out between two nodes of a model network and counts. Throws std::runtime_error if one does not
/// arrive.
[[nodiscard]] std::vector<Budget> run_budgets();

}  // namespace stopbit::nic
