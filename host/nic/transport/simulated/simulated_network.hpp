#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "host/lab/network/engine/simulation.hpp"
#include "host/lab/network/plan/network.hpp"
#include "host/nic/transport/transport.hpp"

namespace stopbit::nic {

struct SimulatedOptions {
  std::size_t frame_bytes = 4096;
  /// The host of each node, each once; empty: every host is a node of its number.
  std::vector<network::HostId> hosts = {};
  /// All hosts also send what the plan's pattern says, so that frames meet other packets.
  bool has_traffic = false;
};

/// Nodes that are hosts of a simulated network of switches (host/lab/network): a frame travels as packets, waits
/// for credits, shares links. Time is what the test says. Not for production: it allocates. All ports belong to one
/// thread.
class SimulatedNetwork {
 public:
  /// Fails as network::Network::make does, for more nodes than can be numbered, and for a node whose host does not
  /// exist or is another's.
  [[nodiscard]] static Result<std::unique_ptr<SimulatedNetwork>> make(const network::Plan& plan,
                                                                      const SimulatedOptions& options = {});
  ~SimulatedNetwork();
  SimulatedNetwork(const SimulatedNetwork&) = delete;
  SimulatedNetwork& operator=(const SimulatedNetwork&) = delete;

  [[nodiscard]] Transport& port(NodeId node) noexcept;
  /// Must not go back.
  void set_time(std::uint64_t now_ns);
  /// From now on nothing leaves or reaches the node.
  void cut(NodeId node) { is_cut_[node] = true; }
  /// Ends the cut. Frames under way still arrive.
  void mend(NodeId node) { is_cut_[node] = false; }
  [[nodiscard]] const network::Counts& counts() const noexcept { return simulation_.counts(); }
  /// Frames that each node may have under way; then it has no room.
  static constexpr std::size_t kFramesOfNode = 256;

 private:
  class Port;
  struct Frame {
    std::vector<std::byte> bytes;
    NodeId from = 0;
    std::uint32_t missing = 0;  ///< Packets that have not arrived.
    bool is_damaged = false;
  };

  SimulatedNetwork(const network::Plan& plan, std::unique_ptr<network::Network> network,
                   const SimulatedOptions& options);
  [[nodiscard]] bool send(NodeId from, NodeId to, std::span<const std::byte> bytes);
  void arrive(const network::Packet& packet, NodeId to);

  std::unique_ptr<network::Network> network_;
  std::vector<network::HostId> hosts_;       ///< By node,
  std::vector<NodeId> nodes_;                ///< and the other way round.
  std::unique_ptr<network::Source> others_;  ///< Null: no other traffic.
  network::Simulation simulation_;
  double cycles_of_ns_;
  std::uint32_t packet_bytes_;
  std::size_t frame_bytes_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> free_frames_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<std::size_t> under_way_;  ///< By sender.
  std::vector<bool> is_cut_;
};

}  // namespace stopbit::nic
