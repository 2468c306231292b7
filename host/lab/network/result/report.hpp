#pragma once

#include <string>
#include <vector>

#include "host/lab/network/result/run.hpp"

namespace stopbit::network {

/// Results as text for people, as JSON lines (one a run), or as a drawing. The same results give the same bytes.
[[nodiscard]] std::string report_text(const Plan& plan, const Network& network, const std::vector<RunResult>& results);
[[nodiscard]] std::string report_json(const Plan& plan, const Network& network, const RunResult& result);
/// Latency and accepted load over the offered load, of a sweep.
[[nodiscard]] std::string saturation_svg(const Plan& plan, const Network& network,
                                         const std::vector<RunResult>& results);

/// "torus 16x16, 256 hosts".
[[nodiscard]] std::string topology_text(const Plan& plan, const Network& network);

}  // namespace stopbit::network
