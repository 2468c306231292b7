#include "host/appliance/appliance.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "host/appliance/book_files.hpp"
#include "host/appliance/confinement.hpp"
#include "host/appliance/distribution.hpp"
#include "host/appliance/idle.hpp"
#include "host/appliance/republication.hpp"
#include "host/device/intake.hpp"
#include "host/os/random.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::size_t kOwnInfos = 3;  ///< Info counters of the appliance.
constexpr std::size_t kSpareNumbers = 16;
/// For the counters of Appliance::kSpareChannels channels of two lines, with names of 64 bytes, and of 16 rings with
/// 200 templates each.
constexpr counters::Schema::Room kRoomForCounters = {
    .entries = 8'192, .names_bytes = 1'536U << 10, .value_bytes = 768U << 10};

/// The name of an output, for people.
std::string label_of(const FeedSettings& feed, const feed::Channel& channel) {
  if (!channel.ring.empty()) return channel.ring;
  // Of feeds that share a file, the first channel says which one it is.
  const std::string part = feed.channels.empty() ? "" : " " + channel.name;
  return "(none) " + feed.description.name + " " + feed.description.images[channel.image].name + part;
}

/// The path as processes in other folders need it; as it is if the name of a counter has no room for that.
std::string absolute(const std::string& path) {
  constexpr std::size_t kRoom = 320;
  std::error_code error;
  std::string full = path.empty() ? path : std::filesystem::absolute(path, error).lexically_normal().string();
  return error || full.size() > kRoom ? path : full;
}

std::string address_of(const std::optional<feed::Line>& line) {
  if (!line) return {};
  std::string text = net::to_text(line->group);
  if (line->source) text += " from " + net::address_text(*line->source);
  return text;
}

/// Returns why the ring's memory is not where it should be; empty if it is.
std::string misplaced(const std::optional<ring::Writer>& ring, const ThreadPlacement& place) {
  if (!ring || !place.node) return {};
  const auto node = node_of_memory(ring->last_byte());
  if (!node || *node == *place.node) return {};
  return "ring '" + ring->path() + "' is on NUMA node " + std::to_string(*node) + ", not on node " +
         std::to_string(*place.node) + " of its agent; that node may be out of memory";
}

}  // namespace

