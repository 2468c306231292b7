#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "host/ports/packet_source.hpp"
#include "host/ports/port.hpp"

namespace stopbit::ingest {

struct CapturePortOptions {
  double speed = 0;  ///< Factor of the capture's own speed; 0 = each packet at the next poll.
  /// ns; read at each poll if the port is paced. Empty: the machine's monotonic clock.
  std::function<std::uint64_t()> clock = {};
};

/// Plays packet sources (at least one; several are merged by time) as if their datagrams came from a network: for
/// tests, drills and measurements.
///
/// Arrival times and their quality are those of the capture. join() narrows what is handed out to the groups asked for
/// (and their sources, if given); without any join everything is. Datagrams of other groups count as Accepted verdicts,
/// but are not handed out. A capture that breaks off ends there and counts one failure; notes() has its words.
/// The source's own rules for allocation hold: a packet longer than all before may grow its buffer.
[[nodiscard]] std::unique_ptr<Port> make_capture_port(std::unique_ptr<PacketSource> source,
                                                      CapturePortOptions options = {});

[[nodiscard]] std::unique_ptr<Port> make_capture_port(std::vector<std::unique_ptr<PacketSource>> sources,
                                                      CapturePortOptions options = {});

}  // namespace stopbit::ingest
