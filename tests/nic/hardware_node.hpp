#pragma once

#include <cstddef>
#include <memory>

#include "host/nic/msg/message_engine.hpp"
#include "host/nic/rma/rma_engine.hpp"
#include "tests/nic/units.hpp"

namespace stopbit::nic {

/// Whole nodes of fpga/rtl/node, simulated, for what they carry out of a node's messages and its remote memory access.
///
/// Commands and parts of messages go as posted writes through the bridge to queue and write-combining buffer, addresses
/// through translation, packets through the switch and over the link; slots, data and notifications come back as
/// packets to the host. At the other end of a link is a port that hands packets to the links of software and back. A
/// packet that a node sends to itself takes this way, too.
class HardwareNodes {
 public:
  /// `transactions` outlives the engines.
  explicit HardwareNodes(Transactions& transactions);

  /// The two engines of a node share it, until both have been destroyed: the next ones have a new node.
  [[nodiscard]] std::unique_ptr<MessageEngine> messages(NodeId node, std::size_t nodes);
  [[nodiscard]] std::unique_ptr<RmaEngine> rma(NodeId node, std::size_t nodes);

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace stopbit::nic
