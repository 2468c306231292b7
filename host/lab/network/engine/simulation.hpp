#pragma once

#include <functional>
#include <vector>

#include "host/lab/impair/random.hpp"
#include "host/lab/network/engine/counts.hpp"
#include "host/lab/network/engine/credits.hpp"
#include "host/lab/network/engine/event_wheel.hpp"
#include "host/lab/network/engine/options.hpp"
#include "host/lab/network/engine/packet_pool.hpp"
#include "host/lab/network/routing/multicast.hpp"
#include "host/lab/network/routing/router.hpp"
#include "host/lab/network/topology/topology.hpp"
#include "host/lab/network/traffic/source.hpp"

namespace stopbit::network {

/// Why a run ended.
enum class End : std::uint8_t {
  Limit,     ///< Its time was over.
  Idle,      ///< Nothing can happen any more.
  Deadlock,  ///< OnDeadlock::Stop, or a deadlock that no removal ends.
  Memory,    ///< Packets would need more than the room.
};

/// Switches with virtual output queues, credits and virtual channels, event by event. A packet is one unit: it
/// occupies a link for one cycle per cell, and the next switch forwards it once its head is routed (virtual
/// cut-through). The same network, traffic and seed give the same events. Single-threaded.
class Simulation {
 public:
  /// `options` fit `topology` and `router` (Settings checks them). All that is referred to outlives the simulation;
  /// `source` may be null.
  Simulation(const Topology& topology, const Router& router, const Groups& groups, Source* source,
             const SimulationOptions& options);

  /// Memory that the constructor takes. Packets come on top of it, as they are created.
  [[nodiscard]] static std::uint64_t bytes_for(const TopologySize& size, const SwitchOptions& options) noexcept;
  /// Memory of packets and events so far, and the most that they may take.
  [[nodiscard]] std::uint64_t packet_bytes() const noexcept { return pool_.bytes() + wheel_.bytes(); }
  void limit_packet_bytes(std::uint64_t bytes) noexcept { most_bytes_ = bytes; }

  /// Handles all events up to `until`, those of that cycle included. Later calls continue.
  End run(Cycle until);
  /// An idle network: the time goes on, if it is not there yet.
  void skip_to(Cycle cycle) {
    if (wheel_.size() == 0 && cycle > now()) (void)wheel_.advance(cycle);
  }
  [[nodiscard]] Cycle now() const noexcept { return wheel_.now(); }
  /// Hosts offer nothing more once this number of packets was created.
  void limit_packets(std::uint64_t packets) noexcept { most_packets_ = packets; }
  /// Counts begin anew, of packets that are created from now on.
  void clear_counts();
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  [[nodiscard]] Cycle counted_from() const noexcept { return counted_from_; }
  /// Packets, and copies of packets, that were created and have not arrived.
  [[nodiscard]] std::uint64_t under_way() const noexcept { return under_way_; }
  /// The inputs whose first packets wait for each other; of the last deadlock.
  [[nodiscard]] const std::vector<ChannelId>& last_cycle() const noexcept { return last_cycle_; }

  /// Adds a packet to the queue of a host, for a carrier. `frame` comes back with the delivery.
  void send(HostId from, HostId to, std::uint32_t payload, std::uint32_t frame);
  /// Called for each packet that arrives, damaged ones included.
  void on_delivery(std::function<void(const Packet&, HostId)> call) { deliver_ = std::move(call); }

 private:
  struct Host {
    Cycle free_at = 0;
    Cycle wake = ~Cycle{0};  ///< Of its next event.
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    bool has_offer = false;
    bool is_done = false;
    Offer offer;
  };
  struct Queue {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    std::uint32_t length = 0;
  };
  /// Where an output's round robin goes on.
  struct Turn {
    std::uint8_t flow = 0;
    std::uint8_t input = 0;
  };
  struct Pick {
    std::uint32_t input = kNone;
    std::uint32_t flow = 0;
  };

  void dispatch(const Event& event);

  // hosts.cpp
  void start_hosts();
  void wake(HostId host, Cycle at);
  void inject(HostId host);
  [[nodiscard]] bool create_packet(Host& state, HostId host);
  void push(HostId host, std::uint32_t number);
  void enter(HostId host, std::uint32_t number);
  void deliver(std::uint32_t number, HostId host);
  void reinject(std::uint32_t number, HostId host);

  // switching.cpp
  void arrive(std::uint32_t number, ChannelId input);
  void route(std::uint32_t number, SwitchId at, std::uint32_t in);
  void replicate(std::uint32_t number, SwitchId at, std::uint32_t in);
  [[nodiscard]] bool route_adaptively(std::uint32_t number, SwitchId at, std::uint32_t in, const Hop& hop);
  void escape(std::uint32_t number, std::uint32_t serial);
  void enqueue(std::uint32_t number, SwitchId at, std::uint32_t in, std::uint32_t out, std::uint32_t vc);
  void unlink(std::uint32_t number);
  void set_request(const Packet& packet, bool wanted);
  void free_slots(const Packet& packet, Cycle at);
  void return_credit(ChannelId channel, std::uint32_t flow, std::uint32_t slots, Cycle at);

