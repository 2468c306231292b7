#pragma once

#include "host/lab/network/names.hpp"

namespace stopbit::network {

/// A packet that a host wants to send.
struct Offer {
  Cycle at = 0;
  HostId target = 0;
  std::uint32_t group = kNone;  ///< Multicast: the target does not matter.
  std::uint32_t payload = 0;
  std::uint8_t traffic_class = 0;
};

/// Where packets come from. Each host's offers are a sequence of its own, in the order of time, whatever other hosts
/// do.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  /// False: the host sends nothing more.
  [[nodiscard]] virtual bool next(HostId host, Offer& offer) = 0;
};

}  // namespace stopbit::network
