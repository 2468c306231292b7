#pragma once

#include <cstdint>
#include <string>

#include "host/ports/port_source.hpp"

namespace stopbit::ingest {

/// Sockets of the kernel, one for each group.
struct SocketSource final : PortSource {
  std::string interface;  ///< Empty: the kernel's choice.
  std::uint64_t receive_buffer = 16U << 20;
  std::uint64_t max_payload = 9'216;
  std::uint64_t busy_poll_us = 50;

  [[nodiscard]] OpenedPort open(PortContext& context, std::vector<std::string>& notes) const override;
  [[nodiscard]] Attachment attachment() const override { return {.interface = interface}; }
  [[nodiscard]] std::optional<SocketPortOptions> sockets() const override;
};

}  // namespace stopbit::ingest
