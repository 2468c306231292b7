#pragma once

#include <string>

#include "tests/day/model.hpp"

namespace stopbit::day {

/// What became of a schedule.
struct Outcome {
  std::string fault;  ///< The first one; empty if there is none.
};

/// What decides: the arbiters alone, or the appliance's agent with all that it consists of.
enum class Through : std::uint8_t { Arbiter, Agent };

/// Makes and runs the schedule of a seed, and counts what occurred in it. `story`: a channel of which everything is
/// printed.
[[nodiscard]] Outcome run_day(std::uint64_t seed, Counts& counts, Through through = Through::Arbiter, int story = -1);

}  // namespace stopbit::day
