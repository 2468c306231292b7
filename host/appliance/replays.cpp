// Appliance: replay services, and the channels that ask them.

#include <algorithm>
#include <utility>

#include "host/appliance/appliance.hpp"
#include "host/os/shm/read_file.hpp"
#include "host/refill/dialects.hpp"

namespace stopbit::appliance {
namespace {

/// Exchanges count connections by where they come from and by whom.
std::string quota_name(const ReplaySettings& replay) {
  return net::to_text(replay.address) + " " + replay.sender + " " + replay.user;
}

}  // namespace

/// Replay services, and the channels that ask them.
Status Appliance::make_replays() {
  if (settings_.replays.empty()) return Done{};
  std::vector<std::string> names;
  std::vector<net::Endpoint> addresses;
  for (const ReplaySettings& replay : settings_.replays) {
    names.push_back(quota_name(replay));
    addresses.push_back(replay.address);
  }
  if (const Status opened = quota_.open(settings_.state_folder, names); !opened) {
    return Failure{"[[replay]]: " + opened.message()};
  }
  replay_desk_ = std::make_unique<ReplayDesk>(clocks_, std::move(addresses), opener_);
  for (std::size_t i = 0; i < settings_.replays.size(); ++i) {
    if (const Status made = make_replay(i); !made) {
      return Failure{"[[replay]] '" + settings_.replays[i].name + "': " + made.message()};
    }
  }
  for (const auto& agent : agents_) {
    if (agent->replay() != nullptr) replay_desk_->add(*agent->replay());
  }
  return Done{};
}

Status Appliance::make_replay(std::size_t number) {
  const ReplaySettings& replay = settings_.replays[number];
  const Result<std::string> password = os::read_secret(replay.password_file);
  if (!password) return password.failure();
  if (quota_.used(number).is_damaged) {
    note("replay '" + replay.name +
         "': the file of its quota is damaged; no connection is made until the exchange's next day");
  }
  ReplayService& service = replay_desk_->add({.name = replay.name, .limits = replay.limits, .place = number}, number,
                                             quota_, replay_counter_sets_[number]);
  const std::vector<feed::Channel>& channels = settings_.feeds[replay.feed].description.channels;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    if (channels[c].replay.empty()) continue;
    auto dialect = refill::make_dialect(replay.dialect, {.sender = replay.sender,
                                                         .target = replay.target,
                                                         .user = replay.user,
                                                         .password = password.value(),
                                                         .feed = channels[c].replay});
    if (!dialect) return dialect.failure();
    const Status added = add_replay_feed(service, std::move(dialect).value(), {replay.feed, c});
    if (!added) return Failure{"channel '" + channels[c].name + "': " + added.message()};
  }
  return Done{};
}

Status Appliance::add_replay_feed(ReplayService& service, std::unique_ptr<refill::Dialect> dialect,
                                  const std::pair<std::size_t, std::size_t>& of) {
  const FeedSettings& feed = settings_.feeds[of.first];
  const feed::Channel& channel = feed.description.channels[of.second];
  const std::size_t output = output_of_.at(of);
  const std::shared_ptr<const Program>& program = output_entries_[output].program;
  const AnswerReader reader(program, settings_.limits);
  if (const std::string why = reader.why_not(dialect->logs_on_in_fast()); !why.empty()) {
    return Failure{"answers cannot be read: " + why};
  }
  Agent& agent = *agents_[feed.agent];
  const auto found = std::find_if(agent.channels().begin(), agent.channels().end(),
                                  [&](const auto& other) { return other->description().name == channel.name; });
  const std::uint32_t key = agent.add_asking(*found);
  (*found)->ask_by(*agent.replay(), key);
  replay_feeds_.emplace_back(output, &service.add(std::move(dialect), key, *agent.replay(), program, settings_.limits));
  return Done{};
}

}  // namespace stopbit::appliance
