#pragma once

#include <cstdint>
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

/// All counters in the text format of Prometheus: stopbit_FAMILY{labels}. As its rules want, names of counters end in
/// `_total`, times and durations are in seconds and say so, bytes say so. Texts become a gauge of 1 with the text as
/// label `value`; a histogram has its non-empty buckets. Values of `extras` follow; those of a family have one help and
/// kind. A metric that had another name in the release before is there under both names, the old one without a type.
[[nodiscard]] std::string metrics_text(const counters::Reader& reader, std::span<const Extra> extras = {});

}  // namespace stopbit::control
