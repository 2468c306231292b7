#include "tests/venue/appliance.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "decoder/record/buffer_sink.hpp"
#include "microcode/base/diagnostic.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/file_text.hpp"

namespace stopbit::venue_test {
namespace {

struct Compiled {
  std::shared_ptr<const Program> program;
  market::Map map;
};

[[noreturn]] void fail(const Diagnostics& diagnostics) {
  fmt::print(stderr, "{}\n", diagnostics.format());
  std::abort();
}

/// Compiled once for all schedules.
const Compiled& compiled(const venue::Voice& voice) {
  static std::map<std::string, Compiled> known;
  Compiled& made = known[std::string(voice.map())];
  if (made.program) return made;
  Diagnostics diagnostics;
  auto program = templates::compile(
      {std::make_shared<SourceBuffer>(std::string(voice.templates_name()), std::string(voice.templates()))}, {},
      diagnostics);
  if (!program) fail(diagnostics);
  made.program = std::make_shared<const Program>(std::move(*program));
  const std::string path = std::string(STOPBIT_MAPS_FOLDER) + '/' + std::string(voice.map()) + ".toml";
  auto source = market::read_map(path, stopbit::testing::file_text(path), diagnostics);
  auto map = source ? market::compile_map(std::move(*source), *made.program, diagnostics) : std::nullopt;
  if (!map) fail(diagnostics);
  made.map = std::move(*map);
  return made;
}

feed::Role role_of(simulate::Role role) {
  switch (role) {
    case simulate::Role::Incremental: return feed::Role::Incremental;
    case simulate::Role::Snapshot: return feed::Role::Snapshot;
    case simulate::Role::Carousel: break;
  }
  return feed::Role::Carousel;
}

struct Keep {
  const Appliance::OnRecord* to;
  void operator()(std::span<const record::Slot> record) const { (*to)(record); }
};

}  // namespace

net::Endpoint group_of(const Plan& plan, std::size_t line, std::size_t stream) {
  const net::Endpoint& first = plan.settings.lines[line].group;
  return {first.address + static_cast<std::uint32_t>(stream), static_cast<std::uint16_t>(first.port + stream)};
}

std::size_t ScriptedPort::poll(std::span<ingest::Arrival> batch) noexcept {
  given_.clear();
  while (given_.size() < batch.size() && next_ns() <= now_ns_) {
    given_.push_back(std::move(script_.front()));
    script_.pop_front();
  }
  for (std::size_t i = 0; i < given_.size(); ++i) {
    batch[i] = {.payload = *given_[i].bytes,
                .source = {0xC000'0201, 5'000},
                .destination = group_of(plan_, line_, given_[i].stream),
                .arrival_ns = plan_.settings.start_ns + given_[i].at_ns,
                .t_ns = kClockBegin + given_[i].at_ns,
                .time_quality = record::TimeQuality::Kernel};
    counters_.frames.add(1);
    counters_.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)].add(1);
  }
  complete_until_ns_ = next_ns() > now_ns_ ? kClockBegin + now_ns_ : kClockBegin + given_.back().at_ns;
  return given_.size();
}

Appliance::Appliance(const Plan& plan, const venue::Voice& voice, OnRecord on_record)
    : plan_(plan),
      on_record_(std::move(on_record)),
      port_counter_sets_(2),
      channel_counter_sets_(voice.streams().size()) {
  for (std::size_t i = 0; i < voice.streams().size(); ++i) {
    feed::Channel& channel = channels_.emplace_back();
    channel.number = static_cast<std::uint16_t>(i);
    channel.name = voice.streams()[i].name;
    channel.role = role_of(voice.streams()[i].role);
    channel.window = feed::default_window(channel.role);
    channel.framing = net::parse_framing(voice.streams()[i].framing).value();
    for (std::size_t line = 0; line < 2; ++line) {
      channel.lines[line] = feed::Line{.group = group_of(plan, line, i), .source = {}};
    }
  }
  make_output(voice);
  make_agent();
}

Appliance::~Appliance() = default;

