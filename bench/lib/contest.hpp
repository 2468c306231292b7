#pragma once

#include <cstdint>
#include <string>

#include "bench/lib/report.hpp"
#include "bench/lib/ticks.hpp"
#include "bench/workloads/workload.hpp"

namespace stopbit::bench {

/// What a contest's time is divided by.
enum class Per : std::uint8_t { Message, Field };

/// Decode speed of all engines that run here: NAME/<engine>, and NAME/<engine>/gain, how many times faster than the
/// interpreter. Engines take turns, A B B A, in blocks of some milliseconds, so that whatever else the machine does
/// meets all of them, and ratios are taken of neighbours. Every block decodes the whole workload, once or a few times;
/// records go to slots in memory.
void run_contest(const TickClock& clock, const std::string& name, const Workload& work, Per per, bool quick,
                 Report& report);

}  // namespace stopbit::bench
