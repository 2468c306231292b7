#pragma once

#include <memory>

#include "tests/nic/carrier.hpp"

namespace stopbit::nic {

/// Nodes with a hardware link (fpga/rtl/network, simulated) between each two of them. A frame travels as packets of up
/// to 256 bytes, on any virtual channel. Of 10^6 bits on the wires, `errors` are wrong.
[[nodiscard]] std::unique_ptr<Network> link_network(std::size_t nodes, std::uint32_t errors);

}  // namespace stopbit::nic