/// Also locks memory mapped later, unless a limit could make that fail: privileges held now will have been dropped.
void Appliance::lock_memory() {
  rlimit limit{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  const bool is_unlimited = ::setrlimit(RLIMIT_MEMLOCK, &limit) == 0 ||
                            (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY);
  if (::mlockall(is_unlimited ? MCL_CURRENT | MCL_FUTURE : MCL_CURRENT) != 0) {
    note(std::string("memory is not locked: ") + std::strerror(errno));
  } else if (!is_unlimited) {
    note("memory allocated after the start is not locked: the limit of locked memory is " +
         std::to_string(limit.rlim_cur) + " bytes");
  }
}

Result<std::unique_ptr<Appliance>> Appliance::make(Settings settings, const MakeOptions& options,
                                                   Diagnostics& diagnostics) {
  std::unique_ptr<Appliance> made(new Appliance(std::move(settings), options.clocks));
  made->opener_ = options.opener;
  made->plan_places(options.topology);
  if (const Status done = made->make_outputs(diagnostics); !done) return done.failure();
  if (const Status done = made->lock_folders(); !done) return done.failure();
  made->plan_recording();
  if (const Status done = made->make_counters(options.has_private_counters); !done) return done.failure();
  if (made->recording_) {
    if (const Status done = made->recording_->open(made->places_); !done) return done.failure();
  }
  const OpenCard& open_card = options.open_card ? options.open_card : device::Card::open;
  if (const Status done = made->open_card(open_card); !done) return done.failure();
  if (const Status done = made->start_loads(diagnostics); !done) return done.failure();
  if (made->distribution_) {
    if (const Status done = made->distribution_->open(); !done) return done.failure();
  }
  for (const auto& republication : made->republications_) {
    if (const Status done = republication->open(options.clocks.wall()); !done) return done.failure();
  }
  made->step_desk_ = make_step_desk(made->settings_, options.clocks, options.opener);
  const OpenPort& open_port = options.open_port ? options.open_port
                                                : standard_ports(options.clocks.monotonic, made->settings_.dpdk_memory,
                                                                 options.opener, made->step_desk_.get());
  if (const Status done = made->make_agents(open_port); !done) return done.failure();
  if (const Status done = made->make_replays(); !done) return done.failure();
  if (made->settings_.lock_memory) made->lock_memory();
  return made;
}

Appliance::Appliance(Settings settings, Clocks clocks) : settings_(std::move(settings)), clocks_(std::move(clocks)) {}

Appliance::~Appliance() {
  stop();
  // Nothing was counted: there is nothing for late readers.
  if (segment_ && !has_started_) segment_->unlink();
}

void Appliance::note(std::string text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
}

Status Appliance::lock_folders() {
  std::vector<std::string> folders = {settings_.state_folder};
  if (settings_.recorder) folders.push_back(settings_.recorder->folder);
  for (const std::string& folder : folders) {
    if (std::any_of(locks_.begin(), locks_.end(), [&](const FolderLock& lock) { return lock.is_of(folder); })) continue;
    auto lock = FolderLock::take(folder, settings_.name);
    if (!lock) return Failure{lock.message()};
    if (!lock.value().warning().empty()) note(lock.value().warning());
    locks_.push_back(std::move(lock).value());
  }
  return Done{};
}

/// The memory of an agent comes from the node of its core; of one without a core, from the node of its ports.
void Appliance::plan_places(const Topology& topology) {
  for (std::size_t a = 0; a < settings_.agents.size(); ++a) {
    const AgentSettings& agent = settings_.agents[a];
    ThreadPlacement& place = places_.emplace_back();
    place.core = agent.core;
    if (agent.core) place.node = topology.node_of_core(*agent.core);
    for (const PortSettings& port : settings_.ports) {
      if (port.agent != a) continue;
      const ingest::Attachment device = port.source->attachment();
      auto node = topology.node_of_interface(device.interface);
      if (!node) node = topology.node_of_pci(device.pci_address);
      if (!place.node) place.node = node;
      if (node && node != place.node) {
        note("agent '" + agent.name + "' has its memory on NUMA node " + std::to_string(*place.node) + ", and port '" +
             port.name + "' is attached to node " + std::to_string(*node) + ": its packets cross between the nodes");
      }
    }
    if (const Visit visit(place); visit.node_error() != 0) {
      note("agent '" + agent.name + "' cannot have its memory on NUMA node " + std::to_string(*place.node) + ": " +
           std::strerror(visit.node_error()));
    }
  }
}

/// How long the ring's writer waits for readers; nothing: it never waits.
std::optional<ring::Patience> Appliance::patience_of(const std::string& ring) {
  const auto patience = settings_.nic ? settings_.nic->patience_ns(ring) : std::nullopt;
  if (!patience) return std::nullopt;
  return ring::Patience{.stuck_ns = *patience, .on_event = {}, .keep_waiting = [this] { return !stop_.load(); }};
}

bool Appliance::is_replayed(const FeedSettings& feed) const noexcept {
  return std::any_of(settings_.replays.begin(), settings_.replays.end(),
                     [&](const ReplaySettings& replay) { return &settings_.feeds[replay.feed] == &feed; });
}

/// Of all channels whose records go where the channel's do.
EventPlan Appliance::plan_events(const FeedSettings& feed, const feed::Channel& channel) {
  EventPlan plan;
  plan.room = {
      .instruments = settings_.books.instruments, .orders = settings_.books.orders, .levels = settings_.books.levels};
  const auto is_of_plan = [&](const feed::Channel& other) {
    return other.ring == channel.ring && other.image == channel.image && !other.map.empty();
  };
  plan.recovery.queued = settings_.books.queue;
  plan.recovery.policy = settings_.books.policy;
  plan.recovery.refresh = settings_.books.refresh;
  plan.recovery.channels = market::plan_channels(feed.description, is_of_plan);
  // A replay makes a book whole; going on from nothing does not.
  constexpr std::uint64_t kReplayPatienceNs = 1'000'000'000;
  if (is_replayed(feed)) plan.recovery.patience_ns = kReplayPatienceNs;
  for (const feed::Channel& other : feed.description.channels) {
    if (!is_of_plan(other)) continue;
    plan.map = other.map;
    plan.depth = other.depth;
    plan.ring = other.events;
    plan.slots = settings_.slots_of(other.events);
    plan.lossless = patience_of(other.events);
    plan.channels.resize(std::max<std::size_t>(plan.channels.size(), other.number + 1U));
    plan.channels[other.number] = true;
  }
  return plan;
}

/// Compiles the images, and finds out which channels share a ring, hence a program and engines.
Status Appliance::make_outputs(Diagnostics& diagnostics) {
  for (std::size_t f = 0; f < settings_.feeds.size(); ++f) {
    const FeedSettings& feed = settings_.feeds[f];
    auto& programs = programs_.emplace_back(feed.description.images.size());
    std::map<std::pair<std::string, std::size_t>, std::size_t> known;  // by ring and image
    for (std::size_t c = 0; c < feed.description.channels.size(); ++c) {
      const feed::Channel& channel = feed.description.channels[c];
      if (programs[channel.image] == nullptr) {
        auto program = load_image(feed.description.images[channel.image], diagnostics);
        if (!program) return Failure{"the image '" + feed.description.images[channel.image].name + "' cannot be used"};
        programs[channel.image] = std::make_shared<const Program>(std::move(*program));
      }
      const auto [found, is_new] = known.try_emplace({channel.ring, channel.image}, outputs_.size());
      if (is_new) {
        RecordOutputPlan plan = plan_output(feed, channel, settings_.slots_of(channel.ring));
        plan.index = static_cast<std::uint32_t>(outputs_.size());
        outputs_.push_back(std::make_unique<RecordOutput>(std::move(plan), label_of(feed, channel)));
        output_entries_.push_back({.program = programs[channel.image],
                                   .feed = f,
                                   .image = channel.image,
                                   .image_name = feed.description.images[channel.image].name,
                                   .agent = feed.agent});
      }
      output_of_[{f, c}] = found->second;
      ChannelEntry& entry = channels_.emplace_back();
      entry.description = channel;
      entry.feed = feed.description.name;
      entry.feed_index = f;
      entry.agent = feed.agent;
      entry.output = found->second;
    }
  }
  return Done{};
}

/// Of all channels of the feed whose records go where the channel's do.
RecordOutputPlan Appliance::plan_output(const FeedSettings& feed, const feed::Channel& channel, std::uint64_t slots) {
  RecordOutputPlan plan;
  plan.ring = channel.ring;
  plan.slots = slots;
  plan.lossless = patience_of(channel.ring);
  plan.events = plan_events(feed, channel);
  plan.engine = settings_.engine;
  plan.strict = settings_.strict;
  plan.limits = settings_.limits;
  for (const feed::Channel& other : feed.description.channels) {
    if (other.ring != channel.ring || other.image != channel.image) continue;
    plan.rules[static_cast<std::size_t>(feed::engine_rule(other.framing))] = true;
    plan.channels = std::max(plan.channels, static_cast<std::uint16_t>(other.number + 1));
  }
  // Contexts for channels that a reload adds. A card has few.
  if (!settings_.card) {
    plan.channels =
        static_cast<std::uint16_t>(std::min<std::size_t>(plan.channels + kSpareNumbers, feed::kMaxChannels));
  }
  return plan;
}

void Appliance::plan_recording() {
  if (!settings_.recorder) return;
  recording_ = std::make_unique<Recording>(*settings_.recorder, settings_.agents.size());
  std::size_t c = 0;
  for (const FeedSettings& feed : settings_.feeds) {
    for (const feed::Channel& channel : feed.description.channels) {
      channels_[c++].record_as = recording_->add(feed.agent, channel);
    }
  }
}

Status Appliance::make_counters(bool is_private) {
  CounterSetBuilder builder;
  agent_counter_sets_.resize(settings_.agents.size());
  port_counter_sets_.resize(settings_.ports.size());
  infos_.resize(kOwnInfos);
  builder.keep_room(kRoomForCounters);
  for (std::size_t a = 0; a < settings_.agents.size(); ++a) {
    builder.agent(agent_counter_sets_[a], settings_.agents[a].name);
    for (std::size_t p = 0; p < settings_.ports.size(); ++p) {
      if (settings_.ports[p].agent == a) builder.port(port_counter_sets_[p], settings_.ports[p].name);
    }
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      if (output_entries_[o].agent != a) continue;
      add_output_counters(builder, *outputs_[o], *programs_[output_entries_[o].feed][output_entries_[o].image]);
    }
    std::size_t c = 0;
    for (const FeedSettings& feed : settings_.feeds) {
      for (const feed::Channel& channel : feed.description.channels) {
        if (feed.agent == a) builder.channel(channels_[c].counter_set, channel.name, channel.lines[1].has_value());
        ++c;
      }
    }
  }
  if (recording_) recording_->add_counters(builder, settings_.agents);
  replay_counter_sets_.resize(settings_.replays.size());
  if (!settings_.replays.empty()) builder.writer();
  for (std::size_t i = 0; i < settings_.replays.size(); ++i) {
    builder.replay(replay_counter_sets_[i], settings_.replays[i].name);
  }
  if (settings_.nic) {
    distribution_ = std::make_unique<Distribution>(*settings_.nic);
    distribution_->add_counters(builder);
  }
  for (const MulticastSettings& multicast : settings_.multicasts) {
    republications_.push_back(std::make_unique<Republication>(multicast));
    republications_.back()->add_counters(builder);
  }
  if (has_card_port()) {
    builder.card(card_counter_set_);
    builder.port(card_port_counter_set_, "card:" + settings_.card->label());
  }
  builder.clock_steps(clock_steps_);
  builder.writer();
  builder.housekeeper(housekeeper_counter_set_);
  builder.info(infos_[0], "appliance_info",
               {{"name", settings_.name},
                {"state", absolute(settings_.state_folder)},
                {"silence_ns", std::to_string(settings_.silence_ns)}},
               "What the appliance is");
  builder.info(infos_[2], "settings_info", {{"file", settings_.file == "-" ? std::string() : absolute(settings_.file)}},
               "Where its settings are");
  builder.info(infos_[1], "control_info", {{"socket", absolute(settings_.control.socket)}},
               "Where the appliance takes commands");
  for (ChannelEntry& entry : channels_) add_session(builder, entry.session, entry.description.name);
  for (ChannelEntry& entry : channels_) add_channel_info(builder, entry, settings_.feeds[entry.feed_index]);
  Result<counters::Segment> segment = builder.build(is_private ? "" : settings_.name);
  if (!segment) return Failure{segment.message()};
  segment_.emplace(std::move(segment).value());
  for (const counters::Counter& info : infos_) info.set(1);
  for (const ChannelEntry& entry : channels_) entry.info.set(1);
  note_sessions({.wall_ns = clocks_.wall(), .monotonic_ns = clocks_.monotonic()});
  return Done{};
}

