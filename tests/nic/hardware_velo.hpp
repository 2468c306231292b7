#pragma once

#include <memory>

#include "host/nic/msg/message_engine.hpp"
#include "tests/nic/units.hpp"

namespace stopbit::nic {

/// The unit of fpga/rtl/velo, simulated, as requester and completer of a node's message unit. It writes to the memory
/// of the node's ports itself; the class `Atu` is its translation.
[[nodiscard]] std::unique_ptr<MessageEngine> hardware_messages(NodeId node, std::size_t nodes,
                                                               Transactions& transactions);

}  // namespace stopbit::nic
