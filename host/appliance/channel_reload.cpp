// Appliance: channels that are added, removed and changed while it runs.

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include "host/appliance/appliance.hpp"
#include "host/appliance/distribution.hpp"
#include "host/appliance/opener/client.hpp"
#include "host/ports/recorder/file_name.hpp"

namespace stopbit::appliance {

/// All of it is made before anything of the running appliance changes. What is dropped leaves its groups and takes down
/// its rings; counters that were added stay, and are found by their names the next time.
struct Appliance::PreparedChannels {
  /// Of a channel that begins.
  struct Begun {
    ChannelEntry entry;
    std::uint32_t index = 0;  ///< Of Appliance::channels_; the next free ones for new names.
    bool is_new_name = false;
    std::shared_ptr<LiveChannel> channel;
  };
  /// Of a channel that goes on, and says something else of itself.
  struct Other {
    std::uint32_t index = 0;
    ChannelEntry entry;
  };
  struct Output {
    std::size_t index = 0;  ///< Of Appliance::outputs_: of one that has ended, or the next.
    std::unique_ptr<RecordOutput> output;
    RecordOutputEntry entry;
  };

  ChannelChanges changes;
  std::map<std::string, Begun> begun;  ///< By name.
  std::map<std::string, Other> others;
  std::vector<Output> outputs;  ///< As changes.outputs.
  std::vector<std::size_t> ended;
  std::map<std::size_t, std::unique_ptr<RosterChange>> rosters;        ///< By agent.
  std::map<std::size_t, std::unique_ptr<ingest::GroupChange>> groups;  ///< By port of the settings.
  std::map<std::string, std::uint64_t> slots;                          ///< Of new rings.
  std::vector<NewRecordedLine> lines;                                  ///< That the recorder does not know.
  std::optional<std::vector<CountedOffer>> offers;                     ///< All rings, for the broker and [[publish]].
  std::vector<std::string> notes;
};

void Appliance::DropChannels::operator()(PreparedChannels* channels) const noexcept {
  delete channels;
}

namespace {

/// A line that the recorder does not know.
bool has_new_line(const feed::Channel& channel, const RecordLines& record_as) {
  return (channel.lines[0] && record_as[0] == kNotRecorded) || (channel.lines[1] && record_as[1] == kNotRecorded);
}

}  // namespace

std::uint32_t Appliance::entry_of(const std::string& channel) const noexcept {
  const auto found = std::find_if(channels_.begin(), channels_.end(),
                                  [&](const ChannelEntry& entry) { return entry.description.name == channel; });
  return static_cast<std::uint32_t>(found - channels_.begin());
}

RunningOutput Appliance::running_output(std::size_t output) const {
  const RecordOutputEntry& entry = output_entries_[output];
  const RecordOutputPlan& plan = outputs_[output]->plan();
  return {.feed = entry.feed,
          .ring = plan.ring,
          .image = entry.image_name,
          .contexts = plan.channels,
          .rules = plan.rules,
          .map = plan.events.map,
          .depth = plan.events.depth,
          .events = plan.events.ring,
          .market = plan.events.channels};
}

ChannelChanges Appliance::compare_channels(const Settings& wanted) const {
  std::vector<RunningOutput> outputs;
  for (std::size_t o = 0; o < outputs_.size(); ++o) outputs.push_back(running_output(o));
  return appliance::compare_channels(settings_, wanted, outputs);
}

Result<Appliance::ReadyChannels> Appliance::prepare_channels(const Settings& wanted, ChannelChanges changes,
                                                             Diagnostics& diagnostics) {
  if (std::string busy = why_busy(); !busy.empty()) return Failure{std::move(busy)};
  ReadyChannels ready(new PreparedChannels);
  ready->changes = std::move(changes);
  if (ready->changes.is_empty()) return ready;
  std::size_t new_names = 0;
  for (const ChannelChange& change : ready->changes.channels) {
    const std::size_t agent =
        change.after ? ready->changes.feeds[change.after->feed].agent : settings_.feeds[change.before->feed].agent;
    if (change.what != ChannelChange::What::Stays && has_ended(agent)) {
      return Failure{"channel '" + change.name + "': the ports of its agent have ended"};
    }
    if (change.what == ChannelChange::What::Added && entry_of(change.name) == channels_.size()) ++new_names;
  }
  if (added_channels_ + new_names > kSpareChannels) {
    return Failure{"there is room for " + std::to_string(kSpareChannels - added_channels_) +
                   " further channels until a restart, and " + std::to_string(new_names) + " would be added"};
  }
  // What is most likely to fail comes first.
  if (Status done = join_groups(*ready, ready->changes); !done) return done.failure();
  if (Status done = make_new_outputs(*ready, wanted, diagnostics); !done) return done.failure();
  if (Status done = make_new_counters(*ready, wanted); !done) return done.failure();
  if (Status done = start_new_outputs(*ready, diagnostics); !done) return done.failure();
  make_rosters(*ready);
  return ready;
}

Status Appliance::join_groups(PreparedChannels& to, const ChannelChanges& changes) {
  for (const PortGroups& groups : changes.ports) {
    const PortSettings& port = settings_.ports[groups.port];
    ingest::Port& open = *agents_[port.agent]->ports()[port_places_[groups.port]].port;
    auto change = open.prepare_groups(groups.join, groups.leave, to.notes);
    if (!change) return Failure{"port '" + port.name + "': " + change.message()};
    to.groups[groups.port] = std::move(change).value();
  }
  return Done{};
}

/// That of another output of the image, or of its files.
std::shared_ptr<const Program> Appliance::program_for(const PreparedChannels& of, const WantedOutput& output) const {
  const auto& before = of.changes.feed_before[output.feed];
  const std::string& image = of.changes.feeds[output.feed].description.images[output.image].name;
  for (const RecordOutputEntry& entry : output_entries_) {
    if (before && entry.feed == *before && entry.image_name == image) return entry.program;
  }
  for (const PreparedChannels::Output& made : of.outputs) {
    if (made.entry.feed == output.feed && made.entry.image_name == image) return made.entry.program;
  }
  return nullptr;
}

/// Places of outputs that have ended and are taken down, but for those that a writer of books has not given up yet:
/// rings that come and go take no further memory.
std::vector<std::size_t> Appliance::free_outputs() const {
  std::vector<std::size_t> free;
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    if (has_output_ended(o) && outputs_[o]->save_queue() == nullptr) free.push_back(o);
  }
  return free;
}