void Appliance::add_output_counters(CounterSetBuilder& builder, RecordOutput& output, const Program& program) {
  builder.output(output.counter_set(), output.label());
  if (!output.plan().events.map.empty()) builder.market(output.market_counter_set(), output.plan().events.ring);
  for (const Template& item : program.templates) {
    const std::string name(program.name(item.name));
    if (name.empty() || name.size() > counters::kTextBytes) continue;
    const auto [counter, is_new] = output.templates().try_emplace(name);
    if (is_new) builder.templates(counter->second, output.label(), counter->first);
  }
}

void Appliance::add_session(CounterSetBuilder& builder, counters::Counter& counter, const std::string& channel) {
  builder.info(counter, "channel_session", {{"channel", channel}},
               "Start of the open session of the channel's feed, monotonic clock in ns; 0: none is open; 1: the feed "
               "has no calendar.");
}

/// The description of a channel: each text has a row, and the one in force has the value 1.
void Appliance::add_channel_info(CounterSetBuilder& builder, ChannelEntry& entry, const FeedSettings& feed) {
  const feed::Channel& channel = entry.description;
  builder.info(entry.info, "channel_info",
               {{"channel", channel.name},
                {"number", std::to_string(channel.number)},
                {"feed", feed.description.name},
                {"role", feed::to_text(channel.role)},
                {"mode", feed::to_text(channel.mode)},
                {"ring", channel.ring},
                {"image", feed.description.images[channel.image].name},
                {"window_packets", std::to_string(channel.window.packets)},
                {"window_ns", std::to_string(channel.window.time_ns)},
                {"a", address_of(channel.lines[0])},
                {"b", address_of(channel.lines[1])}},
               "What the channel is; 0: what it was before its settings were read again.");
}

