#include "host/appliance/channel_changes.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "host/feed/channel/datagram_decoder.hpp"

namespace stopbit::appliance {
namespace {

using What = ChannelChange::What;
using Lines = std::array<std::optional<feed::Line>, 2>;

/// Which of the lines A and B there are.
std::pair<bool, bool> presence(const Lines& lines) {
  return {lines[0].has_value(), lines[1].has_value()};
}

/// Where the packets of a line come in.
struct Inlet {
  std::size_t port = 0;
  feed::Line line;
  friend bool operator==(const Inlet&, const Inlet&) = default;
};

std::vector<Inlet> inlets(const FeedSettings& feed, const feed::Channel& channel) {
  std::vector<Inlet> found;
  for (std::size_t i = 0; i < channel.lines.size(); ++i) {
    if (channel.lines[i]) found.push_back({feed.ports[i], *channel.lines[i]});
  }
  return found;
}

/// Its senders do not matter: packets that have arrived are known by their numbers, and arrive again on a socket with
/// another filter.
bool shares_a_group(const std::vector<Inlet>& left, const std::vector<Inlet>& right) {
  return std::any_of(left.begin(), left.end(), [&](const Inlet& one) {
    return std::any_of(right.begin(), right.end(),
                       [&](const Inlet& other) { return one.line.group == other.line.group; });
  });
}

bool is_same_arbitration(const feed::Channel& left, const feed::Channel& right) {
  return left.role == right.role && left.mode == right.mode && left.window == right.window &&
         left.switch_silence_ns == right.switch_silence_ns && left.framing == right.framing &&
         presence(left.lines) == presence(right.lines);
}

class Comparison {
 public:
  Comparison(const Settings& running, const Settings& wanted, std::span<const RunningOutput> outputs)
      : running_(running), wanted_(wanted), outputs_(outputs) {}

  ChannelChanges compare() {
    match_feeds();
    if (!changes_.obstacles.empty()) return std::move(changes_);
    for (std::size_t f = 0; f < running_.feeds.size(); ++f) {
      const auto& channels = running_.feeds[f].description.channels;
      for (std::size_t c = 0; c < channels.size(); ++c) before_[channels[c].name] = {f, c};
    }
    for (std::size_t f = 0; f < changes_.feeds.size(); ++f) {
      for (std::size_t c = 0; c < changes_.feeds[f].description.channels.size(); ++c) compare_channel({f, c});
    }
    for (const auto& [name, place] : before_) {
      if (replay_of(running_, place).empty()) {
        changes_.channels.push_back({.what = What::Removed, .name = name, .before = place});
      } else {
        obstacle(running_.feeds[place.feed], name, "replay", "a channel with a replay service cannot be removed");
      }
    }
    check_outputs();
    compare_groups();
    return std::move(changes_);
  }

 private:
  void obstacle(const FeedSettings& feed, const std::string& channel, const std::string& key, const std::string& why) {
    changes_.obstacles.push_back(feed.file + ": channel[" + channel + "]." + key + " (" + why + ")");
  }
  void feed_obstacle(const FeedSettings& feed, const std::string& key, const std::string& why) {
    changes_.obstacles.push_back("feed[" + feed.file + "]." + key + " (" + why + ")");
  }

  /// What the replay service calls a channel that asks one; empty: it does not.
  static std::string replay_of(const Settings& settings, ChannelPlace place) {
    const bool is_asked = std::any_of(settings.replays.begin(), settings.replays.end(),
                                      [&](const ReplaySettings& replay) { return replay.feed == place.feed; });
    return is_asked ? settings.feeds[place.feed].description.channels[place.channel].replay : std::string();
  }

