#pragma once

#include <cstdint>

namespace stopbit::feed {

/// Settings of a channel outside feed.toml. The same defaults for live feeds and replays.
struct ChannelOptions {
  std::uint32_t stale_after = 3;  ///< Datagrams in a row that do not decode; 0: never stale.
};

}  // namespace stopbit::feed
