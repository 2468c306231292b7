#pragma once

#include <cstdint>
#include <string>

#include "host/ports/port_source.hpp"

namespace stopbit::ingest {

/// A receive queue of a device that DPDK drives. Ports of one device are its queues, in their order.
struct QueueSource final : PortSource {
  std::string device;        ///< As DpdkPortOptions take it.
  std::uint16_t queue = 0;   ///< Index of this queue,
  std::uint16_t queues = 1;  ///< and how many the device has.
  std::uint16_t descriptors = 2'048;
  std::uint16_t max_frame = 2'048;
  std::uint32_t address = 0;  ///< Ours, for IGMP.

  [[nodiscard]] OpenedPort open(PortContext& context, std::vector<std::string>& notes) const override;
  [[nodiscard]] Attachment attachment() const override { return {.pci_address = device_name()}; }
  /// DPDK has a node of its own for what it allocates, and threads that must not stay on an agent's core.
  [[nodiscard]] bool places_itself() const noexcept override { return true; }
  [[nodiscard]] bool has_known_calls() const noexcept override { return false; }
  /// The device without its arguments.
  [[nodiscard]] std::string device_name() const { return device.substr(0, device.find(',')); }
};

}  // namespace stopbit::ingest
