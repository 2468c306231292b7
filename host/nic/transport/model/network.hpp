#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "host/lab/impair/impairer.hpp"
#include "host/nic/transport/transport.hpp"

namespace stopbit::nic {

struct ModelOptions {
  std::size_t nodes = 2;
  std::uint64_t seed = 1;
  impair::LineOptions line;  ///< Of every way from one node to another; the way to oneself is perfect.
  std::size_t frame_bytes = 4096;
  bool is_one_host = false;  ///< The nodes say that they share memory.
};

/// A network that exists only here: every way loses, doubles, swaps, damages and delays frames, from a seed. Time is
/// whatever the test says. Not for production: it allocates for each frame. All its ports belong to one thread.
class ModelNetwork {
 public:
  explicit ModelNetwork(const ModelOptions& options);
  ~ModelNetwork();

  [[nodiscard]] Transport& port(NodeId node) noexcept;
  /// Must not go back.
  void set_time(std::uint64_t now_ns) noexcept { now_ns_ = now_ns; }
  /// What Transport::address_of says of the node from now on.
  void set_address(NodeId node, const HostAddress& address) { addresses_[node] = address; }
  /// From now on nothing leaves or reaches the node.
  void cut(NodeId node);
  /// Ends the cut. Frames under way still arrive.
  void mend(NodeId node);
  /// Frames that were given to the network.
  [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }

 private:
  class ModelTransport;

  [[nodiscard]] impair::Impairer& way(NodeId from, NodeId to) noexcept { return ways_[from * options_.nodes + to]; }

  ModelOptions options_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t frames_ = 0;
  std::vector<impair::Impairer> ways_;
  std::vector<std::unique_ptr<ModelTransport>> ports_;
  std::vector<bool> is_cut_;
  std::vector<std::optional<HostAddress>> addresses_;
};

}  // namespace stopbit::nic
