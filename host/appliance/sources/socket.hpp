#pragma once

#include <cstdint>
#include <string>

#include "host/appliance/port_source.hpp"

namespace stopbit::appliance {

/// Sockets of the kernel, one for each group.
struct SocketSource final : PortSource {
  std::string interface;  ///< Empty: the kernel's choice.
  std::uint64_t receive_buffer = 16U << 20;
  std::uint64_t max_payload = 9'216;
  std::uint64_t busy_poll_us = 50;

  [[nodiscard]] OpenedPort open(PortContext& context, std::vector<std::string>& notes) const override;
  [[nodiscard]] std::optional<std::uint32_t> node(const Topology& topology) const override;
  [[nodiscard]] std::optional<ingest::SocketPortOptions> sockets() const override;
};

}  // namespace stopbit::appliance
