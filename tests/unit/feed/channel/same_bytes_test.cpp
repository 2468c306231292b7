#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "decoder/record/text.hpp"
#include "host/appliance/agent.hpp"
#include "host/lab/impair/impairer.hpp"
#include "host/lab/simulate/exchange.hpp"
#include "host/ports/out/frame.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/random.hpp"
#include "tests/unit/replay/fixture.hpp"

/// `stopbit replay --feed` and an agent of `stopbit run` give the same records and events, byte for byte, for the same
/// datagrams at the same times: the agent has a scripted port and a clock that the test turns.
namespace stopbit::feed::same_bytes_test {

using cases::Random;

constexpr std::uint16_t kGeneration = 3;
constexpr record::TimeQuality kQuality = record::TimeQuality::Hardware;  // that of MemorySource, too

struct Arrived {
  std::uint64_t time_ns = 0;
  net::Endpoint source;
  net::Endpoint group;
  std::vector<std::byte> payload;
};

/// Channels of one image, and what arrives on their lines in the order of time.
struct Traffic {
  std::vector<Channel> channels;
  std::vector<Arrived> datagrams;
};

/// Its outcome.
struct Decoded {
  std::vector<record::Slot> slots;
  std::map<record::EventKind, std::uint64_t> events;
  std::uint64_t malformed_events = 0;
  std::uint64_t messages = 0;
  std::vector<arbitrate::Account> accounts;  ///< By channel.
};

struct Keep {
  Decoded* to;
  void operator()(std::span<const record::Slot> record) const {
    to->slots.insert(to->slots.end(), record.begin(), record.end());
    const record::EventView event(record[0]);
    if (!record::HeaderView(record[0]).is_event()) {
      ++to->messages;
      return;
    }
    ++to->events[event.kind()];
    to->malformed_events += event.kind() == record::EventKind::DecodeError && event.code() == ErrorCode::X9 ? 1 : 0;
  }
};
using KeepingSink = record::BufferSink<Keep>;

Decoded replayed(const Program& program, const Traffic& traffic, EngineKind kind) {
  Decoded decoded;
  replay::Options options;
  options.image_generation = kGeneration;
  for (const Channel& channel : traffic.channels) options.feed.push_back(&channel);
  std::vector<replay::testing::MemorySource::Item> frames;
  egress::FrameBuilder builder({}, {});
  for (const Arrived& datagram : traffic.datagrams) {
    builder.set(datagram.source, datagram.group);
    const auto frame = builder.build(datagram.payload);
    frames.push_back({{frame.begin(), frame.end()}, datagram.time_ns, 0});
  }
  KeepingSink sink(program.max_record_slots, Keep{&decoded});
  const MadeEngine made = make_engine(program, replay::engine_options(options), kind);
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.push_back(std::make_unique<replay::testing::MemorySource>(std::move(frames)));
  const replay::Summary summary = replay::Replay(program, *made.engine, sink, options).run(sources);
  EXPECT_EQ(summary.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)], traffic.datagrams.size());
  EXPECT_EQ(summary.messages, decoded.messages);
  for (const replay::ChannelCount& channel : summary.channels) decoded.accounts.push_back(channel.account);
  return decoded;
}

/// Returns one datagram when the test says so.
class ScriptedPort final : public ingest::Port {
 public:
  explicit ScriptedPort(const std::vector<Arrived>& script) : script_(script) {}

  void release() { is_released_ = true; }
  [[nodiscard]] Status join(const ingest::Membership& /*membership*/) override { return Done{}; }
  [[nodiscard]] std::size_t poll(std::span<ingest::Arrival> batch) noexcept override {
    if (!std::exchange(is_released_, false)) return 0;
    const Arrived& datagram = script_[at_++];
    batch[0] = {.payload = datagram.payload,
                .source = datagram.source,
                .destination = datagram.group,
                .arrival_ns = datagram.time_ns,
                .t_ns = datagram.time_ns,
                .time_quality = kQuality};
    return 1;
  }
  [[nodiscard]] std::uint64_t complete_until() const noexcept override {
    return at_ < script_.size() ? script_[at_].time_ns : ~std::uint64_t{0};
  }
  [[nodiscard]] bool in_order() const noexcept override { return true; }
  [[nodiscard]] const ingest::PortCounters& counters() const noexcept override { return counters_; }
  [[nodiscard]] std::string_view name() const noexcept override { return "script"; }