Status Appliance::make_new_outputs(PreparedChannels& to, const Settings& wanted, Diagnostics& diagnostics) {
  const std::vector<std::size_t> free = free_outputs();
  for (const WantedOutput& output : to.changes.outputs) {
    const FeedSettings& feed = to.changes.feeds[output.feed];
    const feed::Image& image = feed.description.images[output.image];
    const ChannelChange& first = to.changes.channels[output.changes.front()];
    const feed::Channel& channel = feed.description.channels[first.after->channel];
    std::shared_ptr<const Program> program = program_for(to, output);
    if (program == nullptr) {
      auto loaded = load_image(image, diagnostics, opener_);
      if (!loaded) return Failure{"the image '" + image.name + "' cannot be used"};
      program = std::make_shared<const Program>(std::move(*loaded));
    }
    RecordOutputPlan plan = plan_output(feed, channel, wanted.slots_of(channel.ring));
    plan.events.slots = wanted.slots_of(plan.events.ring);
    const std::size_t i = to.outputs.size();
    const std::size_t index = i < free.size() ? free[i] : outputs_.size() + i - free.size();
    plan.index = static_cast<std::uint32_t>(index);
    to.slots[channel.ring] = plan.slots;
    if (!plan.events.ring.empty()) to.slots[plan.events.ring] = plan.events.slots;
    // The name of one without a ring is taken by those that have ended, too.
    std::string label =
        channel.ring.empty() ? "(none) " + feed.description.name + " " + image.name + " " + channel.name : channel.ring;
    to.outputs.push_back({.index = index,
                          .output = std::make_unique<RecordOutput>(std::move(plan), std::move(label)),
                          .entry = {.program = std::move(program),
                                    .feed = output.feed,
                                    .image = output.image,
                                    .image_name = image.name,
                                    .agent = feed.agent}});
  }
  return Done{};
}

