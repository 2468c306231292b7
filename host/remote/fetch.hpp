#pragma once

#include <cstdint>

#include "host/nic/names.hpp"
#include "host/nic/notify/notification.hpp"
#include "host/remote/node_port.hpp"

namespace stopbit::remote {

/// Reads another node's window by get, a few pieces at a time, in the order requested.
class Fetch {
 public:
  struct From {
    nic::NodeId node = 0;
    nic::Vpid vpid = 0;
    nic::WindowName window;
  };
  Fetch(NodePort& port, const From& from) noexcept : port_(port), from_(from) {}

  /// False: not now. `to` is registered memory of the port.
  [[nodiscard]] bool start(std::uint64_t offset, nic::Nla to, std::uint32_t bytes) noexcept;
  /// Takes a notification of the port; true if it was about this fetch. Tags distinguish pieces of an earlier one.
  bool hear(const nic::Notification& notification) noexcept;
  /// Nothing is under way.
  [[nodiscard]] bool is_done() const noexcept { return started_ == done_; }
  /// Pieces requested.
  [[nodiscard]] std::uint32_t started() const noexcept { return started_; }
  /// The first error of all.
  [[nodiscard]] nic::Error error() const noexcept { return error_; }

 private:
  static std::uint64_t next_tag() noexcept;

  NodePort& port_;
  From from_;
  std::uint64_t tag_ = next_tag();
  std::uint32_t started_ = 0;
  std::uint32_t done_ = 0;
  nic::Error error_ = nic::Error::None;
};

}  // namespace stopbit::remote
