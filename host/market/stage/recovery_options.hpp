#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "host/feed/arbitrate/options.hpp"
#include "host/feed/description/description.hpp"
#include "host/market/sync/options.hpp"

namespace stopbit::market {

/// What the description of a feed says of a channel.
struct ChannelPlan {
  std::uint16_t number = 0;
  bool has_increments = true;             ///< Else snapshots, definitions.
  std::uint8_t sequence_bits = 32;        ///< Of its packets' numbers; 0: they have none.
  std::optional<std::uint16_t> recovers;  ///< Of snapshots: the channel whose books they heal.
  std::uint64_t cycle_ns = 0;             ///< Of snapshots: all of them come this often; 0: not known.
};

/// Of the channels for which `takes` says so.
template <class Takes>
[[nodiscard]] std::vector<ChannelPlan> plan_channels(const feed::Description& feed, const Takes& takes) {
  std::vector<ChannelPlan> plans;
  for (const feed::Channel& channel : feed.channels) {
    if (!takes(channel)) continue;
    ChannelPlan& plan = plans.emplace_back();
    plan.number = channel.number;
    plan.has_increments = channel.role == feed::Role::Incremental;
    plan.sequence_bits = arbitrate::options_for(channel.framing).sequence_bits;
    if (const feed::Channel* const other = feed::find_channel(feed, channel.recovers);
        !channel.recovers.empty() && other != nullptr && takes(*other)) {
      plan.recovers = other->number;
      plan.cycle_ns = channel.cycle_ns;
    }
  }
  return plans;
}

/// How books are kept right, and brought back.
struct RecoveryOptions {
  /// Empty: what each channel is shows in its messages, and `increments` of them may have increments.
  std::vector<ChannelPlan> channels = {};
  std::uint32_t increments = 4;
  Policy policy = Policy::Optimistic;
  bool refresh = true;
  std::uint32_t products = 4'096;  ///< Scopes of numbers that instruments share.
  std::uint32_t queued = 65'536;   ///< Events that wait; channels share them, but each has some.
  std::uint32_t holes = 65'536;    ///< Ranges of missing numbers, likewise.
  std::uint32_t picture = 65'536;  ///< Entries of one snapshot.
  std::uint64_t patience_ns = 0;   ///< A stale book waits this long for a replay before it goes on from nothing.

  /// A book that is stale for longer is a fault: a replay should have brought what it lacks, or the second cycle of
  /// snapshots. 0: neither is known.
  [[nodiscard]] std::uint64_t stale_limit_ns() const noexcept {
    if (patience_ns != 0) return patience_ns;
    std::uint64_t longest_ns = 0;
    for (const ChannelPlan& plan : channels) longest_ns = std::max(longest_ns, plan.cycle_ns);
    return longest_ns + longest_ns / 2;
  }
};

/// Of channels that nothing describes: what they are shows in their messages.
[[nodiscard]] inline RecoveryOptions recovery_of_captures(std::size_t channels) {
  // Each takes memory for every instrument.
  constexpr std::size_t kMost = 64;
  RecoveryOptions recovery;
  recovery.increments = static_cast<std::uint32_t>(std::clamp<std::size_t>(channels, 1, kMost));
  return recovery;
}

}  // namespace stopbit::market