  /// A feed continues one of the same file, thread and name. Those that share all of these continue in their order.
  void match_feeds() {
    std::vector<bool> is_taken(running_.feeds.size());
    for (const FeedSettings& feed : wanted_.feeds) {
      FeedSettings& here = changes_.feeds.emplace_back(feed);
      changes_.feed_before.emplace_back();
      for (std::size_t line = 0; line < here.ports.size(); ++line) {
        const std::string& name = wanted_.ports[feed.ports[line]].name;
        const auto port = std::find_if(running_.ports.begin(), running_.ports.end(),
                                       [&](const PortSettings& other) { return other.name == name; });
        here.ports[line] = 0;
        if (port == running_.ports.end()) {
          feed_obstacle(feed, line == 0 ? "a" : "b", "the port '" + name + "' is not open");
        } else {
          here.ports[line] = static_cast<std::size_t>(port - running_.ports.begin());
        }
      }
      here.agent = running_.ports[here.ports[0]].agent;
      if (running_.ports[here.ports[1]].agent != here.agent) feed_obstacle(feed, "b", "its port has another agent");
      for (std::size_t f = 0; f < running_.feeds.size(); ++f) {
        const FeedSettings& before = running_.feeds[f];
        if (is_taken[f] || before.file != feed.file) continue;
        if (before.description.name != feed.description.name) {
          changes_.obstacles.push_back(feed.file + ": name (counters are known by it)");
        } else if (before.agent != here.agent) {
          feed_obstacle(feed, "a", "a feed stays with its agent");
        } else {
          check_images(before, feed);
        }
        is_taken[f] = true;
        changes_.feed_before.back() = f;
        break;
      }
    }
  }

  void check_images(const FeedSettings& before, const FeedSettings& after) {
    for (const feed::Image& image : before.description.images) {
      const auto& images = after.description.images;
      const auto same = std::find_if(images.begin(), images.end(),
                                     [&](const feed::Image& other) { return other.name == image.name; });
      if (same == images.end() || !(*same == image)) {
        changes_.obstacles.push_back(after.file + ": image[" + image.name + "] (its files stay those of the start)");
      }
    }
  }

  [[nodiscard]] const feed::Channel& before(ChannelPlace place) const {
    return running_.feeds[place.feed].description.channels[place.channel];
  }
  [[nodiscard]] const feed::Channel& after(ChannelPlace place) const {
    return changes_.feeds[place.feed].description.channels[place.channel];
  }
  [[nodiscard]] const std::string& image_of(const FeedSettings& feed, const feed::Channel& channel) const {
    return feed.description.images[channel.image].name;
  }

  /// The output that a channel's records would go to.
  [[nodiscard]] std::optional<std::size_t> output_of(std::optional<std::size_t> feed, const std::string& ring,
                                                     const std::string& image) const {
    for (std::size_t o = 0; feed && o < outputs_.size(); ++o) {
      if (outputs_[o].feed == *feed && outputs_[o].ring == ring && outputs_[o].image == image) return o;
    }
    return std::nullopt;
  }

  void compare_channel(ChannelPlace place) {
    const FeedSettings& feed = changes_.feeds[place.feed];
    const feed::Channel& channel = after(place);
    ChannelChange change{.what = What::Added, .name = channel.name, .after = place};
    change.output = output_of(changes_.feed_before[place.feed], channel.ring, image_of(feed, channel));
    if (const auto known = before_.find(channel.name); known != before_.end()) {
      change.before = known->second;
      before_.erase(known);
      judge(change);
    } else if (!channel.replay.empty() && is_asked(place)) {
      obstacle(feed, channel.name, "replay", "the replay service does not learn of it");
    }
    if (change.what == What::Added || change.what == What::Anew) check_room(change);
    changes_.channels.push_back(std::move(change));
  }

  [[nodiscard]] bool is_asked(ChannelPlace place) const {
    const auto& feed = changes_.feed_before[place.feed];
    return std::any_of(running_.replays.begin(), running_.replays.end(),
                       [&](const ReplaySettings& replay) { return feed && replay.feed == *feed; });
  }

