#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/lab/network/result/run.hpp"

namespace stopbit::network {

/// Results as text for people, as JSON lines (one a run), or as a drawing. The same results give the same bytes.
[[nodiscard]] std::string report_text(const Plan& plan, const Network& network, const std::vector<RunResult>& results);
[[nodiscard]] std::string report_json(const Plan& plan, const Network& network, const RunResult& result);
/// Histogram of the latency, and the load of each link, of one run.
[[nodiscard]] std::string run_svg(const Plan& plan, const Network& network, const RunResult& result);
/// Latency and accepted load over the offered load, of a sweep.
[[nodiscard]] std::string saturation_svg(const Plan& plan, const Network& network,
                                         const std::vector<RunResult>& results);

/// Loads of links between switches, from 0 to 1.
struct LinkLoads {
  double mean = 0;
  std::vector<std::pair<double, ChannelId>> all;  ///< Highest first.
};
[[nodiscard]] LinkLoads loads_of(const Network& network, const RunResult& result);

/// "torus 16x16, 256 hosts".
[[nodiscard]] std::string topology_text(const Plan& plan, const Network& network);

}  // namespace stopbit::network