Status Appliance::open_card(const OpenCard& open) {
  if (!settings_.card) return Done{};
  const CardSettings& said = *settings_.card;
  auto card = open({.xclbin = said.xclbin,
                    .index = said.index,
                    .device = said.device,
                    .bar = said.bar,
                    .offset = said.offset,
                    .has_own_port = has_card_port()});
  if (!card) return Failure{"[card]: " + card.message()};
  card_ = std::move(card).value();
  return Done{};
}

Result<device::Card*> Appliance::card_for(std::size_t output) {
  if (card_ == nullptr) return nullptr;
  std::string why;
  if (!on_card_text_.empty()) {
    why = "it runs one program at a time, and runs that of '" + outputs_[card_output_]->label() + "'";
  } else {
    const RecordOutputEntry& entry = output_entries_[output];
    auto said = outputs_[output]->why_not_on(*card_, *programs_[entry.feed][entry.image]);
    if (!said) return Failure{"[card]: " + said.message()};
    why = std::move(said).value();
    if (has_card_port()) {
      const std::string more = why_not_from_port(output);
      if (!more.empty()) why += (why.empty() ? "" : "; ") + more;
    }
  }
  if (why.empty()) return card_.get();
  why = "the card does not decode '" + outputs_[output]->label() + "': " + why;
  if (!settings_.card->fallback) return Failure{std::move(why)};
  note(why + "; it is decoded in software");
  return nullptr;
}

std::vector<feed::Channel> Appliance::channels_of(std::size_t output) const {
  std::vector<feed::Channel> channels;
  for (const ChannelEntry& entry : channels_) {
    if (entry.output == output && entry.feed_index != kNone) channels.push_back(entry.description);
  }
  return channels;
}

std::string Appliance::why_not_from_port(std::size_t output) const {
  std::string out;
  const std::vector<feed::Channel> channels = channels_of(output);
  for (const std::string& obstacle : device::intake_obstacles(channels)) out += (out.empty() ? "" : "; ") + obstacle;
  const FeedSettings& feed = settings_.feeds[output_entries_[output].feed];
  const auto asks = [](const feed::Channel& channel) { return !channel.replay.empty(); };
  if (is_replayed(feed) && std::any_of(channels.begin(), channels.end(), asks)) {
    out += std::string(out.empty() ? "" : "; ") + "[[replay]]: only software asks for lost messages";
  }
  return out;
}

Result<std::unique_ptr<device::LiveCard>> Appliance::receive_on_card() const {
  const RecordOutputEntry& entry = output_entries_[card_output_];
  std::optional<device::StationOptions> station;
  if (settings_.card->mac) {
    // Stations that ask for the same groups must not answer in step.
    station = {.own = {.mac = *settings_.card->mac, .address = settings_.card->address}, .seed = clocks_.wall()};
  }
  return outputs_[card_output_]->receive_on(*card_, *programs_[entry.feed][entry.image], card_channels_,
                                            {.fcs = settings_.card->fcs,
                                             .mac_clock = settings_.card->clock == CardClock::Mac,
                                             .station = station,
                                             .wall = clocks_.wall});
}

Status Appliance::open_card_port() {
  card_channels_ = channels_of(card_output_);
  auto live = receive_on_card();
  if (!live) return Failure{"[card]: " + live.message()};
  live_card_ = std::move(live).value();
  return Done{};
}

Status Appliance::begin_card_port() {
  if (live_card_ == nullptr) return Done{};
  card_feed_ = std::make_unique<CardFeed>(std::move(live_card_), card_port_counter_set_, card_counter_set_);
  Agent& agent = *agents_[output_entries_[card_output_].agent];
  for (const auto& channel : agent.channels()) {
    if (&channel->output() == outputs_[card_output_].get()) card_feed_->add(*channel);
  }
  agent.set_card(*card_feed_);
  if (const Status done = card_feed_->begin(); !done) return Failure{"[card]: " + done.message()};
  return Done{};
}

Result<std::unique_ptr<Load>> Appliance::prepare(std::size_t output, std::shared_ptr<const Program> program,
                                                 std::uint16_t generation, Diagnostics& diagnostics,
                                                 device::Card* card) const {
  const EventPlan& plan = outputs_[output]->plan().events;
  std::optional<market::Map> map;
  if (!plan.map.empty()) {
    map = load_map(plan.map, plan.depth, *program, diagnostics, opener_);
    if (!map) return Failure{"the map '" + plan.map + "' cannot be used"};
  }
  return outputs_[output]->prepare(image_of(static_cast<std::uint32_t>(output)), std::move(program), generation,
                                   std::move(map), card);
}

Status Appliance::start_loads(Diagnostics& diagnostics) {
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    const RecordOutputEntry& entry = output_entries_[o];
    const Visit visit(places_[entry.agent]);
    const Result<device::Card*> card = card_for(o);
    if (!card) return card.failure();
    // A card with its own port works beside the engines of software, which can go on at any time.
    device::Card* const engine_card = has_card_port() ? nullptr : card.value();
    auto load = prepare(o, programs_[entry.feed][entry.image], entry.generation, diagnostics, engine_card);
    if (!load) return Failure{load.message()};
    if (card.value() != nullptr) {
      on_card_ = load.value()->on_card;
      card_output_ = o;
      on_card_text_ = outputs_[o]->label();
    }
    if (card.value() != nullptr && has_card_port()) {
      if (const Status done = open_card_port(); !done) return done.failure();
    }
    if (!load.value()->note.empty()) note(load.value()->note);
    if (const std::string place = misplaced(load.value()->ring, places_[entry.agent]); !place.empty()) note(place);
    (void)outputs_[o]->start(std::move(load).value(), clocks_.wall());
  }
  return Done{};
}

