#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/appliance/settings.hpp"
#include "host/ports/port.hpp"

/// What becomes of the channels of a running appliance when its settings are read again. Pure: nothing here opens or
/// changes anything.
namespace stopbit::appliance {

/// What the running appliance has made for some of its channels, and cannot change.
struct RunningOutput {
  std::size_t feed = 0;  ///< Index of Settings::feeds.
  std::string ring;
  std::string image;
  std::uint16_t contexts = 0;   ///< Numbers of channels from 0 that its engines have room for.
  std::array<bool, 3> rules{};  ///< By ResetRule: there is an engine.
  std::string map = {};         ///< Empty: no market events.
  std::uint32_t depth = 0;
  std::string events = {};
  std::vector<bool> market = {};  ///< By number: records become market events.
};

/// A channel of settings.
struct ChannelPlace {
  std::size_t feed = 0;     ///< Index of Settings::feeds,
  std::size_t channel = 0;  ///< and of the channel in it.
  friend bool operator==(const ChannelPlace&, const ChannelPlace&) = default;
};

/// One channel, known by its name.
struct ChannelChange {
  enum class What : std::uint8_t {
    Stays,  ///< It loses nothing, and keeps its counters.
    Moves,  ///< The same, with other lines or sources; a group is as before.
    Anew,   ///< It ends, and another one of its name begins. Counters begin at 0.
    Added,
    Removed,
  };
  What what = What::Stays;
  std::string name;
  std::optional<ChannelPlace> before = {};  ///< In the running settings.
  std::optional<ChannelPlace> after = {};   ///< In the wanted settings.
  bool goes_on = false;                     ///< Anew: its numbers are those of the channel before.
  std::optional<std::size_t> output = {};   ///< Of those that run; nothing: a new one.
};

/// An output that is to be made, for channels of one feed, ring and image.
struct WantedOutput {
  std::size_t feed = 0;  ///< Index of the wanted feeds.
  std::string ring;
  std::size_t image = 0;                  ///< Of the wanted feed.
  std::vector<std::size_t> changes = {};  ///< Its channels: indices of ChannelChanges::channels.
};

/// Groups of a port that are joined and left.
struct PortGroups {
  std::size_t port = 0;  ///< Index of the running settings' ports.
  std::vector<ingest::Membership> join;
  std::vector<ingest::Membership> leave;
};

struct ChannelChanges {
  /// The wanted feeds, with the indices of ports and agents of the running settings.
  std::vector<FeedSettings> feeds;
  std::vector<std::optional<std::size_t>> feed_before;  ///< By wanted feed: the running one that it continues.
  std::vector<ChannelChange> channels;
  std::vector<WantedOutput> outputs;
  std::vector<PortGroups> ports;
  /// Keys whose change needs a restart, with the reason: then no channel changes.
  std::vector<std::string> obstacles;

  /// Nothing changes but calendars.
  [[nodiscard]] bool is_empty() const noexcept;
  [[nodiscard]] std::size_t count(ChannelChange::What what) const noexcept;
};

/// Compares settings that are right in themselves. `outputs`: by their index in the appliance; those that have ended
/// have no channel of `running`.
[[nodiscard]] ChannelChanges compare_channels(const Settings& running, const Settings& wanted,
                                              std::span<const RunningOutput> outputs);

/// For people: "2 channels added (x, y), 1 removed (z)".
[[nodiscard]] std::string to_text(const ChannelChanges& changes);

}  // namespace stopbit::appliance
