#pragma once

#include <memory>

#include "host/nic/rma/rma_engine.hpp"
#include "tests/nic/units.hpp"

namespace stopbit::nic {

/// The units of fpga/rtl/rma, simulated, as requester, responder and completer of a node's remote memory access. They
/// read and write the memory of the node's ports themselves; the class `Atu` is their translation. `transactions`
/// outlives them.
[[nodiscard]] std::unique_ptr<RmaEngine> hardware_rma(NodeId node, std::size_t nodes, Transactions& transactions);

}  // namespace stopbit::nic
