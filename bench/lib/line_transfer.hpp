#pragma once

#include <cstddef>
#include <vector>

#include "bench/lib/ticks.hpp"

namespace stopbit::bench {

/// What the machine itself takes to hand a cache line from one processor to another: the yardstick of everything that
/// passes data between processes. Two threads, each pinned, answer each other in turn; half a round trip, what reading
/// the clock costs taken off, is a transfer.
struct LineTransfer {
  std::vector<double> half_round_trip_ns;  ///< A median per burst.
  /// By how much the clock of processor b is ahead of that of a, if lines travel as fast in both directions. A median
  /// per burst.
  std::vector<double> clock_offset_ns;

  [[nodiscard]] double median_ns() const;
};

/// Bursts of some milliseconds each. Measure right before and after what is compared with it: the figure moves with the
/// host of a virtual machine.
[[nodiscard]] LineTransfer measure_line_transfer(const TickClock& clock, int processor_a, int processor_b,
                                                 std::size_t bursts = 9);

}  // namespace stopbit::bench
