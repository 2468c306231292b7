#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/nic/notify/ring.hpp"

namespace stopbit::nic {

/// The open ports of a node, as the units see them: domain and notification ring. One thread. Allocates in the
/// constructor only.
class Ports {
 public:
  /// VPIDs are 0 up to `count`, without it.
  explicit Ports(std::size_t count) : ports_(count) {}

  [[nodiscard]] std::size_t count() const noexcept { return ports_.size(); }
  /// The memory of `page` must stay until the port is closed. False: no such VPID, or it is open already.
  [[nodiscard]] bool open(Vpid vpid, const Page& page, Pdid domain) noexcept {
    if (vpid >= ports_.size() || ports_[vpid]) return false;
    ports_[vpid].emplace(Port{NotificationWriter(page), domain});
    return true;
  }
  void close(Vpid vpid) noexcept {
    if (vpid < ports_.size()) ports_[vpid].reset();
  }
  [[nodiscard]] bool is_open(Vpid vpid) const noexcept { return vpid < ports_.size() && ports_[vpid]; }
  /// Of an open port.
  [[nodiscard]] Pdid domain(Vpid vpid) const noexcept { return ports_[vpid]->domain; }
  /// Dropped and counted if the ring is full; nothing happens if the port is not open.
  void tell(Vpid vpid, const Notification& notification) noexcept {
    if (is_open(vpid)) (void)ports_[vpid]->writer.put(notification);
  }

 private:
  struct Port {
    NotificationWriter writer;
    Pdid domain = 0;
  };
  std::vector<std::optional<Port>> ports_;
};

}  // namespace stopbit::nic
