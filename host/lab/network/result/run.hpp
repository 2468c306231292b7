#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "host/lab/network/engine/simulation.hpp"
#include "host/lab/network/plan/network.hpp"

namespace stopbit::network {

/// One run and what came of it.
struct RunResult {
  double load = 0;  ///< Offered; 0 for fan-out.
  End end = End::Idle;
  Cycle cycles = 0;     ///< Counted ones, after the warm-up.
  double accepted = 0;  ///< Cells that arrived, per host and cycle.
  std::uint64_t under_way = 0;
  std::uint64_t packet_bytes = 0;  ///< Memory.
  Counts counts;
  std::vector<ChannelId> deadlock;  ///< Inputs of the last one.
};

/// Called now and then with the cycle and the packets created so far; false ends the run.
using Progress = std::function<bool(Cycle, std::uint64_t)>;

/// Datagrams of the plan's fan-out: those of the capture, or equal ones. Fails if the capture cannot be read.
[[nodiscard]] Result<std::vector<Datagram>> datagrams_of(const Plan& plan);

/// `load` replaces that of the pattern. Nothing: `progress` ended it.
[[nodiscard]] std::optional<RunResult> run_once(const Plan& plan, const Network& network,
                                                const std::vector<Datagram>& datagrams, double load,
                                                const Progress& progress);

}  // namespace stopbit::network