 private:
  const std::vector<Arrived>& script_;
  std::size_t at_ = 0;
  bool is_released_ = false;
  ingest::PortCounters counters_;
};

Decoded live(const std::shared_ptr<const Program>& program, const Traffic& traffic, EngineKind kind) {
  Decoded decoded;
  appliance::RecordOutputPlan plan;
  plan.engine = kind;
  for (const Channel& channel : traffic.channels) {
    plan.rules[static_cast<std::size_t>(engine_rule(channel.framing))] = true;
    plan.channels = std::max(plan.channels, static_cast<std::uint16_t>(channel.number + 1));
  }
  appliance::RecordOutput output(plan, "output");
  appliance::AgentCounterSet agent_counter_set;
  appliance::PortCounterSet port_counter_set;
  std::vector<appliance::ChannelCounterSet> channel_counter_sets(traffic.channels.size());
  appliance::CounterSetBuilder builder;
  builder.agent(agent_counter_set, "agent");
  builder.port(port_counter_set, "port");
  builder.output(output.counter_set(), "output");
  for (std::size_t i = 0; i < channel_counter_sets.size(); ++i) {
    builder.channel(channel_counter_sets[i], std::to_string(i), traffic.channels[i].lines[1].has_value());
  }
  const auto segment = builder.build("");
  EXPECT_TRUE(segment) << segment.message();

  auto load = std::move(output.prepare("image", program, kGeneration)).value();
  load->memory = std::make_unique<KeepingSink>(program->max_record_slots, Keep{&decoded});
  load->sink = &load->stages.connect(*load->memory);
  (void)output.start(std::move(load), 0);

  std::uint64_t now = 0;
  auto made = std::make_unique<ScriptedPort>(traffic.datagrams);
  ScriptedPort& port = *made;
  appliance::Agent::Parts parts;
  parts.ports.push_back({.port = std::move(made), .counter_set = &port_counter_set});
  parts.outputs.push_back(&output);
  parts.counter_set = &agent_counter_set;
  appliance::Agent agent(std::move(parts), {.wall = [&now] { return now; }, .monotonic = [&now] { return now; }});
  for (std::size_t i = 0; i < channel_counter_sets.size(); ++i) {
    agent.add(traffic.channels[i], static_cast<std::uint32_t>(i), output, channel_counter_sets[i]);
  }
  for (const Arrived& datagram : traffic.datagrams) {
    now = datagram.time_ns;
    (void)agent.do_work();  // closes the windows that are due
    port.release();
    (void)agent.do_work();
  }
  agent.finish();
  for (const auto& channel : agent.channels()) decoded.accounts.push_back(channel->decoder().arbiter().total());
  return decoded;
}

/// What the feeds of a test have met together, so that the test cannot pass by meeting nothing.
struct Met {
  std::map<record::EventKind, std::uint64_t> events;
  std::uint64_t malformed_events = 0;
  std::uint64_t messages = 0;
  std::uint64_t duplicates = 0;
};

/// @returns whether both are the same.
bool expect_same(const std::shared_ptr<const Program>& program, const Traffic& traffic, EngineKind kind, Met& met) {
  const Decoded from_capture = replayed(*program, traffic, kind);
  const Decoded from_port = live(program, traffic, kind);
  for (const auto& [event, count] : from_capture.events) met.events[event] += count;
  met.malformed_events += from_capture.malformed_events;
  met.messages += from_capture.messages;
  for (const arbitrate::Account& account : from_capture.accounts) met.duplicates += account.packets.duplicate;
  EXPECT_EQ(from_capture.accounts, from_port.accounts);
  const auto differs = std::mismatch(
      from_capture.slots.begin(), from_capture.slots.end(), from_port.slots.begin(), from_port.slots.end(),
      [](const record::Slot& left, const record::Slot& right) { return std::memcmp(&left, &right, sizeof left) == 0; });
  const bool is_same = differs.first == from_capture.slots.end() && differs.second == from_port.slots.end();
  EXPECT_TRUE(is_same) << "slot " << differs.first - from_capture.slots.begin() << " of " << from_capture.slots.size()
                       << " replayed and " << from_port.slots.size() << " live ones";
  return is_same;
}

// --------------------------------------------------------------------------------------------------------- captures

