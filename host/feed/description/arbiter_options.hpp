#pragma once

#include "host/feed/arbitrate/arbiter.hpp"
#include "host/feed/description/description.hpp"

namespace stopbit::feed {

/// How a channel is arbitrated.
[[nodiscard]] inline arbitrate::Options arbiter_options(const Channel& channel) {
  arbitrate::Options options = arbitrate::options_for(channel.framing);
  options.ordered = channel.mode == Mode::Ordered;
  options.carousel = channel.role == Role::Carousel;
  options.window_packets = channel.window.packets;
  options.window_ns = channel.window.time_ns;
  options.room_packets = channel.window.room;
  options.datagram_bytes = channel.window.datagram_bytes;
  options.switch_silence_ns = channel.switch_silence_ns;
  options.lines = {channel.lines[0].has_value(), channel.lines[1].has_value()};
  return options;
}

}  // namespace stopbit::feed