  // arbiter.cpp
  void touch(SwitchId at, std::uint64_t outputs);
  void arbitrate(SwitchId at);
  [[nodiscard]] Pick pick(SwitchId at, std::uint32_t out);
  void transmit(SwitchId at, std::uint32_t in, std::uint32_t out, std::uint32_t flow);
  [[nodiscard]] Cycle delay_by_errors(ChannelId channel, Packet& packet);
  void release(ChannelId output, std::uint32_t in);

  // deadlock.cpp
  void note_blocked(ChannelId channel, std::uint32_t flow);
  void check(std::uint32_t waiting, std::uint32_t since);
  void look_for_deadlock();
  [[nodiscard]] bool search();
  [[nodiscard]] std::vector<std::uint8_t> live_channels() const;
  [[nodiscard]] bool gets_room(std::size_t waiting, const std::vector<std::uint8_t>& live) const;
  /// A packet in the input at the end of `waiting`'s channel whose departure would help it; kNone: there is none.
  [[nodiscard]] std::uint32_t helper(std::size_t waiting, const std::vector<std::uint8_t>* live) const;
  void find_cycles(const std::vector<std::uint8_t>& live);
  [[nodiscard]] bool remove_packets();
  /// The output and flow that a packet waits for.
  [[nodiscard]] std::size_t next_of(std::uint32_t number) const noexcept {
    const Packet& packet = pool_[number];
    return output_of(packet) * std::size_t{flows_} + flow_of(packet, packet.out_vc);
  }

  [[nodiscard]] std::uint32_t flow_of(const Packet& packet, std::uint32_t vc) const noexcept {
    return packet.traffic_class * options_.node.vcs + vc;
  }
  [[nodiscard]] std::size_t queue_of(ChannelId input, std::uint32_t out, std::uint32_t flow) const noexcept {
    if (options_.node.is_fifo) return input;
    return (std::size_t{input} * topology_.ports() + out) * flows_ + flow;
  }
  [[nodiscard]] std::size_t queue_of(const Packet& packet) const noexcept {
    return queue_of(packet.input, packet.out, flow_of(packet, packet.out_vc));
  }
  [[nodiscard]] ChannelId output_of(const Packet& packet) const noexcept {
    return packet.input / topology_.ports() * topology_.ports() + packet.out;
  }
  [[nodiscard]] bool is_host_link(ChannelId channel) const noexcept {
    return channel >= topology_.switches() * topology_.ports() || ends_[channel] == Peer::Kind::Host;
  }
  [[nodiscard]] std::uint32_t cycles_of(ChannelId channel) const noexcept {
    return is_host_link(channel) ? options_.link.host_cycles : options_.link.cycles;
  }

  const Topology& topology_;
  const Router& router_;
  const Groups& groups_;
  Source* source_;
  SimulationOptions options_;
  std::uint32_t flows_;
  impair::Random random_;
  EventWheel wheel_;
  PacketPool pool_;
  CreditBank credits_;
  Counts counts_;
  Cycle counted_from_ = 0;
  std::uint64_t under_way_ = 0;
  std::uint64_t all_created_ = 0;
  std::uint64_t most_packets_ = ~std::uint64_t{0};
  bool is_started_ = false;
  std::uint64_t most_bytes_ = kMaxMemoryBytes;
  bool is_stuck_ = false;
  std::function<void(const Packet&, HostId)> deliver_;

  std::vector<Host> hosts_;
  std::vector<Queue> queues_;
  std::vector<Peer::Kind> ends_;            ///< By output.
  std::vector<std::uint64_t> requests_;     ///< By output and flow: inputs.
  std::vector<std::uint64_t> wanted_;       ///< By input: outputs that it has packets for.
  std::vector<std::uint64_t> busy_inputs_;  ///< By switch.
  std::vector<std::uint64_t> busy_outputs_;
  std::vector<std::uint64_t> pending_;  ///< By switch: outputs to look at.
  std::vector<bool> is_dirty_;
  std::vector<SwitchId> dirty_;
  std::vector<Turn> turns_;              ///< By output.
  std::vector<std::uint8_t> accepts_;    ///< By input: the output whose grant is accepted first.
  std::vector<std::uint8_t> adaptives_;  ///< By input: the port that is considered first.

  std::vector<Cycle> blocked_since_;      ///< By output and flow; kNever: it is not.
  std::vector<std::uint32_t> coming_;     ///< By channel and flow: packets on the link.
  std::vector<std::uint32_t> returning_;  ///< By channel and flow: credits on their way.
  std::vector<ChannelId> last_cycle_;
  std::vector<std::vector<std::uint32_t>> cycles_;  ///< Of the last search: packets that wait for each other.
  std::size_t checks_ = 0;                          ///< Events of that kind under way.
  Cycle searched_at_ = 0;
  bool has_searched_ = false;
};

inline constexpr Cycle kNever = ~Cycle{0};

}  // namespace stopbit::network
