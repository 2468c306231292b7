#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/nic/transport/transport.hpp"

namespace stopbit::nic {

/// Some nodes that are connected by a carrier. Time is what the test says.
class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  [[nodiscard]] virtual Transport& port(NodeId node) = 0;
  virtual void set_time(std::uint64_t now_ns) = 0;
  /// From now on nothing leaves or reaches the node.
  virtual void cut(NodeId node) = 0;
  virtual void mend(NodeId node) = 0;
  /// The node dies, and another process takes its place, with another port. A frame on its way still
  /// arrives, wherever the carrier keeps it.
  virtual void restart(NodeId node) = 0;
};

/// A carrier to run a case on. The case must say the same on all of them.
struct Carrier {
  std::string_view name;
  std::function<std::unique_ptr<Network>(std::size_t nodes)> connect;
};

/// All there are.
[[nodiscard]] std::vector<Carrier> carriers();
/// Nodes among the 256 hosts of a simulated torus that all have traffic of their own: what takes long.
[[nodiscard]] std::vector<Carrier> large_carriers();
/// Why those of fabric are not among them; empty: they are.
[[nodiscard]] const std::string& why_not_fabric();

}  // namespace stopbit::nic