/// Lines that the recorder does not know get its next indices. Their files are called as the next process would call
/// them; a name that is in use waits for that process.
void Appliance::plan_new_lines(PreparedChannels& to, const Settings& wanted) {
  if (!recording_) return;
  std::map<std::size_t, std::size_t> next;  // by agent
  for (const RecordedLine& line : recorded_lines(wanted)) {
    const std::string& channel = wanted.feeds[line.feed].description.channels[line.channel].name;
    const auto begun = to.begun.find(channel);
    if (begun == to.begun.end()) continue;
    ChannelEntry& entry = begun->second.entry;
    std::uint32_t& index = entry.record_as[line.is_b ? 1 : 0];
    // The opener writes the files of lines that the settings named at the start.
    const std::string first = recorder::to_text({.line = line.name, .number = 1});
    const bool can_write = opener_ == nullptr || opener_->name_of(settings_.recorder->folder + "/" + first);
    if (index != kNotRecorded || !can_write || !recording_->has_room(to.lines.size() + 1, line.name)) continue;
    index = static_cast<std::uint32_t>(recording_->lines(entry.agent) + next[entry.agent]++);
    to.lines.push_back(
        {.agent = entry.agent, .file_name = line.name, .channel = channel, .is_b = line.is_b, .counter_set = {}});
  }
}

/// Rows of new channels and rings, and of channels that say something else of themselves.
Status Appliance::make_new_counters(PreparedChannels& to, const Settings& wanted) {
  CounterSetBuilder builder;
  std::uint32_t next_index = static_cast<std::uint32_t>(channels_.size());
  for (const PreparedChannels::Output& made : to.outputs) {
    builder.writer();
    add_output_counters(builder, *made.output, *made.entry.program);
  }
  for (const ChannelChange& change : to.changes.channels) {
    if (change.what == ChannelChange::What::Removed || change.what == ChannelChange::What::Stays) continue;
    const FeedSettings& feed = to.changes.feeds[change.after->feed];
    const feed::Channel& channel = feed.description.channels[change.after->channel];
    const std::uint32_t known = entry_of(change.name);
    const bool is_new_name = known == channels_.size();
    ChannelEntry entry;
    if (!is_new_name) entry = channels_[known];
    entry.description = channel;
    entry.feed = feed.description.name;
    entry.feed_index = change.after->feed;
    if (change.what == ChannelChange::What::Moves) {
      to.others[change.name] = {.index = known, .entry = std::move(entry)};
      continue;
    }
    if (is_new_name || entry.agent != feed.agent) entry.record_as = {kNotRecorded, kNotRecorded};
    if (change.what == ChannelChange::What::Added) entry.added_ns = clocks_.monotonic();
    entry.agent = feed.agent;
    entry.counter_set = {};
    to.begun[change.name] = {.entry = std::move(entry),
                             .index = is_new_name ? next_index++ : known,
                             .is_new_name = is_new_name,
                             .channel = nullptr};
  }
  plan_new_lines(to, wanted);
  if (distribution_ && wanted.nic) {
    builder.writer();
    to.offers.emplace();
    for (const OfferedRing& ring : wanted.nic->rings) to.offers->push_back({.ring = ring});
    if (Status can = Distribution::can_offer(wanted.nic->rings); !can) return can;
    for (CountedOffer& offer : *to.offers) {
      if (!settings_.nic->broker.empty()) builder.offer(offer.counter_set, offer.ring.name);
    }
  }
  builder.writer();
  for (NewRecordedLine& line : to.lines) builder.record(line.counter_set, line.channel, line.is_b);
  // By agents, whose counters share no lines of the cache.
  for (auto& [name, begun] : to.begun) {
    builder.writer();
    builder.channel(begun.entry.counter_set, name, begun.entry.description.lines[1].has_value());
  }
  builder.writer();
  for (auto& [name, begun] : to.begun) {
    add_session(builder, begun.entry.session, name);
    add_channel_info(builder, begun.entry, to.changes.feeds[begun.entry.feed_index]);
  }
  for (auto& [name, other] : to.others) {
    add_channel_info(builder, other.entry, to.changes.feeds[other.entry.feed_index]);
  }
  return builder.extend(*segment_);
}

