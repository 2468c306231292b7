#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/appliance/live_channel.hpp"
#include "host/feed/channel/channel_set.hpp"
#include "host/ports/port.hpp"

namespace stopbit::appliance {

/// The channels and outputs of an agent. It changes them as a whole, between two turns.
struct Roster {
  /// Room for `room` channels.
  explicit Roster(std::size_t room) : set(room) {}

  /// A channel at the next place. `lines`: those that it is to have.
  void add(std::shared_ptr<LiveChannel> channel, const std::array<std::optional<feed::Line>, 2>& lines) {
    set.add(channel->decoder(), lines);
    channels.push_back(std::move(channel));
    dirty.reserve(channels.size());  // which never has a channel twice
  }

  std::vector<std::shared_ptr<LiveChannel>> channels;
  std::vector<RecordOutput*> outputs;
  feed::ChannelSet set;              ///< The decoders of `channels`, in the same order.
  std::vector<std::uint32_t> dirty;  ///< Channels whose counters are out of date.
};

/// Another roster for a running agent. Made by a thread that may take its time; the agent takes it, and gives back in
/// the same object what is to be destroyed.
struct RosterChange {
  explicit RosterChange(std::size_t room) : roster(room) {}

  /// A channel that begins.
  struct Begun {
    std::uint32_t place = 0;                         ///< In the next roster.
    std::uint32_t before = feed::ChannelSet::kGone;  ///< Present place of the channel of its name, if there is one.
    bool goes_on = false;                            ///< Its numbers are those of that one.
  };
  /// A channel that goes on with other lines.
  struct OtherLines {
    std::uint32_t place = 0;  ///< In the next roster.
    std::array<std::optional<feed::Line>, 2> lines;
  };
  struct OtherGroups {
    std::size_t port = 0;  ///< Of the agent.
    std::unique_ptr<ingest::GroupChange> groups;
  };

  Roster roster;                         ///< The next one; afterwards the one before.
  std::vector<std::uint32_t> new_place;  ///< By present place: that in the next roster, or feed::ChannelSet::kGone.
  std::vector<Begun> begun;
  std::vector<std::uint32_t> leave;  ///< Present places of channels that end without a successor.
  std::vector<OtherLines> lines;
  std::vector<RecordOutput*> ended;  ///< Outputs that are not in the next roster.
  std::vector<OtherGroups> ports;
};

}  // namespace stopbit::appliance
