#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "host/nic/notify/events.hpp"
#include "host/nic/notify/ring.hpp"

namespace stopbit::nic {

/// The open ports of a node, as the units see them: domain, notification ring, events. One thread. Allocates in the
/// constructor only.
class Ports {
 public:
  /// VPIDs are 0 up to `count`, without it. Throws std::invalid_argument if these are more than kVpids.
  explicit Ports(std::size_t count) : ports_(count) {
    if (count > kVpids) throw std::invalid_argument("more ports than a node may have");
    waking_.reserve(2 * count);
  }

  [[nodiscard]] std::size_t count() const noexcept { return ports_.size(); }
  /// The memory of `page` must stay until the port is closed. False: no such VPID, or it is open already.
  [[nodiscard]] bool open(Vpid vpid, const Page& page, Pdid domain) noexcept {
    if (vpid >= ports_.size() || ports_[vpid]) return false;
    ports_[vpid].emplace(NotifiedPort{NotificationWriter(page), EventSource(page), domain});
    ports_[vpid]->events.defer_wakes();
    return true;
  }
  void close(Vpid vpid) noexcept {
    if (!is_open(vpid)) return;
    while (ports_[vpid]->events.waiting() != 0) ports_[vpid]->events.wake();
    ports_[vpid].reset();
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
  /// Of an open port: its ring takes no notification.
  [[nodiscard]] bool is_full(Vpid vpid) noexcept { return is_open(vpid) && ports_[vpid]->writer.is_full(); }
  /// Notifications that were not dropped, of all ports.
  [[nodiscard]] std::uint64_t told() const noexcept { return told_; }
  /// False: the port is not open, or has no such event.
  bool signal(Vpid vpid, std::uint64_t event) noexcept {
    if (!is_open(vpid) || !ports_[vpid]->events.signal(event)) return false;
    NotifiedPort& port = *ports_[vpid];
    if (port.events.waiting() == 0 || port.is_listed) return true;
    port.is_listed = true;
    waking_.push_back(vpid);
    wake();
    return true;
  }
  /// Maximum number of events whose sleepers are woken in one step, over all ports; the rest follow in later steps,
  /// ports in turn. Each is a system call that delays other ports.
  static constexpr std::size_t kWakesPerStep = 4;
  /// Returns how many were woken, and whether there are more.
  std::size_t begin_step() noexcept {
    left_ = kWakesPerStep;
    wake();
    return kWakesPerStep - left_ + (waking_.empty() ? 0 : 1);
  }
  /// Sleepers of the port are still to be woken.
  [[nodiscard]] bool is_waking(Vpid vpid) const noexcept {
    return is_open(vpid) && ports_[vpid]->events.waiting() != 0;
  }
  /// Such calls so far.
  [[nodiscard]] std::uint64_t wakes() const noexcept { return wakes_; }

 private:
  struct NotifiedPort {
    NotificationWriter writer;
    EventSource events;
    Pdid domain = 0;
    bool is_listed = false;  ///< Is in `waking_`.
  };
  void wake() noexcept {
    while (left_ != 0 && !waking_.empty()) {
      const Vpid vpid = waking_.front();
      waking_.erase(waking_.begin());
      if (!is_open(vpid)) continue;
      NotifiedPort& port = *ports_[vpid];
      port.is_listed = false;
      if (port.events.waiting() == 0) continue;
      port.events.wake();
      --left_;
      ++wakes_;
      if (port.events.waiting() == 0) continue;
      port.is_listed = true;
      waking_.push_back(vpid);
    }
  }
  std::vector<std::optional<NotifiedPort>> ports_;
  std::uint64_t told_ = 0;
  std::vector<Vpid> waking_;  ///< Ports with sleepers to be woken, each once.
  std::size_t left_ = kWakesPerStep;
  std::uint64_t wakes_ = 0;
};

}  // namespace stopbit::nic