  /// What becomes of a channel that there was before.
  void judge(ChannelChange& change) {
    const FeedSettings& old_feed = running_.feeds[change.before->feed];
    const FeedSettings& new_feed = changes_.feeds[change.after->feed];
    const feed::Channel& old = before(*change.before);
    const feed::Channel& now = after(*change.after);
    const auto old_output = output_of(change.before->feed, old.ring, image_of(old_feed, old));
    const bool is_same_place = change.output && change.output == old_output && old.number == now.number;
    const auto old_lines = inlets(old_feed, old);
    const auto new_lines = inlets(new_feed, now);
    const bool shares = shares_a_group(old_lines, new_lines);
    if (is_same_place && is_same_arbitration(old, now) && (old_lines == new_lines || shares)) {
      change.what = old_lines == new_lines ? What::Stays : What::Moves;
    } else {
      change.what = What::Anew;
      change.goes_on = is_same_place && shares && old.role == now.role && old.framing == now.framing;
    }
    if (old_feed.agent != new_feed.agent) {
      return feed_obstacle(new_feed, "a", "the channel '" + now.name + "' would go to another agent");
    }
    if (old.replay != now.replay && (is_asked(*change.after) || !replay_of(running_, *change.before).empty())) {
      obstacle(new_feed, now.name, "replay", "the replay service knows the name of the start");
    } else if (change.what == What::Anew && !replay_of(running_, *change.before).empty()) {
      obstacle(new_feed, now.name, "replay", "a channel with a replay service can only change its lines");
    }
    if (is_same_place) check_market(change, old, now, new_feed);
  }

  /// Books stay as they were planned when the ring was made.
  void check_market(const ChannelChange& change, const feed::Channel& old, const feed::Channel& now,
                    const FeedSettings& feed) {
    const std::string why = "the ring '" + now.ring + "' has been made with the books of the start";
    if (old.map != now.map) obstacle(feed, change.name, "map", why);
    if (old.map.empty() && now.map.empty()) return;
    if (old.depth != now.depth) obstacle(feed, change.name, "depth", why);
    if (old.events != now.events) obstacle(feed, change.name, "events", why);
    if (old.recovers != now.recovers) obstacle(feed, change.name, "recovers", why);
    if (old.cycle_ns != now.cycle_ns) obstacle(feed, change.name, "cycle", why);
    if (old.role != now.role) obstacle(feed, change.name, "role", why);
  }

  /// Whether an output that runs can take a channel.
  void check_room(const ChannelChange& change) {
    if (!change.output) return;
    const FeedSettings& feed = changes_.feeds[change.after->feed];
    const feed::Channel& channel = after(*change.after);
    const RunningOutput& output = outputs_[*change.output];
    const std::string ring = channel.ring.empty() ? "what its records go to" : "the ring '" + channel.ring + "'";
    if (channel.number >= output.contexts) {
      obstacle(feed, change.name, "number",
               ring + " has been made for numbers below " + std::to_string(output.contexts));
    }
    if (!output.rules[static_cast<std::size_t>(feed::engine_rule(channel.framing))]) {
      obstacle(feed, change.name, "framing", ring + " has no engine with its reset rule; give it a ring of its own");
    }
    if (channel.map.empty() && channel.number < output.market.size() && output.market[channel.number]) {
      obstacle(feed, change.name, "number", ring + " makes market events of this number");
    }
    const bool is_its_place = change.before && before(*change.before).number == channel.number &&
                              change.before->feed == output.feed && before(*change.before).ring == channel.ring;
    if (!channel.map.empty() && !is_its_place) {
      obstacle(feed, change.name, "map", ring + " exists, and books join a ring only when it is made");
    }
  }