Status Appliance::make_agents(const OpenPort& open_port) {
  std::vector<std::unique_ptr<ingest::Port>> ports;
  port_places_.resize(settings_.ports.size());
  for (const PortSettings& settings : settings_.ports) {
    const Visit visit(settings.source->places_itself() ? ThreadPlacement{} : places_[settings.agent]);
    Result<std::unique_ptr<ingest::Port>> port = open_port(settings, notes_);
    if (!port) return Failure{"port '" + settings.name + "': " + port.message()};
    ports.push_back(std::move(port).value());
  }
  for (const FeedSettings& feed : settings_.feeds) {
    for (const feed::Channel& channel : feed.description.channels) {
      for (std::size_t line = 0; line < channel.lines.size(); ++line) {
        if (!channel.lines[line]) continue;
        const auto joined =
            ports[feed.ports[line]]->join({.group = channel.lines[line]->group, .source = channel.lines[line]->source});
        if (!joined) return Failure{"channel '" + channel.name + "': " + joined.message()};
      }
    }
  }
  note_open_groups();
  for (std::size_t a = 0; a < settings_.agents.size(); ++a) {
    Agent::Parts parts;
    parts.counter_set = &agent_counter_sets_[a];
    parts.batch = settings_.agents[a].batch;
    parts.channel_options = {.stale_after = settings_.stale_after};
    if (recording_) parts.recorder = &recording_->recorder(a);
    if (live_card_ && recording_ && output_entries_[card_output_].agent == a) parts.recorder->keep_history();
    const auto asks = [&](const FeedSettings& feed) { return feed.agent == a && is_replayed(feed); };
    if (std::any_of(settings_.feeds.begin(), settings_.feeds.end(), asks)) {
      parts.replay = std::make_unique<ReplayLink>();
    }
    for (std::size_t p = 0; p < ports.size(); ++p) {
      if (settings_.ports[p].agent != a) continue;
      for (const std::string& note : ports[p]->notes()) {
        notes_.push_back("port '" + settings_.ports[p].name + "': " + note);
      }
      port_places_[p] = parts.ports.size();
      parts.ports.push_back({.port = std::move(ports[p]),
                             .counter_set = &port_counter_sets_[p],
                             .is_live = settings_.ports[p].source->is_live()});
    }
    note_polled_ports(settings_.agents[a], parts.ports);
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      if (output_entries_[o].agent != a) continue;
      parts.outputs.push_back(outputs_[o].get());
    }
    const Visit visit(places_[a]);
    agents_.push_back(std::make_unique<Agent>(std::move(parts), clocks_));
  }
  open_runs();
  std::vector<std::vector<market::Translator::Left>> left(outputs_.size());
  std::uint32_t index = 0;
  for (std::size_t f = 0; f < settings_.feeds.size(); ++f) {
    const FeedSettings& feed = settings_.feeds[f];
    const Visit visit(places_[feed.agent]);
    for (std::size_t c = 0; c < feed.description.channels.size(); ++c, ++index) {
      const feed::Channel& channel = feed.description.channels[c];
      // A carousel begins anew all the time, and a framing without numbers has nothing to compare.
      const bool has_run =
          channel.role != feed::Role::Carousel && arbitrate::options_for(channel.framing).sequence_bits != 0;
      Agent& agent = *agents_[feed.agent];
      agent.add(channel, index, *outputs_[output_of_.at({f, c})], channels_[index].counter_set,
                channels_[index].record_as, has_run ? runs_.place(index) : nullptr);
      const auto known = has_run ? runs_.known(index) : std::nullopt;
      if (!known) continue;
      if (known->run.day == day_of_ns(clocks_.wall())) {
        agent.resume_after(agent.channels().size() - 1, known->run.sender, known->last);
        if (known->era == 0) continue;
        agent.channels().back()->expect_sender(known->run.sender);
        left[output_of_.at({f, c})].push_back({.channel = channel.number, .era = known->era, .last = known->last});
      } else {
        note("channel '" + channel.name +
             "': the saved sequence numbers are from another day; numbers lost while the "
             "appliance was down are not known");
      }
    }
  }
  for (std::size_t o = 0; o < outputs_.size(); ++o) take_over_books(o, left[o]);
  return begin_card_port();
}

bool Appliance::save_from_here(RecordOutput& output) const {
  market::Translator* const translator = output.translator();
  if (settings_.books.save_ns == 0 || translator == nullptr) return false;
  output.enable_saving();
  const std::vector<bool>& channels = output.plan().events.channels;
  for (std::size_t number = 0; number < channels.size(); ++number) {
    if (channels[number]) translator->begin_era(static_cast<std::uint16_t>(number), os::random_word());
  }
  return true;
}

void Appliance::take_over_books(std::size_t output, const std::vector<market::Translator::Left>& left) {
  RecordOutput& of = *outputs_[output];
  if (!save_from_here(of)) return;
  market::Translator* const translator = of.translator();
  for (const market::Translator::Left& one : left) translator->begin_era(one.channel, one.era);
  BookStart& start = book_starts_.emplace_back();
  start.output = output;
  const std::uint64_t now = clocks_.wall();
  const auto found = FoundBooks::find(settings_.state_folder, of.plan().events.ring, of.saved_head(now), now);
  if (!found) {
    start.why_not = found.message();
    return;
  }
  const market::SavedBooks& saved = found.value().books();
  start.saved_ns = saved.head().saved_ns;
  start.why_not = found.value().why_no_books();
  if (start.why_not.empty()) {
    const market::Translator::Restored restored = translator->restore(saved, left, now);
    start.instruments = restored.instruments;
    start.books = restored.books;
  } else {
    const std::uint64_t since = now - std::min(now, FoundBooks::kMostDefinitionAgeNs);
    const market::Translator::Restored restored = translator->restore_definitions(saved, since, now);
    start.instruments = restored.instruments;
    start.left_out = restored.left_out;
  }
  if (found.value().is_broken()) {
    // What was taken over is not what was checked.
    for (const market::Translator::Left& one : left) translator->begin_anew(one.channel, now);
    start.books = start.instruments = 0;
    start.why_not = "'" + found.value().path() + "' was cut while it was read";
  }
  of.market_counter_set().taken_over.set(start.books);
}

