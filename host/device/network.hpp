#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/device/device.hpp"

namespace stopbit::device {

/// Where a device's datagrams come from, if the host has a hand in it. A card has its own: no host can send there.
class Network {
 public:
  virtual ~Network() = default;

  /// Sends one datagram to the device's input, as it comes from the wire: without headers of Ethernet, IP and UDP.
  /// Blocks while the device is behind. One thread.
  [[nodiscard]] virtual Status send(std::span<const std::byte> datagram, std::uint16_t channel,
                                    std::uint64_t arrival_ns) = 0;
};

}  // namespace stopbit::device
