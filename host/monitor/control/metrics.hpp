#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/monitor/counters/reader.hpp"

namespace stopbit::control {

/// A value that is no counter in shared memory.
struct Extra {
  std::string family;  ///< Without "stopbit_", and without "_total".
  std::string help;
  counters::Kind kind = counters::Kind::Counter;  ///< Or gauge.
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

/// Writes all counters in the text format of Prometheus: stopbit_FAMILY{labels}. By its conventions, names of counters
/// end in `_total`, and names of times, durations and sizes in their unit. A text becomes a gauge of 1 with the text as
/// label `value`; a histogram has its non-empty buckets. Values of `extras` follow; those of a family share one help
/// and kind. A metric renamed since the previous release has both names, the old one without a type.
/// `is_shown`, if given, says which counters there are.
[[nodiscard]] std::string metrics_text(const counters::Reader& reader, std::span<const Extra> extras = {},
                                       const std::function<bool(const counters::Metric&)>& is_shown = {});

}  // namespace stopbit::control