/// A port without interrupts keeps its thread from blocking, which costs some of a core day and night.
void Appliance::note_polled_ports(const AgentSettings& agent, const std::vector<AgentPort>& ports) {
  for (const AgentPort& port : ports) {
    if (agent.idle != Idle::Backoff || !port.is_live || port.port->wakes_by()) continue;
    note("agent '" + agent.name + "' looks every " + std::to_string(agent.sleep_ns / 1'000) +
         " us while it is idle: its port '" + std::string(port.port->name()) + "' cannot wake it");
  }
}

/// Groups that any host can send to: the next number of a stranger is believed there.
void Appliance::note_open_groups() {
  for (const FeedSettings& feed : settings_.feeds) {
    if (const std::string problem = feed::open_groups(feed.description); !problem.empty()) {
      note("feed '" + feed.description.name + "': " + problem);
    }
  }
}

/// What the process before has delivered. Without it the appliance runs as well, and does not see its own downtime.
void Appliance::open_runs() {
  if (settings_.state_folder.empty()) return;
  std::vector<std::string_view> names;
  for (const FeedSettings& feed : settings_.feeds) {
    for (const feed::Channel& channel : feed.description.channels) names.push_back(channel.name);
  }
  std::error_code ignored;  // the next step says it
  std::filesystem::create_directories(settings_.state_folder, ignored);
  if (const auto opened = runs_.open(settings_.state_folder, names, kSpareChannels); !opened) {
    note("numbers lost while the appliance is down will not be reported: " + opened.message());
  }
}

void Appliance::note_sessions(const Now& now) noexcept {
  for (const ChannelEntry& entry : channels_) {
    if (entry.feed_index == kNone) continue;
    const std::shared_ptr<const Calendar>& calendar = settings_.feeds[entry.feed_index].calendar;
    const auto since_ns = calendar ? calendar->open_since(now.wall_ns) : std::nullopt;
    // A channel that was added has the time of silence to begin.
    std::uint64_t value = calendar ? kNoSession : std::max(kAlwaysOpen, entry.added_ns);
    if (since_ns) {
      const std::uint64_t ago_ns = *since_ns < now.wall_ns ? now.wall_ns - *since_ns : 0;
      // The machine may have been started after the session.
      value = std::max({kAlwaysOpen + 1, entry.added_ns, now.monotonic_ns - std::min(ago_ns, now.monotonic_ns)});
    }
    entry.session.set(value);
  }
}

void Appliance::trust_clock(bool is_trusted) noexcept {
  for (const auto& agent : agents_) agent->trust_clock(is_trusted);
}

void Appliance::run(std::size_t agent, ThreadFilters* filters, ThreadKind kind) {
  Agent& worker = *agents_[agent];
  (void)prefer_node(places_[agent].node);  // a refusal was noted
  // Its own name: that of another thread is a file, which a confined process may not write.
  ::pthread_setname_np(::pthread_self(), settings_.agents[agent].name.substr(0, 15).c_str());
  if (filters != nullptr) filters->apply(kind);
  std::uint32_t quiet_turns = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (worker.do_work() != 0) {
      quiet_turns = 0;
      if (distribution_) distribution_->wake();
      continue;
    }
    if (worker.ended()) break;
    rest(agent, quiet_turns);
    quiet_turns += quiet_turns != std::numeric_limits<std::uint32_t>::max() ? 1 : 0;
  }
  worker.drain();
  ended_[agent].store(true, std::memory_order_release);
  running_.fetch_sub(1, std::memory_order_release);
}

void Appliance::rest(std::size_t agent, std::uint32_t quiet_turns) {
  const AgentSettings& settings = settings_.agents[agent];
  Agent& worker = *agents_[agent];
  // A card works on its own, and wakes no thread.
  const bool can_block = may_rest(settings, quiet_turns) && card_ == nullptr;
  const std::optional<int> waker = can_block ? worker.wakes_by() : std::nullopt;
  if (!waker) return idle(settings, quiet_turns);
  const std::uint64_t until = clocks_.monotonic() + std::chrono::nanoseconds(kLongestRest).count();
  worker.rested(until, wait_for(*waker, kLongestRest));
}

Status Appliance::start(ThreadFilters* filters) {
  const auto as = [filters](ThreadKind kind) -> std::function<void()> {
    if (filters == nullptr) return {};
    return [filters, kind] { filters->apply(kind); };
  };
  if (recording_) recording_->start(as(ThreadKind::Recorder));
  if (distribution_) distribution_->start(as(ThreadKind::Nic));
  for (const auto& republication : republications_) republication->start(as(ThreadKind::Nic));
  if (replay_desk_) replay_desk_->start(as(ThreadKind::Replay));
  if (step_desk_) step_desk_->start(as(ThreadKind::Replay));
  for (std::size_t a = 0; a < agents_.size(); ++a) {
    const AgentSettings& settings = settings_.agents[a];
    running_.fetch_add(1, std::memory_order_relaxed);
    // By this thread, which changes the feeds of the settings later.
    const ThreadKind kind = agent_kind(settings_, a);
    std::thread& thread = threads_.emplace_back([this, a, filters, kind] { run(a, filters, kind); });
    if (const std::string why = pin(thread, settings.core); !why.empty()) {
      return Failure{"agent '" + settings.name + "' " + why};
    }
  }
  has_started_ = true;
  return Done{};
}

