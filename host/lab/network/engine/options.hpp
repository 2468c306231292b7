#pragma once

#include <algorithm>

#include "host/lab/network/names.hpp"

namespace stopbit::network {

/// A switch. The defaults are those of the R2 crossbar (Geib 2012, chapter 3).
struct SwitchOptions {
  double clock_mhz = 200;
  std::uint32_t latency_cycles = 16;  ///< From the first cell in to the first cell out, if nothing is in its way.
  std::uint32_t route_cycles = 10;    ///< Of those: until the packet is in a queue and requests its output.
  std::uint32_t packet_cycles = 6;    ///< Between the starts of two packets of an input or output, at least.
  std::uint32_t cell_bytes = 8;       ///< What a link carries in a cycle.
  std::uint32_t overhead_cells = 2;   ///< Of each packet: its start and its end. They take no slot.
  std::uint32_t slots = 128;          ///< Of the store of each input.
  std::uint32_t slot_bytes = 64;
  std::uint32_t packet_bytes = 256;  ///< The longest payload.
  std::uint32_t classes = 1;
  std::uint32_t vcs = 1;
  std::uint32_t reserve = 4;  ///< Slots of each input that no other flow can use.
  /// One queue for each input instead of one for each output and flow: the head blocks all others. For one class with
  /// one channel.
  bool is_fifo = false;
  bool stores_and_forwards = false;  ///< A packet is routed when its tail has arrived.
  std::uint32_t almost_full = 4;     ///< Packets in a queue from which on adaptive packets avoid it.
  std::uint32_t escape_cycles = 64;  ///< After these an adaptive packet that waits takes the deterministic way.

  [[nodiscard]] std::uint32_t flows() const noexcept { return classes * vcs; }
  /// Of the longest packet. An output sends only if the next input has room for one: it does not know the length yet.
  [[nodiscard]] std::uint32_t most_slots() const noexcept { return (packet_bytes + slot_bytes - 1) / slot_bytes; }
  [[nodiscard]] std::uint32_t slots_of(std::uint32_t payload) const noexcept {
    return std::max(1U, (payload + slot_bytes - 1) / slot_bytes);
  }
  [[nodiscard]] std::uint32_t cells_of(std::uint32_t payload) const noexcept {
    return overhead_cells + std::max(1U, (payload + cell_bytes - 1) / cell_bytes);
  }
};

struct LinkOptions {
  std::uint32_t cycles = 4;       ///< Between two switches, each way.
  std::uint32_t host_cycles = 1;  ///< Between a host and its switch.
  double bit_error_rate = 0;      ///< Of links between switches.
  bool retransmits = true;        ///< The link repeats damaged packets. Else they travel on and are lost at the end.
  std::uint32_t attempts = 64;    ///< After which a packet travels on damaged.
};

enum class OnDeadlock : std::uint8_t {
  Ignore,   ///< No search.
  Stop,     ///< The run ends.
  Recover,  ///< One packet of each cycle is removed and sent again.
};

struct DeadlockOptions {
  OnDeadlock action = OnDeadlock::Stop;
  std::uint32_t timer_cycles = 2'000;     ///< A request that waits for credits as long as this starts a search.
  std::uint32_t recovery_cycles = 2'000;  ///< Until a removed packet is sent again.
};

struct SimulationOptions {
  std::uint64_t seed = 1;
  SwitchOptions node;
  LinkOptions link;
  DeadlockOptions deadlock;
};

}  // namespace stopbit::network