std::vector<Arrived> datagrams_of(const std::string& path) {
  std::vector<Arrived> datagrams;
  const auto source = std::move(ingest::open_capture(path)).value();
  ingest::Packet packet;
  while (source->next(packet) == ingest::Next::Packet) {
    net::Datagram datagram;
    if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted)
      continue;
    datagrams.push_back(
        {packet.arrival_ns, datagram.source, datagram.destination, {datagram.payload.begin(), datagram.payload.end()}});
  }
  return datagrams;
}

std::shared_ptr<const Program> program_of(const std::string& path) {
  return std::make_shared<const Program>(replay::testing::compile(stopbit::testing::file_text(path)));
}

/// Each datagram on both lines of `channel`, which a bad network has in its hands.
std::vector<Arrived> impaired(const std::vector<Arrived>& sent, const Channel& channel,
                              const impair::Options& options) {
  std::vector<Arrived> arrived;
  impair::Impairer impairer(options);
  const auto take = [&](std::uint64_t until_ns) {
    while (const impair::Copy* const copy = impairer.pop(until_ns)) {
      arrived.push_back({copy->time_ns, sent[copy->packet].source, channel.lines[copy->line]->group, copy->bytes});
    }
  };
  for (const Arrived& datagram : sent) {
    impairer.push(datagram.payload, datagram.time_ns);
    take(datagram.time_ns);
  }
  impairer.flush(sent.empty() ? 0 : sent.back().time_ns);
  take(impair::kNever);
  return arrived;
}

void sort_by_time(std::vector<Arrived>& datagrams) {
  std::stable_sort(datagrams.begin(), datagrams.end(),
                   [](const Arrived& left, const Arrived& right) { return left.time_ns < right.time_ns; });
}

