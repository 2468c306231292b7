#pragma once

#include <algorithm>
#include <cstring>

#include "host/nic/channel/channel.hpp"

/// What the ends of a channel do; channel.cpp makes those that ports have, a model check others.
namespace stopbit::nic {

struct ChannelSlot {
  std::uint64_t number = 0;
  std::uint32_t length = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(ChannelSlot) == ChannelLayout::kHeaderBytes);

template <std::uint32_t kReplenish, class Queue, class Events>
std::uint32_t BasicChannelSender<kReplenish, Queue, Events>::credits() noexcept {
  // No more than there are slots, whatever the receiver says.
  while (credits_ + kReplenish < layout_.slots && events_.poll(credit_event_)) {
    credits_ += kReplenish;
  }
  return credits_;
}

template <std::uint32_t kReplenish, class Queue, class Events>
ChannelResult BasicChannelSender<kReplenish, Queue, Events>::send(std::span<const std::byte> message) noexcept {
  if (message.empty() || message.size() > layout_.max_message()) return ChannelResult::TooLong;
  const std::span<std::byte> to = place();
  if (to.empty()) return ChannelResult::NoCredit;
  std::copy(message.begin(), message.end(), to.begin());
  return send_placed(message.size());
}

template <std::uint32_t kReplenish, class Queue, class Events>
std::span<std::byte> BasicChannelSender<kReplenish, Queue, Events>::place() noexcept {
  if (credits_ == 0 && credits() == 0) return {};
  const std::size_t at = sent_ % layout_.slots * layout_.slot_bytes;
  return staging_.subspan(at + ChannelLayout::kHeaderBytes, layout_.max_message());
}

template <std::uint32_t kReplenish, class Queue, class Events>
ChannelResult BasicChannelSender<kReplenish, Queue, Events>::send_placed(std::size_t length) noexcept {
  if (length == 0 || length > layout_.max_message()) return ChannelResult::TooLong;
  if (credits_ == 0) return ChannelResult::NoCredit;
  const std::size_t at = sent_ % layout_.slots * layout_.slot_bytes;
  const ChannelSlot header{sent_ + 1, static_cast<std::uint32_t>(length), 0};
  std::memcpy(staging_.data() + at, &header, sizeof(header));
  Command put;
  put.operation = Operation::Put;
  put.target_node = peer_.node;
  put.target_vpid = peer_.vpid;
  put.window = peer_.window.id;
  put.capability = peer_.window.capability;
  put.address = staging_nla_ + at;
  put.offset = at;
  put.length = static_cast<std::uint32_t>(sizeof(header) + length);
  put.more = peer_.event;
  if (queue_.insert({&put, 1}).accepted == 0) return ChannelResult::QueueFull;
  ++sent_;
  --credits_;
  return ChannelResult::Done;
}

template <std::uint32_t kReplenish, class Queue, class Events>
void BasicChannelReceiver<kReplenish, Queue, Events>::give_back() noexcept {
  if (has_slot_) ++freed_;
  has_slot_ = false;
  if (freed_ < kReplenish) return;
  Command credit;
  credit.operation = Operation::Signal;
  credit.target_node = peer_.node;
  credit.target_vpid = peer_.vpid;
  credit.more = peer_.event;
  // If the command ring is full it is reported at the next call.
  if (queue_.insert({&credit, 1}).accepted == 1) freed_ -= kReplenish;
}

template <std::uint32_t kReplenish, class Queue, class Events>
std::span<const std::byte> BasicChannelReceiver<kReplenish, Queue, Events>::take() noexcept {
  while (events_.poll(message_event_)) {
    if (const std::span<const std::byte> message = next_slot(); !message.empty()) return message;
  }
  return {};
}

/// Empty: it is damaged. Its event has been taken.
template <std::uint32_t kReplenish, class Queue, class Events>
std::span<const std::byte> BasicChannelReceiver<kReplenish, Queue, Events>::next_slot() noexcept {
  const std::byte* const slot = ring_.data() + received_ % layout_.slots * layout_.slot_bytes;
  ChannelSlot header;
  std::memcpy(&header, slot, sizeof(header));
  ++received_;
  has_slot_ = true;
  if (header.number == received_ && header.length != 0 && header.length <= layout_.max_message()) {
    return {slot + sizeof(header), header.length};
  }
  ++damaged_;
  give_back();
  return {};
}

template <std::uint32_t kReplenish, class Queue, class Events>
std::span<const std::byte> BasicChannelReceiver<kReplenish, Queue, Events>::receive_taken() noexcept {
  give_back();
  return next_slot();
}

template <std::uint32_t kReplenish, class Queue, class Events>
std::span<const std::byte> BasicChannelReceiver<kReplenish, Queue, Events>::receive() noexcept {
  give_back();
  return take();
}

template <std::uint32_t kReplenish, class Queue, class Events>
std::span<const std::byte> BasicChannelReceiver<kReplenish, Queue, Events>::receive(
    std::chrono::nanoseconds timeout) noexcept {
  const std::span<const std::byte> message = receive();
  if (!message.empty() || !events_.await(message_event_, timeout)) return message;
  return take();
}

}  // namespace stopbit::nic
