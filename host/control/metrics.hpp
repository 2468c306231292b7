#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/counters/reader.hpp"

namespace stopbit::control {

/// A value that is no counter in shared memory.
struct Extra {
  std::string family;  ///< Without "stopbit_".
  std::string help;
  counters::Kind kind = counters::Kind::Counter;  ///< Or gauge.
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

/// All counters in the text format of Prometheus: stopbit_FAMILY{labels}. Times and durations are in seconds, as its
/// rules want; texts become a gauge of 1 with the text as label `value`; a histogram has the buckets that anything is
/// in. Values of `extras` follow; those of a family have one help and kind.
[[nodiscard]] std::string metrics_text(const counters::Reader& reader, std::span<const Extra> extras = {});

}  // namespace stopbit::control
