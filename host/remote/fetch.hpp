#pragma once

#include <cstdint>

#include "host/nic/names.hpp"
#include "host/nic/notify/notification.hpp"
#include "host/remote/port.hpp"

namespace stopbit::remote {

/// Somebody's window that is read by get, a few pieces at a time, in the order in which they were asked for.
class Fetch {
 public:
  struct From {
    nic::NodeId node = 0;
    nic::Vpid vpid = 0;
    nic::WindowName window;
  };
  Fetch(Port& port, const From& from) noexcept : port_(port), from_(from) {}

  /// False: not now. `to` is registered memory of the port.
  [[nodiscard]] bool start(std::uint64_t offset, nic::Nla to, std::uint32_t bytes) noexcept;
  /// What the port was told; true if it was about this fetch. Pieces of an earlier one are told apart by their tags.
  bool hear(const nic::Notification& notification) noexcept;
  /// Nothing is under way.
  [[nodiscard]] bool is_done() const noexcept { return started_ == done_; }
  /// Pieces that were asked for.
  [[nodiscard]] std::uint32_t started() const noexcept { return started_; }
  /// The first error of all.
  [[nodiscard]] nic::Error error() const noexcept { return error_; }

 private:
  static std::uint64_t next_tag() noexcept;

  Port& port_;
  From from_;
  std::uint64_t tag_ = next_tag();
  std::uint32_t started_ = 0;
  std::uint32_t done_ = 0;
  nic::Error error_ = nic::Error::None;
};

}  // namespace stopbit::remote
