#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/record/views.hpp"
#include "host/ports/packet_source.hpp"
#include "host/replay/replay.hpp"

/// A replay on several cores, with the records and the account of a replay on one:
///
///     sources ─► PacketQueue ─► part 0: Replay of every lane, channels 0, N, 2N, ... ─► RecordMerge ─► the caller
///                           └─► part 1: ...          channels 1, N + 1, ...          ─┘
///
/// Every part takes every packet and decodes its own channels; the merge orders records by packet, lane and channel.
namespace stopbit::replay {

/// One image and the channels that it decodes.
struct ParallelLane {
  const Program& program;
  Options options;                                  ///< No pace and no limit.
  std::function<std::unique_ptr<Engine>()> engine;  ///< Called once for each part.
};

/// Takes what comes out, on the caller's thread.
class Consumer {
 public:
  virtual ~Consumer() = default;
  /// The next record of a lane.
  virtual void take(std::size_t lane, std::span<const record::Slot> record) = 0;
  /// Nothing has come for now.
  virtual void idle() {}
  /// Asked now and then; what it returns tells whether to go on.
  enum class Wish : std::uint8_t {
    GoOn,
    Stop,   ///< No more packets; what was read is decoded.
    Abort,  ///< At once: records are lost.
  };
  [[nodiscard]] virtual Wish look(const Progress& progress) = 0;
};

/// Runs to the end of the sources. Memory is bounded; all its threads have ended when it returns. Throws
/// std::system_error if there can be no more threads, and what the consumer throws.
[[nodiscard]] std::vector<Summary> run_parallel(std::span<const ParallelLane> lanes, std::uint16_t parts,
                                                std::span<const std::unique_ptr<ingest::PacketSource>> sources,
                                                Consumer& consumer);

}  // namespace stopbit::replay
