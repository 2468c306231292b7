#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/nic/notify/events.hpp"
#include "host/nic/notify/ring.hpp"

namespace stopbit::nic {

/// The open ports of a node, as the units see them: domain, notification ring, events. One thread. Allocates in the
/// constructor only.
class Ports {
 public:
  /// VPIDs are 0 up to `count`, without it.
  explicit Ports(std::size_t count) : ports_(count) {}

  [[nodiscard]] std::size_t count() const noexcept { return ports_.size(); }
  /// The memory of `page` must stay until the port is closed. False: no such VPID, or it is open already.
  [[nodiscard]] bool open(Vpid vpid, const Page& page, Pdid domain) noexcept {
    if (vpid >= ports_.size() || ports_[vpid]) return false;
    ports_[vpid].emplace(Port{NotificationWriter(page), EventSource(page), domain});
    return true;
  }
  void close(Vpid vpid) noexcept {
    if (vpid < ports_.size()) ports_[vpid].reset();
  }
  [[nodiscard]] bool is_open(Vpid vpid) const noexcept { return vpid < ports_.size() && ports_[vpid]; }
  /// Of an open port.
  [[nodiscard]] Pdid domain(Vpid vpid) const noexcept { return ports_[vpid]->domain; }
  /// False: the port is not open, or its ring is full, and the notification was dropped and counted there.
  bool tell(Vpid vpid, const Notification& notification) noexcept {
    if (!is_open(vpid) || !ports_[vpid]->writer.put(notification)) return false;
    ++told_;
    return true;
  }
  /// Notifications that were not dropped, of all ports.
  [[nodiscard]] std::uint64_t told() const noexcept { return told_; }
  /// False: the port is not open, or has no such event.
  bool signal(Vpid vpid, std::uint64_t event) noexcept { return is_open(vpid) && ports_[vpid]->events.signal(event); }

 private:
  struct Port {
    NotificationWriter writer;
    EventSource events;
    Pdid domain = 0;
  };
  std::vector<std::optional<Port>> ports_;
  std::uint64_t told_ = 0;
};

}  // namespace stopbit::nic