bool Appliance::ended() const noexcept {
  if (!threads_.empty()) return running_.load(std::memory_order_acquire) == 0;
  return std::all_of(agents_.begin(), agents_.end(), [](const auto& agent) { return agent->ended(); });
}

void Appliance::stop() {
  if (std::exchange(stopped_, true)) return;
  stop_.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads_) thread.join();
  if (step_desk_) step_desk_->stop();
  if (replay_desk_) replay_desk_->stop();
  for (const auto& agent : agents_) agent->finish();
  if (recording_) recording_->stop();
  if (distribution_) distribution_->stop();
  for (const auto& republication : republications_) republication->stop();
  if (segment_) segment_->beat(clocks_.wall());
}

bool Appliance::next_event(AgentEvent& notice) {
  return std::any_of(agents_.begin(), agents_.end(), [&](const auto& agent) { return agent->notices().pop(notice); });
}

bool Appliance::next_error_sample(ErrorSample& sample) {
  return std::any_of(agents_.begin(), agents_.end(),
                     [&](const auto& agent) { return agent->error_samples().pop(sample); });
}

std::shared_ptr<const Program> Appliance::program_of(const ErrorSample& sample) const {
  const ChannelEntry& channel = channels_.at(sample.channel);
  if (channel.feed_index == kNone) return nullptr;
  const RecordOutputEntry& entry = output_entries_[channel.output];
  return entry.generation == sample.generation ? entry.program : nullptr;
}

std::shared_ptr<const Program> Appliance::program_of(std::string_view channel) const {
  const auto found = std::find_if(channels_.begin(), channels_.end(), [channel](const ChannelEntry& entry) {
    return entry.feed_index != kNone && entry.description.name == channel;
  });
  return found != channels_.end() ? output_entries_[found->output].program : nullptr;
}

std::string Appliance::why_busy() {
  retire();
  // Until then the agent changes what prepare looks at.
  if (pending_changes_ != 0) return "an earlier change of channels is still in progress";
  return pending_loads_ != 0 ? "an earlier image change is still in progress" : "";
}

Result<std::string> Appliance::change_over(const std::vector<Wanted>& wanted, Diagnostics& diagnostics) {
  for (std::size_t a = 0; a < agents_.size(); ++a) {
    const auto is_its = [&](const Wanted& one) { return output_entries_[one.output].agent == a; };
    if (static_cast<std::size_t>(std::count_if(wanted.begin(), wanted.end(), is_its)) > agents_[a]->loads().room()) {
      return Failure{"too many image changes are waiting; the previous image remains in use"};
    }
  }
  std::vector<std::pair<std::size_t, std::unique_ptr<Load>>> loads;
  for (const Wanted& one : wanted) {
    const RecordOutputEntry& entry = output_entries_[one.output];
    const Visit visit(places_[entry.agent]);
    auto load = prepare(one.output, one.program, static_cast<std::uint16_t>(entry.generation + 1), diagnostics);
    if (!load) return Failure{load.message() + "; the previous image remains in use"};
    loads.emplace_back(one.output, std::move(load).value());
  }
  // Only when all of it is good does anything change.
  std::string besides;
  for (auto& [o, load] : loads) {
    if ((on_card_ != nullptr || (card_feed_ && (card_feed_->is_live() || card_feed_->is_missed()))) &&
        o == card_output_) {
      besides = "; it runs in software until the appliance is restarted, because the card holds one program";
    }
    if (!push(o, std::move(load))) return Failure{"too many image changes are waiting"};  // there was room
  }
  return besides;
}

namespace {

std::string loading_text(const std::string& image, std::size_t rings, const std::string& besides) {
  return "the image '" + image + "' is loading into " + std::to_string(rings) + (rings == 1 ? " ring" : " rings") +
         besides;
}

}  // namespace

Result<std::string> Appliance::reload(const std::string& image, Diagnostics& diagnostics) {
  if (std::string busy = why_busy(); !busy.empty()) return Failure{std::move(busy)};
  std::vector<Wanted> wanted;
  for (std::size_t f = 0; f < settings_.feeds.size(); ++f) {
    const std::vector<feed::Image>& images = settings_.feeds[f].description.images;
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (images[i].name != image) continue;
      auto program = load_image(images[i], diagnostics, opener_);
      if (!program) return Failure{"the image '" + image + "' was rejected; the previous image remains in use"};
      const auto shared = std::make_shared<const Program>(std::move(*program));
      for (std::size_t o = 0; o < outputs_.size(); ++o) {
        if (output_entries_[o].feed == f && output_entries_[o].image == i) wanted.push_back({o, shared});
      }
    }
  }
  if (wanted.empty()) return Failure{"unknown image '" + image + "'"};
  Result<std::string> besides = change_over(wanted, diagnostics);
  if (!besides) return besides;
  for (const Wanted& one : wanted) output_entries_[one.output].rolled_back = nullptr;
  return loading_text(image, wanted.size(), besides.value());
}

Result<std::vector<std::string>> Appliance::reload_changed(Diagnostics& diagnostics) {
  if (std::string busy = why_busy(); !busy.empty()) return Failure{std::move(busy)};
  std::vector<Wanted> wanted;
  std::vector<std::string> names;
  for (std::size_t f = 0; f < settings_.feeds.size(); ++f) {
    const std::vector<feed::Image>& images = settings_.feeds[f].description.images;
    for (std::size_t i = 0; i < images.size(); ++i) {
      std::vector<std::size_t> outputs;
      for (std::size_t o = 0; o < outputs_.size(); ++o) {
        if (output_entries_[o].feed == f && output_entries_[o].image == i) outputs.push_back(o);
      }
      if (outputs.empty()) continue;
      auto program = load_image(images[i], diagnostics, opener_);
      if (!program)
        return Failure{"the image '" + images[i].name + "' was rejected; the previous image remains in use"};
      const RecordOutputEntry& entry = output_entries_[outputs.front()];
      const auto content = image::write(*program);
      if (content == image::write(*entry.program)) continue;
      // What was rolled back comes again when it has changed, or is loaded by name.
      if (entry.rolled_back != nullptr && content == image::write(*entry.rolled_back)) continue;
      const auto shared = std::make_shared<const Program>(std::move(*program));
      for (const std::size_t o : outputs) wanted.push_back({o, shared});
      names.push_back(images[i].name);
    }
  }
  const Result<std::string> besides = change_over(wanted, diagnostics);
  if (!besides) return besides.failure();
  return names;
}