void Appliance::make_output(const venue::Voice& voice) {
  const Compiled& from = compiled(voice);
  appliance::RecordOutputPlan plan;
  plan.engine = EngineKind::Interp;  // making code for each schedule would be most of the time
  plan.channels = static_cast<std::uint16_t>(channels_.size());
  for (const feed::Channel& channel : channels_) {
    plan.rules[static_cast<std::size_t>(feed::engine_rule(channel.framing))] = true;
    plan.events.channels.push_back(true);
    plan.events.recovery.channels.push_back({.number = channel.number,
                                             .has_increments = channel.role == feed::Role::Incremental,
                                             .sequence_bits = arbitrate::options_for(channel.framing).sequence_bits,
                                             .recovers = {}});
    if (channel.number == venue::kSnapshots) plan.events.recovery.channels.back().recovers = 0;
  }
  plan.events.map = voice.map();
  plan.events.ring = folder_.path("events");
  plan.events.slots = 65'536;  // a ring holds several of the longest records
  plan.events.room = {.instruments = 64, .orders = 4'096};
  plan.events.recovery.policy = plan_.policy;
  plan.events.recovery.refresh = plan_.refresh;
  plan.events.recovery.queued = plan_.queued;
  plan.events.recovery.products = 64;
  plan.events.recovery.holes = 4'096;
  plan.events.recovery.picture = 1'024;
  market::Map map = from.map;
  if (voice.depth() != ~std::size_t{0} && plan_.knows_depth) {
    (void)market::set_depth(map, static_cast<std::uint32_t>(voice.depth()));
  }
  output_ = std::make_unique<appliance::RecordOutput>(plan, "venue");
  appliance::CounterSetBuilder builder;
  builder.agent(agent_counter_set_, "agent");
  for (std::size_t i = 0; i < 2; ++i) builder.port(port_counter_sets_[i], std::to_string(i));
  builder.output(output_->counter_set(), "venue");
  builder.market(output_->market_counter_set(), "venue");
  for (std::size_t i = 0; i < channels_.size(); ++i) builder.channel(channel_counter_sets_[i], channels_[i].name, true);
  segment_.emplace(std::move(builder.build("")).value());

  auto prepared = output_->prepare("image", from.program, 1, std::move(map));
  if (!prepared) {
    fmt::print(stderr, "{}\n", prepared.message());
    std::abort();
  }
  auto load = std::move(prepared).value();
  load->memory = std::make_unique<record::BufferSink<Keep>>(from.program->max_record_slots, Keep{&on_record_});
  load->sink = &load->stages.connect(*load->memory);
  (void)output_->start(std::move(load), plan_.settings.start_ns);
}

void Appliance::make_agent() {
  appliance::Agent::Parts parts;
  for (std::size_t line = 0; line < 2; ++line) {
    auto port = std::make_unique<ScriptedPort>(plan_, line, now_ns_);
    ports_.push_back(port.get());
    parts.ports.push_back({.port = std::move(port), .counter_set = &port_counter_sets_[line]});
  }
  parts.outputs.push_back(output_.get());
  parts.counter_set = &agent_counter_set_;
  parts.batch = plan_.batch;
  agent_ = std::make_unique<appliance::Agent>(
      std::move(parts), appliance::Clocks{.wall = [this] { return plan_.settings.start_ns + now_ns_; },
                                          .monotonic = [this] { return kClockBegin + now_ns_; }});
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    agent_->add(channels_[i], static_cast<std::uint32_t>(i), *output_, channel_counter_sets_[i]);
  }
}

std::size_t Appliance::do_work(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  return agent_->do_work();
}

std::uint64_t Appliance::next_deadline_ns() const {
  std::uint64_t deadline = ~std::uint64_t{0};
  for (const auto& channel : agent_->channels()) {
    const auto of_channel = channel->decoder().next_deadline();
    if (of_channel) deadline = std::min(deadline, *of_channel - kClockBegin);
  }
  return deadline;
}

}  // namespace stopbit::venue_test