Status Appliance::start_new_outputs(PreparedChannels& to, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < to.outputs.size(); ++i) {
    PreparedChannels::Output& made = to.outputs[i];
    const Visit visit(places_[made.entry.agent]);
    const EventPlan& plan = made.output->plan().events;
    std::optional<market::Map> map;
    if (!plan.map.empty()) {
      map = load_map(plan.map, plan.depth, *made.entry.program, diagnostics, opener_);
      if (!map) return Failure{"the map '" + plan.map + "' cannot be used"};
    }
    auto load = made.output->prepare(made.entry.image_name, made.entry.program, 0, std::move(map));
    if (!load) return Failure{load.message()};
    if (!load.value()->note.empty()) to.notes.push_back(load.value()->note);
    (void)made.output->start(std::move(load).value(), clocks_.wall());
    (void)save_from_here(*made.output);
    // Of another ring of the name.
    made.output->counter_set().ended.set(0);
    if (!plan.map.empty()) made.output->market_counter_set().ended.set(0);
  }
  return Done{};
}

void Appliance::make_rosters(PreparedChannels& to) {
  std::vector<bool> is_used(outputs_.size());
  for (const ChannelChange& change : to.changes.channels) {
    if (change.after && change.output) is_used[*change.output] = true;
  }
  for (std::size_t a = 0; a < agents_.size(); ++a) {
    auto change = std::make_unique<RosterChange>(feed::kMaxChannels);
    change->new_place.assign(agents_[a]->channels().size(), feed::ChannelSet::kGone);
    to.rosters[a] = std::move(change);
  }
  for (const ChannelChange& change : to.changes.channels) {
    if (change.what != ChannelChange::What::Removed) add_to_roster(to, change);
  }
  for (const ChannelChange& change : to.changes.channels) {
    if (change.what != ChannelChange::What::Removed) continue;
    const std::size_t agent = settings_.feeds[change.before->feed].agent;
    const auto& channels = agents_[agent]->channels();
    const auto found = std::find_if(channels.begin(), channels.end(),
                                    [&](const auto& one) { return one->description().name == change.name; });
    to.rosters[agent]->leave.push_back(static_cast<std::uint32_t>(found - channels.begin()));
  }
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    const RecordOutputEntry& entry = output_entries_[o];
    if (entry.feed == kNone) continue;
    RosterChange& roster = *to.rosters[entry.agent];
    (is_used[o] ? roster.roster.outputs : roster.ended).push_back(outputs_[o].get());
    if (!is_used[o]) to.ended.push_back(o);
  }
  for (const PreparedChannels::Output& made : to.outputs) {
    to.rosters[made.entry.agent]->roster.outputs.push_back(made.output.get());
  }
  for (auto& [port, groups] : to.groups) {
    to.rosters[settings_.ports[port].agent]->ports.push_back({.port = port_places_[port], .groups = std::move(groups)});
  }
  // Agents without a change are left alone.
  std::erase_if(to.rosters, [this](const auto& one) {
    const auto& [agent, change] = one;
    return change->begun.empty() && change->leave.empty() && change->lines.empty() && change->ports.empty() &&
           change->ended.empty() && change->roster.outputs.size() == agents_[agent]->outputs().size();
  });
}

