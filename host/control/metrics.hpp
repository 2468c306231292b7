#pragma once

#include <string>

#include "host/counters/reader.hpp"

namespace stopbit::control {

/// All counters in the text format of Prometheus: stopbit_FAMILY{labels}. Times and durations are in seconds, as its
/// rules want; texts become a gauge of 1 with the text as label `value`; a histogram has the buckets that anything is
/// in.
[[nodiscard]] std::string metrics_text(const counters::Reader& reader);

}  // namespace stopbit::control
