#pragma once

#include <vector>

#include "host/lab/network/names.hpp"
#include "host/monitor/counters/histogram.hpp"

namespace stopbit::network {

/// A histogram of cycles.
inline void add(counters::Distribution& to, std::uint64_t value) noexcept {
  ++to.count;
  to.sum += value;
  to.largest = std::max(to.largest, value);
  ++to.buckets[counters::bucket_of(value)];
}

/// What happened since the start, or since the counts were cleared. Latencies and deliveries are of packets that were
/// created since then.
struct Counts {
  std::uint64_t created = 0;
  std::uint64_t delivered = 0;      ///< Each copy of a multicast packet is one.
  std::uint64_t lost = 0;           ///< Arrived damaged.
  std::uint64_t without_group = 0;  ///< Multicast packets at a switch that has no entry for their group.
  std::uint64_t payload_bytes = 0;  ///< Delivered.
  std::uint64_t cells = 0;          ///< Delivered.
  std::uint64_t hops = 0;           ///< Switches that packets have left.
  std::uint64_t link_packets = 0;   ///< Over links between switches.
  std::uint64_t retransmissions = 0;
  std::uint64_t escapes = 0;  ///< Adaptive packets that took the deterministic way after a wait.
  std::uint64_t adaptive_hops = 0;
  std::uint64_t deadlocks = 0;
  std::uint64_t deadlocked = 0;  ///< Packets in their cycles.
  std::uint64_t searches = 0;    ///< For deadlocks.
  std::uint64_t removed = 0;     ///< Packets that were removed to end a deadlock, and sent again.
  Cycle first_deadlock = 0;
  std::uint64_t events = 0;
  counters::Distribution latency;   ///< From the creation of a packet to its last cell at the target.
  counters::Distribution transit;   ///< The same from its first cell on the link of its host.
  std::vector<std::uint64_t> busy;  ///< By channel: cells sent, damaged ones included.
};

}  // namespace stopbit::network
