#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/feed/channel/channel_decoder.hpp"
#include "host/feed/description/line_table.hpp"
#include "host/feed/packet/packet.hpp"

namespace stopbit::feed {

/// Whose time a datagram's t is: the monotonic clock's, or that of a capture which is played beside live ports.
enum class Timeline : std::uint8_t { Present, Capture };

/// The channels of one thread: finds the channel and line of a datagram, and closes windows when they are due. The same
/// calls give the same records in the same order, whoever calls. Allocates when channels are added, never later.
class ChannelSet {
 public:
  /// Room for `channels`.
  explicit ChannelSet(std::size_t channels) : lines_(2 * channels) {
    places_.reserve(channels);
    for (Waiting& waiting : waiting_) waiting.channels.reserve(channels);
  }

  /// Adds a channel, which must outlive the set. Channels are numbered from 0 in the order of the calls.
  void add(ChannelDecoder& channel) { add(channel, channel.description().lines); }
  /// The same with other lines than its description has.
  void add(ChannelDecoder& channel, const std::array<std::optional<Line>, 2>& lines) {
    const auto index = static_cast<std::uint32_t>(places_.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto& line = lines[i];
      if (line) lines_.add(line->group, line->source, {.channel = index, .line = static_cast<arbitrate::Line>(i)});
    }
    places_.push_back({.channel = &channel});
    for (Waiting& waiting : waiting_) waiting.channels.reserve(places_.size());
  }

  /// By new_index: the channel of another set is not in this one.
  static constexpr std::uint32_t kGone = 0xFFFF'FFFF;
  /// Goes on in place of another set, whose channel i is `new_index[i]` here: what waits there waits here. Allocates
  /// nothing.
  void continue_from(const ChannelSet& before, std::span<const std::uint32_t> new_index) noexcept {
    for (std::size_t timeline = 0; timeline < waiting_.size(); ++timeline) {
      Waiting& waiting = waiting_[timeline];
      for (const std::uint32_t index : before.waiting_[timeline].channels) {
        const std::uint32_t here = new_index[index];
        if (here == kGone) continue;
        places_[here].is_waiting = true;
        waiting.channels.push_back(here);  // within its reserve, as no channel waits twice
      }
      std::sort(waiting.channels.begin(), waiting.channels.end());
      waiting.next_deadline_ns = before.waiting_[timeline].next_deadline_ns;  // at worst too early
    }
  }

  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }
  /// Whether tick may have something to do, at some time.
  [[nodiscard]] bool has_deadline(Timeline timeline) const noexcept {
    return waiting_[static_cast<std::size_t>(timeline)].next_deadline_ns != kNoDeadline;
  }

  /// Null: the datagram belongs to no line.
  [[nodiscard]] const LineTarget* find(net::Endpoint destination, std::uint32_t source) const noexcept {
    return lines_.find(destination, source);
  }

  void take(const LineTarget& target, const Received& received, Timeline timeline = Timeline::Present) noexcept {
    Place& place = places_[target.channel];
    place.channel->take(target.line, received);
    const auto deadline = place.channel->next_deadline();
    if (!deadline) return;
    Waiting& waiting = waiting_[static_cast<std::size_t>(timeline)];
    waiting.next_deadline_ns = std::min(waiting.next_deadline_ns, *deadline);
    if (place.is_waiting) return;
    place.is_waiting = true;
    const auto at = std::upper_bound(waiting.channels.begin(), waiting.channels.end(), target.channel);
    waiting.channels.insert(at, target.channel);  // within its reserve
  }

  /// Every datagram with a t below this has been taken: closes the windows that are due, in the order of the channels,
  /// so that the result does not depend on which of them share a set. Calls `ticked(index)` for each channel for which
  /// it did.
  template <class Ticked>
  void tick(std::uint64_t until_t_ns, const Ticked& ticked, Timeline timeline = Timeline::Present) noexcept {
    Waiting& waiting = waiting_[static_cast<std::size_t>(timeline)];
    if (until_t_ns < waiting.next_deadline_ns) return;
    waiting.next_deadline_ns = kNoDeadline;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < waiting.channels.size(); ++i) {
      const std::uint32_t index = waiting.channels[i];
      Place& place = places_[index];
      auto deadline = place.channel->next_deadline();
      if (deadline && *deadline <= until_t_ns) {
        place.channel->tick(until_t_ns);
        ticked(index);
        deadline = place.channel->next_deadline();
      }
      place.is_waiting = deadline.has_value();
      if (!deadline) continue;
      waiting.next_deadline_ns = std::min(waiting.next_deadline_ns, *deadline);
      waiting.channels[kept++] = index;
    }
    waiting.channels.resize(kept);
  }
  void tick(std::uint64_t until_t_ns) noexcept {
    tick(until_t_ns, [](std::uint32_t) {});
  }

  /// The end of one timeline: what waits there goes on, what is missing is lost.
  template <class Ticked>
  void finish(Timeline timeline, const Ticked& ticked) noexcept {
    Waiting& waiting = waiting_[static_cast<std::size_t>(timeline)];
    for (const std::uint32_t index : waiting.channels) {
      places_[index].channel->finish();
      places_[index].is_waiting = false;
      ticked(index);
    }
    waiting.channels.clear();
    waiting.next_deadline_ns = kNoDeadline;
  }
  /// The end: nothing is waited for any longer.
  void finish() noexcept {
    for (const Place& place : places_) place.channel->finish();
  }

 private:
  struct Place {
    ChannelDecoder* channel = nullptr;
    bool is_waiting = false;  ///< It has, or had, a deadline.
  };
  static constexpr std::uint64_t kNoDeadline = ~std::uint64_t{0};

  LineTable lines_;
  std::vector<Place> places_;
  struct Waiting {
    std::vector<std::uint32_t> channels;           ///< With a deadline; sorted.
    std::uint64_t next_deadline_ns = kNoDeadline;  ///< No channel's is earlier.
  };
  std::array<Waiting, 2> waiting_;  ///< By Timeline.
};

}  // namespace stopbit::feed