void Appliance::add_to_roster(PreparedChannels& to, const ChannelChange& change) {
  const FeedSettings& feed = to.changes.feeds[change.after->feed];
  const feed::Channel& channel = feed.description.channels[change.after->channel];
  Agent& agent = *agents_[feed.agent];
  RosterChange& roster = *to.rosters[feed.agent];
  const auto& present = agent.channels();
  const auto before = static_cast<std::size_t>(
      std::find_if(present.begin(), present.end(),
                   [&](const auto& one) { return change.before && one->description().name == change.name; }) -
      present.begin());
  const auto place = static_cast<std::uint32_t>(roster.roster.channels.size());
  if (change.what == ChannelChange::What::Stays || change.what == ChannelChange::What::Moves) {
    roster.new_place[before] = place;
    roster.roster.add(present[before], channel.lines);
    if (change.what == ChannelChange::What::Moves) roster.lines.push_back({.place = place, .lines = channel.lines});
    return;
  }
  PreparedChannels::Begun& begun = to.begun.at(change.name);
  RecordOutput* output = change.output ? outputs_[*change.output].get() : nullptr;
  begun.entry.output = change.output.value_or(0);
  for (std::size_t i = 0; output == nullptr && i < to.outputs.size(); ++i) {
    const WantedOutput& wanted = to.changes.outputs[i];
    if (wanted.feed != change.after->feed || wanted.ring != channel.ring || wanted.image != channel.image) continue;
    output = to.outputs[i].output.get();
    begun.entry.output = to.outputs[i].index;
  }
  const Visit visit(places_[feed.agent]);
  const bool has_run =
      channel.role != feed::Role::Carousel && arbitrate::options_for(channel.framing).sequence_bits != 0;
  KnownRun* run = nullptr;
  if (has_run)
    run = change.what == ChannelChange::What::Anew ? runs_.place(begun.index)
                                                   : runs_.take_place(begun.index, change.name);
  begun.channel =
      agent.make_channel(channel, begun.index, *output, begun.entry.counter_set, begun.entry.record_as, run);
  roster.roster.add(begun.channel, channel.lines);
  const bool has_before = change.before && before < present.size();
  roster.begun.push_back({.place = place,
                          .before = has_before ? static_cast<std::uint32_t>(before) : feed::ChannelSet::kGone,
                          .goes_on = change.goes_on});
}

std::vector<std::string> Appliance::notes_of(const PreparedChannels& channels) const {
  std::vector<std::string> notes = channels.notes;
  const bool has_new_lines = std::any_of(channels.begun.begin(), channels.begun.end(), [](const auto& begun) {
    return has_new_line(begun.second.entry.description, begun.second.entry.record_as);
  });
  if (recording_ && has_new_lines) notes.emplace_back("packets of some added lines are not recorded until a restart");
  for (const ChannelChange& change : channels.changes.channels) {
    if (change.what != ChannelChange::What::Removed) continue;
    const feed::Channel& gone = settings_.feeds[change.before->feed].description.channels[change.before->channel];
    const std::size_t output = channels_[entry_of(change.name)].output;
    const bool ends = std::find(channels.ended.begin(), channels.ended.end(), output) != channels.ended.end();
    if (gone.map.empty() || ends) continue;
    const bool is_recovery = gone.role == feed::Role::Snapshot || gone.role == feed::Role::Carousel;
    const std::string what = is_recovery ? " has no more snapshots from '" : " loses books of '";
    notes.push_back("the ring '" + gone.events + "'" + what + gone.name + "', and only a restart brings them back");
  }
  const auto has_ring = [](const PreparedChannels::Output& made) { return !made.output->plan().ring.empty(); };
  if (settings_.nic && !channels.offers && std::any_of(channels.outputs.begin(), channels.outputs.end(), has_ring)) {
    notes.emplace_back("the broker and [[publish]] have no new rings until a restart");
  }
  return notes;
}

std::vector<std::string> Appliance::change_channels(ReadyChannels ready) {
  PreparedChannels& channels = *ready;
  std::vector<std::string> notes = notes_of(channels);
  // Readers of the counters see the channels before the change, or those after it.
  housekeeper_counter_set_.channels_version.add();
  std::atomic_thread_fence(std::memory_order_release);
  end_outputs(channels.ended);
  renumber_feeds(channels.changes);
  take_new_outputs(channels);
  take_new_entries(channels);
  std::atomic_thread_fence(std::memory_order_release);
  housekeeper_counter_set_.channels_version.add();
  for (const NewRecordedLine& line : channels.lines) recording_->add(line);
  if (channels.offers) distribution_->offer(std::move(*channels.offers));
  for (const auto& [ring, slots] : channels.slots) settings_.rings[ring] = slots;
  settings_.feeds = std::move(channels.changes.feeds);
  for (auto& [agent, roster] : channels.rosters) {
    if (agents_[agent]->changes().push(std::move(roster))) ++pending_changes_;  // there is room: none is pending
  }
  note_sessions({.wall_ns = clocks_.wall(), .monotonic_ns = clocks_.monotonic()});
  return notes;
}