  /// Outputs that are to be made: their rings must be new.
  void check_outputs() {
    std::map<std::pair<std::size_t, std::pair<std::string, std::size_t>>, std::size_t> known;
    for (std::size_t i = 0; i < changes_.channels.size(); ++i) {
      const ChannelChange& change = changes_.channels[i];
      if (!change.after || change.output) continue;
      const FeedSettings& feed = changes_.feeds[change.after->feed];
      const feed::Channel& channel = after(*change.after);
      const auto [found, is_new] =
          known.try_emplace({change.after->feed, {channel.ring, channel.image}}, changes_.outputs.size());
      if (is_new)
        changes_.outputs.push_back({.feed = change.after->feed, .ring = channel.ring, .image = channel.image});
      changes_.outputs[found->second].changes.push_back(i);
      for (const auto& [key, name] : {std::pair("ring", &channel.ring), std::pair("events", &channel.events)}) {
        const std::string& ring = *name;
        if (ring.empty()) continue;
        const bool exists = std::any_of(running_.feeds.begin(), running_.feeds.end(), [&](const FeedSettings& other) {
          const auto& channels = other.description.channels;
          return std::any_of(channels.begin(), channels.end(),
                             [&](const feed::Channel& one) { return one.ring == ring || one.events == ring; });
        });
        if (exists) obstacle(feed, change.name, key, "the ring '" + ring + "' exists, of another image or feed");
        if (wanted_.nic && wanted_.nic->patience_ns(ring)) {
          obstacle(feed, change.name, key, "the ring '" + ring + "' would be lossless");
        }
      }
    }
  }

  /// Groups by port, each once, in the order of the settings.
  static std::map<std::size_t, std::vector<ingest::Membership>> groups_of(const std::vector<FeedSettings>& feeds) {
    std::map<std::size_t, std::vector<ingest::Membership>> groups;
    for (const FeedSettings& feed : feeds) {
      for (const feed::Channel& channel : feed.description.channels) {
        for (const Inlet& inlet : inlets(feed, channel)) {
          const ingest::Membership one{.group = inlet.line.group, .source = inlet.line.source};
          auto& all = groups[inlet.port];
          if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
        }
      }
    }
    return groups;
  }

  void compare_groups() {
    auto before = groups_of(running_.feeds);
    auto after = groups_of(changes_.feeds);
    for (std::size_t port = 0; port < running_.ports.size(); ++port) {
      const auto without = [](const auto& from, const auto& others) {
        std::vector<ingest::Membership> rest;
        for (const ingest::Membership& one : from) {
          if (std::find(others.begin(), others.end(), one) == others.end()) rest.push_back(one);
        }
        return rest;
      };
      PortGroups groups{
          .port = port, .join = without(after[port], before[port]), .leave = without(before[port], after[port])};
      if (!groups.join.empty() || !groups.leave.empty()) changes_.ports.push_back(std::move(groups));
    }
  }

  const Settings& running_;
  const Settings& wanted_;
  std::span<const RunningOutput> outputs_;
  ChannelChanges changes_;
  std::map<std::string, ChannelPlace> before_;  ///< Channels that run, and are not met yet.
};

}  // namespace

bool ChannelChanges::is_empty() const noexcept {
  return std::all_of(channels.begin(), channels.end(),
                     [](const ChannelChange& change) { return change.what == What::Stays; });
}

std::size_t ChannelChanges::count(What what) const noexcept {
  return static_cast<std::size_t>(std::count_if(channels.begin(), channels.end(),
                                                [&](const ChannelChange& change) { return change.what == what; }));
}

ChannelChanges compare_channels(const Settings& running, const Settings& wanted,
                                std::span<const RunningOutput> outputs) {
  return Comparison(running, wanted, outputs).compare();
}

std::string to_text(const ChannelChanges& changes) {
  constexpr std::size_t kMostNames = 8;
  constexpr std::pair<What, const char*> kWords[] = {{What::Added, "added"},
                                                     {What::Removed, "removed"},
                                                     {What::Moves, "with other lines"},
                                                     {What::Anew, "begun anew"}};
  std::string text;
  for (const auto& [what, word] : kWords) {
    const std::size_t count = changes.count(what);
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count) +
            (!text.empty() ? " "
             : count == 1  ? " channel "
                           : " channels ") +
            word + " (";
    std::size_t named = 0;
    for (const ChannelChange& change : changes.channels) {
      if (change.what != what || named == kMostNames) continue;
      text += (named++ == 0 ? "" : ", ") + change.name;
    }
    text += count > kMostNames ? ", ...)" : ")";
  }
  return text;
}

}  // namespace stopbit::appliance
