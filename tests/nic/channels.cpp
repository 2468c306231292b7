#include "tests/nic/channels.hpp"

#include <cstring>
#include <stdexcept>

namespace stopbit::nic {

NumberedChannel::NumberedChannel(Host& from_host, Vpid from, NodeId from_node, Host& to_host, Vpid to, NodeId to_node,
                                 const ChannelLayout& layout, std::uint8_t first_event)
    : layout_(layout) {
  const std::size_t pages = (layout.bytes() + kPageBytes - 1) / kPageBytes;
  staging_ = from_host.add_memory(from, pages, Access::Read);
  ring_ = to_host.add_memory(to, pages, Access::ReadWrite);
  if (!staging_ || !ring_) throw std::runtime_error("no addresses left for a channel");
  const auto window = to_host.rma.open_window(to, ring_->nla, layout.bytes(), Access::Write);
  if (!window) throw std::runtime_error("no window left for a channel");
  HostPort& sending = *from_host.of_port.at(from);
  HostPort& receiving = *to_host.of_port.at(to);
  sender_ = std::make_unique<ChannelSender>(sending.queue, sending.events, first_event, staging_->bytes(),
                                            staging_->nla, layout, ChannelPeer{to_node, to, first_event, *window});
  receiver_ = std::make_unique<ChannelReceiver>(receiving.queue, receiving.events, first_event, ring_->bytes(), layout,
                                                ChannelPeer{from_node, from, first_event, {}});
}

ChannelResult NumberedChannel::send() {
  const std::uint64_t number = sender_->sent();
  std::vector<std::byte> message(8 + number % (layout_.max_message() - 7));
  std::memcpy(message.data(), &number, sizeof(number));
  std::fill(message.begin() + 8, message.end(), static_cast<std::byte>(number));
  return sender_->send(message);
}

bool NumberedChannel::receive() {
  for (auto message = receiver_->receive(); !message.empty(); message = receiver_->receive()) {
    std::uint64_t number = 0;
    if (message.size() != 8 + received_ % (layout_.max_message() - 7)) return false;
    std::memcpy(&number, message.data(), sizeof(number));
    if (number != received_ || message.back() != (message.size() == 8 ? message.back() : std::byte(number)))
      return false;
    ++received_;
  }
  return true;
}

}  // namespace stopbit::nic