Result<std::string> Appliance::roll_back(const std::string& image, Diagnostics& diagnostics) {
  if (std::string busy = why_busy(); !busy.empty()) return Failure{std::move(busy)};
  std::vector<Wanted> wanted;
  bool is_known = false;
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    if (output_entries_[o].feed == kNone || image_of(static_cast<std::uint32_t>(o)) != image) continue;
    is_known = true;
    if (output_entries_[o].previous != nullptr) wanted.push_back({o, output_entries_[o].previous});
  }
  if (!is_known) return Failure{"unknown image '" + image + "'"};
  if (wanted.empty()) return Failure{"the image '" + image + "' has not changed since the start"};
  std::vector<std::shared_ptr<const Program>> left;
  left.reserve(wanted.size());
  for (const Wanted& one : wanted) left.push_back(output_entries_[one.output].program);
  Result<std::string> besides = change_over(wanted, diagnostics);
  if (!besides) return besides;
  for (std::size_t i = 0; i < wanted.size(); ++i) output_entries_[wanted[i].output].rolled_back = left[i];
  return loading_text(image, wanted.size(), besides.value() + ", as it was before");
}

bool Appliance::push(std::size_t output, std::unique_ptr<Load> load) {
  RecordOutputEntry& entry = output_entries_[output];
  entry.generation = load->generation;
  for (const auto& [of, feed] : replay_feeds_) {
    if (of == output) feed->set_program(load->program);
  }
  // A card that fails hands its program to software: that is no change of the image.
  if (entry.program != load->program) entry.previous = std::exchange(entry.program, load->program);
  if (!agents_[entry.agent]->loads().push({.output = outputs_[output].get(), .load = std::move(load)})) return false;
  ++pending_loads_;
  return true;
}

std::string Appliance::take_card_failure() {
  if (card_feed_) {
    std::string what = card_feed_->take_failure();
    if (what.empty()) return what;
    if (const std::string why = why_no_return(card_channels_); !why.empty()) {
      what += " until the appliance is restarted, because the card cannot go on where software is: " + why;
    }
    why_not_back_.clear();
    return what;
  }
  if (on_card_ == nullptr || card_failed_ || !on_card_->failed()) return {};
  if (pending_loads_ != 0) return {};  // soon
  card_failed_ = true;
  const std::string why = on_card_->problem();
  if (!settings_.card->fallback) return why + "; its channels are dropped";
  const RecordOutputEntry& entry = output_entries_[card_output_];
  const Visit visit(places_[entry.agent]);
  Diagnostics diagnostics;
  auto load = prepare(card_output_, entry.program, static_cast<std::uint16_t>(entry.generation + 1), diagnostics);
  if (!load) return why + "; software cannot take over: " + load.message();
  return push(card_output_, std::move(load).value()) ? why + "; software takes over"
                                                     : why + "; its channels are dropped";
}

Status Appliance::bring_card_back() {
  Status answers = card_answers();
  if (!answers && card_->reset()) answers = card_answers();
  if (!answers && settings_.confined) {
    return Failure{answers.message() +
                   "; a confined process cannot open it again, so it comes back when it answers, or after a restart"};
  }
  card_feed_->give_up();
  if (!answers) {
    if (const Status open = card_->reopen(); !open) return open;
  }
  const Visit visit(places_[output_entries_[card_output_].agent]);
  auto live = receive_on_card();
  if (!live) return live.failure();
  if (const Status begun = live.value()->begin(); !begun) return begun;
  card_feed_->come_back(std::move(live).value());
  return Done{};
}

Status Appliance::card_answers() const {
  const Result<device::Kernel> kernel = card_->kernel();
  return kernel ? Status(Done{}) : Status(Failure{kernel.message()});
}

Appliance::CardNews Appliance::tend_card(std::uint64_t now_ns) {
  if (!card_feed_) return {};
  const auto say = [&](std::string why) {
    return CardNews{.is_back = false,
                    .text = std::exchange(why_not_back_, why) == why ? std::string() : std::move(why)};
  };
  if (card_feed_->is_over())
    return say("its channels, or their image, have changed: it does not come back until a restart");
  if (!card_feed_->is_missed()) return {};
  // Its agent has yet to find out that the card has another image, or other channels, than software.
  if (pending_loads_ != 0 || pending_changes_ != 0) return {};
  if (!why_no_return(card_channels_).empty() || !card_return_.is_due(now_ns)) return {};
  card_counter_set_.return_tries.add();
  if (const Status back = bring_card_back(); !back) return say(back.message());
  why_not_back_.clear();
  card_return_.came_back(now_ns);
  return {.is_back = true, .text = "each channel is its again as soon as it has brought what software has"};
}

void Appliance::retire() {
  Exchange old;
  for (const auto& agent : agents_) {
    while (agent->retired().pop(old)) {
      if (old.load && old.load->on_card != nullptr) on_card_ = nullptr;
      old.load.reset();
      --pending_loads_;
    }
  }
  retire_changes();
}

}  // namespace stopbit::appliance
