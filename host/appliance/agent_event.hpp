#pragma once

#include <array>
#include <cstdint>

#include "host/feed/arbitrate/arbiter.hpp"
#include "host/market/stage/loss_effects.hpp"

namespace stopbit::appliance {

/// An event of the data path to be logged; another thread formats it.
struct AgentEvent {
  enum class Kind : std::uint8_t {
    Gap,        ///< Numbers are given up.
    Late,       ///< Numbers of a gap have come after they were given up, late or by a replay.
    Run,        ///< A run of numbers begins.
    Stale,      ///< Datagrams of the channel do not decode.
    Blind,      ///< Packets come, and nothing is delivered.
    Recovered,  ///< They do again, or it is.
    Conflict,   ///< Two copies of a number differ: the first such number of a run.
    Books,      ///< What a gap has done to books.
    Image,      ///< Another image is used from here on.
  };
  Kind kind = Kind::Gap;
  std::uint32_t channel = 0;  ///< Index in the appliance. Image: index of the output.
  std::uint64_t time_ns = 0;  ///< Wall clock; 0: when it is read, as a capture has times of its own.
  std::uint64_t first = 0;  ///< Gap, Late, Run, Conflict: sequence number; of Late, the gap's first. Image: generation.
  std::uint64_t count = 0;  ///< Gap, Late: numbers, so far. Stale: datagrams. Blind: ns.
  std::uint64_t replayed = 0;  ///< Late: numbers that a replay service has brought, so far.
  std::uint16_t epoch = 0;
  std::uint8_t detail = 0;  ///< Gap: GapReason. Run: NewRun::Reason. Stale: ErrorCode. Conflict: Line.
  /// Gap: what the lines had, and whether the machine itself has just dropped packets.
  std::array<arbitrate::Gap::Had, 2> lines{};
  std::uint64_t before_t_ns = 0;  ///< Gap: see arbitrate::Gap, as the next.
  std::uint64_t after_t_ns = 0;
  std::uint64_t read_until_ns = ~std::uint64_t{0};  ///< Gap: up to where every port of the thread had been read.
  std::uint64_t stall_ns = 0;  ///< Gap: how long the thread did not run meanwhile. Late: by how much, at most.
  bool dropped_here = false;
  market::LossEffect effect{};  ///< Books.
};

}  // namespace stopbit::appliance