void Appliance::end_outputs(const std::vector<std::size_t>& ended) {
  for (const std::size_t o : ended) {
    output_entries_[o].feed = kNone;
    outputs_[o]->counter_set().ended.set(1);
    if (!outputs_[o]->plan().events.map.empty()) outputs_[o]->market_counter_set().ended.set(1);
  }
}

/// Feeds and images have other indices in the wanted settings. A feed of an output that goes on is in both.
void Appliance::renumber_feeds(const ChannelChanges& changes) {
  const auto& before = changes.feed_before;
  for (RecordOutputEntry& entry : output_entries_) {
    if (entry.feed == kNone) continue;
    const auto feed = std::find(before.begin(), before.end(), std::optional(entry.feed));
    entry.feed = static_cast<std::size_t>(feed - before.begin());
    const auto& images = changes.feeds[entry.feed].description.images;
    entry.image = static_cast<std::size_t>(
        std::find_if(images.begin(), images.end(), [&](const auto& image) { return image.name == entry.image_name; }) -
        images.begin());
  }
  for (ReplaySettings& replay : settings_.replays) {
    const auto feed = std::find(before.begin(), before.end(), std::optional(replay.feed));
    if (feed != before.end()) replay.feed = static_cast<std::size_t>(feed - before.begin());
  }
}

void Appliance::take_new_outputs(PreparedChannels& from) {
  for (PreparedChannels::Output& made : from.outputs) {
    if (made.index == outputs_.size()) {
      outputs_.emplace_back();
      output_entries_.emplace_back();
    }
    output_entries_[made.index] = std::move(made.entry);
    outputs_[made.index] = std::move(made.output);
  }
}

void Appliance::take_new_entries(PreparedChannels& from) {
  for (const ChannelChange& change : from.changes.channels) {
    if (change.what == ChannelChange::What::Removed) {
      ChannelEntry& entry = channels_[entry_of(change.name)];
      entry.feed_index = kNone;
      entry.info.set(0);
    } else if (change.what == ChannelChange::What::Stays) {
      channels_[entry_of(change.name)].feed_index = change.after->feed;
    }
  }
  for (auto& [name, other] : from.others) replace_entry(other.index, std::move(other.entry));
  // New names take the next indices, in the order in which they got them.
  std::vector<PreparedChannels::Begun*> begun;
  for (auto& [name, one] : from.begun) begun.push_back(&one);
  std::sort(begun.begin(), begun.end(), [](const auto* left, const auto* right) { return left->index < right->index; });
  for (PreparedChannels::Begun* const one : begun) {
    if (one->is_new_name) {
      ++added_channels_;
      channels_.push_back(std::move(one->entry));
      channels_.back().info.set(1);
    } else {
      replace_entry(one->index, std::move(one->entry));
    }
  }
}

void Appliance::replace_entry(std::uint32_t index, ChannelEntry entry) {
  channels_[index].info.set(0);
  channels_[index] = std::move(entry);
  channels_[index].info.set(1);
}

/// Channels, sockets and rings that agents have given back.
void Appliance::retire_changes() {
  std::unique_ptr<RosterChange> old;
  for (std::size_t a = 0; a < agents_.size(); ++a) {
    Agent* const agent = agents_[a].get();
    if (pending_changes_ != 0 && has_ended(a)) agent->take_changes();
    while (agent->changed().pop(old)) {
      for (RecordOutput* const output : old->ended) {
        if (output->load() != nullptr && output->load()->on_card != nullptr) on_card_ = nullptr;
        output->release();
      }
      old.reset();
      --pending_changes_;
    }
  }
}

}  // namespace stopbit::appliance
