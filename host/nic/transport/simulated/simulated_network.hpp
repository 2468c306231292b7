#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "host/lab/network/engine/simulation.hpp"
#include "host/lab/network/plan/network.hpp"
#include "host/nic/transport/transport.hpp"

namespace stopbit::nic {

/// Nodes that are the hosts of a simulated network of switches (host/lab/network): a frame travels as packets, waits
/// for credits, shares links. Time is what the test says. Not for production: it allocates. All ports belong to one
/// thread.
class SimulatedNetwork {
 public:
  /// Fails as network::Network::make does, and for more hosts than nodes can be numbered.
  [[nodiscard]] static Result<std::unique_ptr<SimulatedNetwork>> make(const network::Plan& plan,
                                                                      std::size_t frame_bytes = 4096);
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

  SimulatedNetwork(const network::Plan& plan, std::unique_ptr<network::Network> network, std::size_t frame_bytes);
  [[nodiscard]] bool send(NodeId from, NodeId to, std::span<const std::byte> bytes);
  void arrive(const network::Packet& packet, NodeId to);

  std::unique_ptr<network::Network> network_;
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
