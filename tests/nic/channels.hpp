#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "host/nic/channel/channel.hpp"
#include "tests/nic/host.hpp"

namespace stopbit::nic {

/// A channel between two ports, with numbered messages in it.
class NumberedChannel {
 public:
  /// `window` is none if the far node has no room.
  NumberedChannel(Host& from_host, Vpid from, NodeId from_node, Host& to_host, Vpid to, NodeId to_node,
                  const ChannelLayout& layout, std::uint8_t first_event);

  [[nodiscard]] ChannelResult send();
  /// Takes all there are; false if one was not the next.
  [[nodiscard]] bool receive();
  [[nodiscard]] std::uint64_t sent() const noexcept { return sender_->sent(); }
  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
  bool is_stalled = false;

 private:
  ChannelLayout layout_;
  std::unique_ptr<Registered> staging_;
  std::unique_ptr<Registered> ring_;
  std::unique_ptr<ChannelSender> sender_;
  std::unique_ptr<ChannelReceiver> receiver_;
  std::uint64_t received_ = 0;
};

}  // namespace stopbit::nic
