#pragma once

#include <algorithm>
#include <vector>

#include "host/lab/network/names.hpp"

namespace stopbit::network {

/// Free slots of the buffers at the ends of all channels, as their senders count them. A flow (traffic class and
/// virtual channel) has a reserve of its own; what is above the reserves is shared.
class CreditBank {
 public:
  CreditBank(std::size_t channels, std::uint32_t flows, std::uint32_t slots, std::uint32_t reserve)
      : flows_(flows),
        reserve_(reserve),
        free_(channels, slots),
        kept_(channels, flows * reserve),
        used_(channels * flows) {}

  /// Whether a packet of at most `slots` slots can be sent. The other flows keep what they have not used of their
  /// reserves.
  [[nodiscard]] bool can_send(ChannelId channel, std::uint32_t flow, std::uint32_t slots) const noexcept {
    return free_[channel] >= slots + kept_[channel] - unused(channel, flow);
  }
  void take(ChannelId channel, std::uint32_t flow, std::uint32_t slots) noexcept {
    const std::uint32_t before = unused(channel, flow);
    free_[channel] -= slots;
    used_[channel * flows_ + flow] += slots;
    kept_[channel] -= before - unused(channel, flow);
  }
  void give_back(ChannelId channel, std::uint32_t flow, std::uint32_t slots) noexcept {
    const std::uint32_t before = unused(channel, flow);
    free_[channel] += slots;
    used_[channel * flows_ + flow] -= slots;
    kept_[channel] += unused(channel, flow) - before;
  }
  [[nodiscard]] std::uint32_t used(ChannelId channel, std::uint32_t flow) const noexcept {
    return used_[channel * flows_ + flow];
  }
  [[nodiscard]] std::uint32_t free(ChannelId channel) const noexcept { return free_[channel]; }
  /// Whether the flow holds slots that others could use.
  [[nodiscard]] bool is_over_reserve(ChannelId channel, std::uint32_t flow) const noexcept {
    return used(channel, flow) > reserve_;
  }

 private:
  [[nodiscard]] std::uint32_t unused(ChannelId channel, std::uint32_t flow) const noexcept {
    return reserve_ - std::min(reserve_, used(channel, flow));
  }

  std::uint32_t flows_;
  std::uint32_t reserve_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> kept_;  ///< By channel: the unused parts of all reserves.
  std::vector<std::uint32_t> used_;  ///< By channel and flow.
};

}  // namespace stopbit::network