void expect_same_for_capture(const std::string& folder, const char* framing) {
  const char* const corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges";
  const std::string path = std::string(corpus) + "/" + folder;
  const auto program = program_of(path + "/templates.xml");
  Traffic traffic{.channels = {}, .datagrams = datagrams_of(path + "/capture.pcap")};
  ASSERT_FALSE(traffic.datagrams.empty());
  sort_by_time(traffic.datagrams);
  std::vector<net::Endpoint> groups;
  for (const Arrived& datagram : traffic.datagrams) {
    if (std::find(groups.begin(), groups.end(), datagram.group) == groups.end()) groups.push_back(datagram.group);
  }
  for (const net::Endpoint& group : groups) {
    Channel channel;
    channel.number = static_cast<std::uint16_t>(traffic.channels.size() + 5);
    channel.framing = replay::testing::framing(framing);
    channel.lines[0] = Line{.group = group, .source = {}};
    traffic.channels.push_back(std::move(channel));
  }
  Met met;
  for (const Mode mode : {Mode::Ordered, Mode::Fast}) {
    for (Channel& channel : traffic.channels) channel.mode = mode;
    expect_same(program, traffic, EngineKind::Native, met);
  }
  EXPECT_GT(met.messages, 0U);
  if (arbitrate::options_for(traffic.channels[0].framing).sequence_bits == 0) return;

  // The same on two bad lines.
  ASSERT_EQ(groups.size(), 1U);
  traffic.channels[0].mode = Mode::Ordered;
  traffic.channels[0].lines[1] = Line{.group = {groups[0].address + 1, groups[0].port}, .source = {}};
  impair::Options options;
  options.line[0] = {
      .loss = {.rate = 0.02, .mean_burst = 3}, .duplicate = 0.01, .reorder = 0.01, .reorder_depth = 5, .corrupt = 0.01};
  options.line[1] = {.loss = {.rate = 0.02}, .delay_ns = 50'000};
  traffic.datagrams = impaired(traffic.datagrams, traffic.channels[0], options);
  expect_same(program, traffic, EngineKind::Native, met);
}

TEST(SameBytes, of_cme) {
  expect_same_for_capture("cme-mdp-2012", "cme");
}
TEST(SameBytes, of_moex) {
  expect_same_for_capture("moex-asts-trades-2019", "moex");
}
TEST(SameBytes, of_eurex) {
  expect_same_for_capture("eurex-rdi-2016", "t7");
}
TEST(SameBytes, of_the_public_benchmark) {
  expect_same_for_capture("complex30000", "none");
}

TEST(SameBytes, of_the_sample) {
  const std::string folder = STOPBIT_SAMPLE_FOLDER;
  const auto program = program_of(folder + "/templates.xml");
  Channel channel;
  channel.framing = replay::testing::framing("cme");
  channel.window = {.packets = 1'024, .time_ns = 100'000'000, .datagram_bytes = 2'048};
  channel.lines[0] = Line{.group = net::parse_endpoint("239.20.1.1:20001").value(), .source = {}};
  channel.lines[1] = Line{.group = net::parse_endpoint("239.20.2.1:20002").value(), .source = {}};
  Traffic traffic{.channels = {channel}, .datagrams = datagrams_of(folder + "/capture.pcap.gz")};
  std::erase_if(traffic.datagrams, [&](const Arrived& datagram) {
    return datagram.group != channel.lines[0]->group && datagram.group != channel.lines[1]->group;
  });
  Met met;
  for (const EngineKind kind : {EngineKind::Native, EngineKind::Interp}) expect_same(program, traffic, kind, met);
  EXPECT_GT(met.messages, 0U);
  EXPECT_GT(met.duplicates, 0U);
  EXPECT_GT(met.events[record::EventKind::Gap], 0U);
}

// ------------------------------------------------------------------------------------------------- a thousand feeds

/// What a simulated exchange sends on one line, by stream; all streams of the same templates.
struct Broadcast {
  struct Stream {
    Channel channel;
    std::vector<Arrived> sent;
  };
  std::shared_ptr<const Program> program;
  std::vector<Stream> streams;
};

Broadcast broadcast(std::string_view preset_name) {
  simulate::Settings settings;
  settings.preset = preset_name;
  settings.start_ns = 1'700'000'000'000'000'000;
  settings.duration_ns = 1'500'000'000;
  settings.rate = 400;
  settings.instruments = 5;
  settings.products = 2;
  settings.snapshot_every_ns = 300'000'000;
  settings.heartbeat_every_ns = 40'000'000;
  settings.failovers = {{.at_ns = 1'000'000'000, .channel = {}}};
  settings.lines.resize(2);
  settings.lines[0].group = net::parse_endpoint("239.1.1.1:30001").value();
  settings.lines[0].source = net::Endpoint{0x0A00'0001, 20'000};
  settings.lines[1].group = net::parse_endpoint("239.1.2.1:31001").value();
  Diagnostics diagnostics;
  const auto preset = simulate::load_preset(settings.preset, diagnostics);
  EXPECT_TRUE(preset) << diagnostics.format();
  if (!preset->streams.front().reset.empty()) {  // it has a message for that
    settings.resets = {{.at_ns = 500'000'000, .channel = {}}};
  }
  const auto exchange = simulate::Exchange::make(settings, *preset, diagnostics);
  EXPECT_NE(exchange, nullptr) << diagnostics.format();
  std::map<std::uint32_t, std::vector<Arrived>> sent;
  for (simulate::Sent datagram; exchange->next(datagram);) {
    if (datagram.line != 0) continue;
    sent[datagram.group.address].push_back(
        {datagram.time_ns, datagram.source, datagram.group, {datagram.payload.begin(), datagram.payload.end()}});
  }
  EXPECT_EQ(exchange->fault(), "");

  Broadcast result;
  const auto& templates = preset->streams.front().templates;
  result.program = std::make_shared<const Program>(replay::testing::compile(std::string(templates->text())));
  const auto report = exchange->report();
  for (std::size_t i = 0; i < report.size(); ++i) {
    const simulate::StreamModel& model = preset->streams[i];
    if (model.templates_name != preset->streams.front().templates_name) continue;
    Channel channel;
    channel.number = static_cast<std::uint16_t>(10 + i);
    channel.role = model.role == simulate::Role::Carousel ? Role::Carousel : Role::Incremental;
    channel.framing = model.framing;
    for (std::size_t line = 0; line < 2; ++line) {
      channel.lines[line] = Line{.group = report[i].groups[line], .source = {}};
    }
    result.streams.push_back({std::move(channel), std::move(sent[report[i].groups[0].address])});
  }
  return result;
}

impair::LineOptions some_impairment(Random& random) {
  impair::LineOptions line;
  const auto part = [&] { return random.chance(50) ? 0.0 : static_cast<double>(random.below(100)) / 1'000; };
  line.loss = {.rate = part(), .mean_burst = random.chance(50) ? 1.0 : 4.0};
  line.duplicate = part();
  line.reorder = part();
  line.reorder_depth = static_cast<std::uint32_t>(1 + random.below(12));
  line.corrupt = part();
  line.delay_ns = random.chance(50) ? 0 : random.below(5'000'000);
  if (random.chance(10)) {
    line.dies_at = random.below(60);
    line.returns_at = line.dies_at + random.below(60);
  }
  return line;
}

Traffic some_traffic(const Broadcast& from, Random& random) {
  constexpr std::size_t kDatagrams = 120;  // of a stream, on each line
  constexpr std::array kRules = {ResetRule::Packet, ResetRule::Template, ResetRule::Never};
  Traffic traffic;
  const ResetRule rule = random.chance(50) ? from.streams[0].channel.framing.reset : random.pick(kRules);
  const bool has_blocks = random.chance(5);
  const std::size_t begin = random.below(400);
  for (const Broadcast::Stream& stream : from.streams) {
    Channel channel = stream.channel;
    channel.framing.reset = rule;
    channel.framing.blocks = has_blocks;
    channel.mode = random.chance(50) ? Mode::Ordered : Mode::Fast;
    channel.window = {.packets = static_cast<std::uint32_t>(1 + random.below(64)),
                      .time_ns = 10'000 + random.below(20'000'000),
                      .datagram_bytes = random.chance(10) ? 64U : 2'048U};
    channel.switch_silence_ns = 1'000'000 + random.below(20'000'000);
    impair::Options options;
    options.seed = random.bits();
    for (impair::LineOptions& line : options.line) line = some_impairment(random);
    options.both = {.rate = random.chance(50) ? 0.0 : 0.02, .mean_burst = 2};
    if (channel.framing.kind == net::FramingKind::Fixed && random.chance(5)) {  // nothing numbers the packets
      channel.framing.sequence = {};
      channel.lines[1].reset();
      options.lines = 1;
    }
    const std::size_t first = std::min(begin, stream.sent.size());
    const std::size_t count = std::min(kDatagrams, stream.sent.size() - first);
    const auto at = stream.sent.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<Arrived> arrived = impaired({at, at + static_cast<std::ptrdiff_t>(count)}, channel, options);
    for (Arrived& datagram : arrived) {
      if (random.chance(2)) datagram.payload.resize(std::min<std::size_t>(datagram.payload.size(), random.below(16)));
    }
    traffic.datagrams.insert(traffic.datagrams.end(), std::make_move_iterator(arrived.begin()),
                             std::make_move_iterator(arrived.end()));
    traffic.channels.push_back(std::move(channel));
  }
  sort_by_time(traffic.datagrams);
  // A stretch that does not decode, on any line: the last message has no end.
  if (!traffic.datagrams.empty() && random.chance(30)) {
    const std::size_t first = random.below(traffic.datagrams.size());
    const std::size_t last = std::min(traffic.datagrams.size(), first + random.below(60));
    for (std::size_t i = first; i < last; ++i) {
      std::vector<std::byte>& payload = traffic.datagrams[i].payload;
      if (!payload.empty()) payload.back() &= std::byte{0x7F};
    }
  }
  return traffic;
}

TEST(SameBytes, of_a_thousand_impaired_feeds) {
  const auto feeds = by_form<std::uint64_t>(250, 1'000, 1'000);
  constexpr std::uint64_t kNativeEvery = 20;  // making code for each would be most of the time
  std::vector<Broadcast> broadcasts;
  for (const std::string_view preset : simulate::preset_names()) broadcasts.push_back(broadcast(preset));
  Met met;
  for (std::uint64_t seed = 1; seed <= feeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Broadcast& from = broadcasts[seed % broadcasts.size()];
    const EngineKind kind = seed % kNativeEvery == 0 ? EngineKind::Native : EngineKind::Interp;
    if (!expect_same(from.program, some_traffic(from, random), kind, met)) break;
  }
  std::string summary = std::to_string(met.messages) + " messages, " + std::to_string(met.duplicates) + " duplicates";
  for (const auto& [kind, count] : met.events) {
    summary += ", " + std::to_string(count) + " " + std::string(record::event_name(kind));
  }
  RecordProperty("met", summary);
  using record::EventKind;
  for (const EventKind kind : {EventKind::DecodeError, EventKind::Dropped, EventKind::Gap, EventKind::Reset,
                               EventKind::Stale, EventKind::Recovered}) {
    EXPECT_GT(met.events[kind], feeds / 10) << "events of kind " << static_cast<int>(kind);
  }
  EXPECT_GT(met.malformed_events, feeds / 10);
  EXPECT_GT(met.messages, 10 * feeds);
  EXPECT_GT(met.duplicates, 10 * feeds);
}

}  // namespace stopbit::feed::same_bytes_test
