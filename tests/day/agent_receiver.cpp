#include "tests/day/agent_receiver.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/views.hpp"
#include "host/appliance/housekeeper.hpp"
#include "host/feed/description/arbiter_options.hpp"
#include "microcode/base/diagnostic.hpp"
#include "templates/compiler.hpp"

namespace stopbit::day {
namespace {

using arbitrate::NewRun;

/// What write_datagram sends. FastReset comes with every program.
constexpr std::string_view kTemplates = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Entry" id="1">
    <uInt32 name="Channel"/><uInt32 name="Run"/><uInt64 name="Number"/><uInt32 name="Chunk"/><uInt32 name="Salt"/>
    <uInt32 name="Announces"/>
  </template>
  <template name="PacketHeader" id="2">
    <uInt32 name="SenderCompID"/><byteVector name="PacketSeqNum"/><byteVector name="SendingTime"/>
  </template>
  <template name="SequenceReset" id="3">
    <uInt32 name="Channel"/><uInt32 name="Run"/><uInt64 name="Number"/><uInt32 name="Chunk"/><uInt32 name="Salt"/>
    <uInt32 name="NewSeqNo" id="36"/>
  </template>
</templates>
)";
constexpr std::uint64_t kSilenceNs = 20'000'000;  ///< Of a line that is down.
constexpr std::uint8_t kManyChunks = 64;

/// Compiled once for all days.
std::shared_ptr<const Program> program() {
  static const auto kProgram = [] {
    Diagnostics diagnostics;
    auto made =
        templates::compile({std::make_shared<SourceBuffer>("day.xml", std::string(kTemplates))}, {}, diagnostics);
    if (!made) std::abort();
    return std::make_shared<const Program>(std::move(*made));
  }();
  return kProgram;
}

/// The word of a record, counted from its start.
std::uint64_t value_at(std::span<const record::Slot> record, std::size_t field) {
  const std::size_t word = record::kHeaderWords + field;
  return record[word / record::kValueWords].words[word % record::kValueWords];
}

feed::Channel describe(const ChannelPlan& plan, std::size_t index) {
  feed::Channel channel;
  channel.number = static_cast<std::uint16_t>(index);
  channel.name = std::to_string(index);
  channel.role = plan.mode == Mode::Carousel ? feed::Role::Carousel : feed::Role::Incremental;
  channel.mode = plan.mode == Mode::Fast ? feed::Mode::Fast : feed::Mode::Ordered;
  channel.window = {.packets = plan.options.window_packets,
                    .time_ns = plan.options.window_ns,
                    .room = plan.options.room_packets,
                    .datagram_bytes = plan.options.datagram_bytes};
  channel.switch_silence_ns = plan.options.switch_silence_ns;
  channel.framing = plan.framing;
  for (std::uint8_t line = 0; line < plan.lines; ++line) {
    channel.lines[line] = feed::Line{.group = group_of(static_cast<std::uint8_t>(index), line), .source = {}};
  }
  return channel;
}

Cause cause_of(appliance::GapCause cause, arbitrate::GapReason reason) {
  using appliance::GapCause;
  if (reason == arbitrate::GapReason::End) return Cause::End;
  switch (cause) {
    case GapCause::LostOnBoth:
    case GapCause::Late: break;
    case GapCause::LineDown: return Cause::LineDown;
    case GapCause::LocalDrop: return Cause::LocalDrop;
    case GapCause::LocalStall: return Cause::Stall;
    case GapCause::NoRoom: return Cause::Room;
    case GapCause::ApplianceDown: return Cause::Down;
    case GapCause::Switched: return Cause::Switch;
  }
  return Cause::Lines;
}

}  // namespace

/// A port of the day, lent to one life of the appliance.
class AgentReceiver::PortView final : public ingest::Port {
 public:
  PortView(AgentReceiver& receiver, ModelPort& port) : receiver_(receiver), port_(port) {}

  [[nodiscard]] stopbit::Status join(const ingest::Membership& membership) override { return port_.join(membership); }
  [[nodiscard]] std::size_t poll(std::span<ingest::Arrival> batch) noexcept override {
    receiver_.take_notices();
    const std::size_t count = port_.poll(batch);
    receiver_.about_to_take();
    return count;
  }
  [[nodiscard]] std::uint64_t complete_until() const noexcept override { return port_.complete_until(); }
  [[nodiscard]] bool in_order() const noexcept override { return port_.in_order(); }
  [[nodiscard]] const ingest::PortCounters& counters() const noexcept override { return port_.counters(); }
  [[nodiscard]] std::string_view name() const noexcept override { return port_.name(); }

 private:
  AgentReceiver& receiver_;
  ModelPort& port_;
};

struct AgentReceiver::Keep {
  AgentReceiver* receiver;
  void operator()(std::span<const record::Slot> record) const { receiver->take_record(record); }
};

AgentReceiver::AgentReceiver(const Day& day, const std::vector<std::unique_ptr<ModelPort>>& ports, Clock& clock,
                             Listener& listener, const std::string& state_folder)
    : day_(day),
      ports_(ports),
      clock_(clock),
      listener_(listener),
      heard_(day.channels.size()),
      port_counter_sets_(ports.size()),
      channel_counter_sets_(day.channels.size()) {
  appliance::RecordOutputPlan plan;
  plan.engine = EngineKind::Interp;  // making code for each day would be most of the time
  for (std::size_t i = 0; i < day.channels.size(); ++i) {
    descriptions_.push_back(describe(day.channels[i], i));
    plan.rules[static_cast<std::size_t>(feed::engine_rule(day.channels[i].framing))] = true;
  }
  plan.channels = static_cast<std::uint16_t>(day.channels.size());
  output_ = std::make_unique<appliance::RecordOutput>(plan, "output");
  appliance::CounterSetBuilder builder;
  builder.agent(agent_counter_set_, "agent");
  for (std::size_t i = 0; i < ports.size(); ++i) builder.port(port_counter_sets_[i], std::to_string(i));
  builder.output(output_->counter_set(), "output");
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    builder.channel(channel_counter_sets_[i], descriptions_[i].name, descriptions_[i].lines[1].has_value());
  }
  segment_.emplace(std::move(builder.build("")).value());

  auto load = std::move(output_->prepare("image", program(), 1)).value();
  load->memory = std::make_unique<record::BufferSink<Keep>>(program()->max_record_slots, Keep{this});
  load->sink = &load->stages.connect(*load->memory);
  (void)output_->start(std::move(load), clock.wall());

  appliance::Agent::Parts parts;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    parts.ports.push_back({.port = std::make_unique<PortView>(*this, *ports[i]),
                           .counter_set = &port_counter_sets_[i],
                           .dropped = ports[i]->counters().dropped_by_kernel.value()});
  }
  parts.outputs.push_back(output_.get());
  parts.counter_set = &agent_counter_set_;
  parts.batch = day.batch;
  agent_ = std::make_unique<appliance::Agent>(
      std::move(parts),
      appliance::Clocks{.wall = [&clock] { return clock.wall(); }, .monotonic = [&clock] { return clock.now_ns; }});

  std::vector<std::string_view> names;
  for (const feed::Channel& channel : descriptions_) names.push_back(channel.name);
  if (const auto opened = runs_.open(state_folder, names); !opened) listener_.contradiction(0, opened.message());
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    const feed::Channel& channel = descriptions_[i];
    // As Appliance has it.
    const bool has_run =
        channel.role != feed::Role::Carousel && arbitrate::options_for(channel.framing).sequence_bits != 0;
    agent_->add(channel, static_cast<std::uint32_t>(i), *output_, channel_counter_sets_[i],
                {appliance::kNotRecorded, appliance::kNotRecorded}, has_run ? runs_.place(i) : nullptr);
    const auto known = has_run ? runs_.known(i) : std::nullopt;
    if (known && known->run.day == appliance::day_of_ns(clock.wall())) {
      agent_->resume_after(i, known->run.sender, known->last);
    }
  }
}

AgentReceiver::~AgentReceiver() = default;

void AgentReceiver::about_to_take() {
  std::uint64_t horizon = kNever;
  for (const auto& port : ports_) horizon = std::min(horizon, port->complete_until());
  listener_.horizon(horizon);
}

std::size_t AgentReceiver::do_work() {
  const std::size_t count = agent_->do_work();
  take_notices();
  expect_no_events();
  return count;
}

void AgentReceiver::finish() {
  agent_->finish();
  take_notices();
  expect_no_events();
}

std::uint64_t AgentReceiver::next_deadline() const {
  std::uint64_t deadline = kNever;
  for (const auto& channel : agent_->channels()) {
    deadline = std::min(deadline, channel->decoder().next_deadline().value_or(kNever));
  }
  return deadline;
}

const arbitrate::Arbiter& AgentReceiver::arbiter(std::size_t channel) const {
  return agent_->channels()[channel]->decoder().arbiter();
}

// ------------------------------------------------------------------------------------------------------------ records

void AgentReceiver::take_record(std::span<const record::Slot> record) {
  take_notices();
  const record::HeaderView header(record[0]);
  const std::size_t channel = header.channel();
  if (channel >= heard_.size()) return listener_.contradiction(0, "a record of no channel");
  if (header.is_event()) return take_event(channel, record[0]);
  follow_cycles(channel, header.sender_epoch(), header.sequence());
  Heard& heard = heard_[channel];
  if (header.message_index() <= heard.message) heard.chunk = 0;
  heard.message = header.message_index();
  const Template& of = program()->templates[header.template_index()];
  if (of.id == 1 || of.id == 3) take_identity(channel, record);
}

void AgentReceiver::take_identity(std::size_t channel, std::span<const record::Slot> record) {
  const record::HeaderView header(record[0]);
  Heard& heard = heard_[channel];
  const ChannelPlan& plan = day_.channels[channel];
  const Copy copy{.number = value_at(record, 2),
                  .run = static_cast<std::uint32_t>(value_at(record, 1)),
                  .salt = static_cast<std::uint32_t>(value_at(record, 4)),
                  .channel = static_cast<std::uint8_t>(value_at(record, 0)),
                  .chunk = static_cast<std::uint8_t>(value_at(record, 3)),
                  .chunks = static_cast<std::uint8_t>(value_at(record, 3)),
                  .announces = static_cast<std::uint8_t>(value_at(record, 5))};
  if (copy.chunk == heard.chunk) return;  // a datagram that is too long to hold repeats its message
  heard.chunk = copy.chunk;
  const std::uint8_t bits = plan.options.sequence_bits;
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t sequence = bits == 0 ? 0 : copy.number & mask;
  if (static_cast<std::uint32_t>(sequence) != header.sequence()) {
    listener_.contradiction(channel, fmt::format("the record of packet {} has number {}", sequence, header.sequence()));
  }
  write_datagram(plan, copy, bytes_);
  arbitrate::Packet packet{.payload = bytes_, .preamble = net::read_preamble(plan.framing, bytes_)};
  packet.preamble.sequence = sequence;
  packet.preamble.chunk = copy.chunk;
  // The datagram's last message ends its last chunk.
  const bool is_last = !plan.options.chunks || (header.flags() & record::kFlagLastOfPacket) != 0;
  packet.preamble.chunks = is_last ? copy.chunk : kManyChunks;
  heard.next = (sequence + 1) & mask;
  (void)listener_.delivered(channel, packet, header.sender_epoch());
}

/// A packet that did not decode.
void AgentReceiver::take_broken(std::size_t channel, const record::Slot& slot) {
  const record::HeaderView header(slot);
  follow_cycles(channel, header.sender_epoch(), header.sequence());
  Heard& heard = heard_[channel];
  heard.ends_datagram();
  // Records have the low half of the number.
  const auto ahead = static_cast<std::int32_t>(header.sequence() - static_cast<std::uint32_t>(heard.next));
  const std::uint8_t bits = day_.channels[channel].options.sequence_bits;
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  arbitrate::Packet packet;
  packet.preamble.sequence =
      bits <= 32 ? header.sequence() : heard.next + static_cast<std::uint64_t>(std::int64_t{ahead});
  heard.next = (packet.preamble.sequence + 1) & mask;
  (void)listener_.delivered(channel, packet, header.sender_epoch());
}

void AgentReceiver::take_event(std::size_t channel, const record::Slot& slot) {
  const record::HeaderView header(slot);
  const record::EventView event(slot);
  Heard& heard = heard_[channel];
  switch (event.kind()) {
    case record::EventKind::DecodeError:
      if (event.code() != ErrorCode::X9) take_broken(channel, slot);
      return;
    case record::EventKind::Dropped: return take_broken(channel, slot);
    case record::EventKind::Gap:
      follow_cycles(channel, header.sender_epoch(), event.first_missing());
      if (heard.has_gap_event) listener_.contradiction(channel, "a gap is in the ring, and not in the log");
      heard.has_gap_event = true;
      heard.gap_event.first = event.first_missing();
      heard.gap_event.count = event.missing();
      heard.gap_event.epoch = header.sender_epoch();
      return;
    case record::EventKind::Reset:
      if (heard.has_reset_event) listener_.contradiction(channel, "a reset is in the ring, and not in the log");
      heard.has_reset_event = true;
      heard.reset_epoch = header.sender_epoch();
      return;
    case record::EventKind::Stale:
    case record::EventKind::Recovered: return;
    case record::EventKind::LayoutChanged:
    case record::EventKind::Lost: break;
  }
  listener_.contradiction(channel, "an event that has no reason");
}

/// A carousel's cycles are told by the epoch of its records alone.
void AgentReceiver::follow_cycles(std::size_t channel, std::uint16_t epoch, std::uint64_t sequence) {
  Heard& heard = heard_[channel];
  if (!heard.is_running || day_.channels[channel].mode != Mode::Carousel) return;
  while (heard.epoch != epoch) {
    ++heard.epoch;
    heard.next = sequence;
    listener_.run(channel, {.reason = NewRun::Reason::Cycle, .epoch = heard.epoch, .sequence = sequence, .before = {}});
  }
}

// ------------------------------------------------------------------------------------------------------------ notices

void AgentReceiver::take_notices() {
  using Kind = appliance::AgentEvent::Kind;
  appliance::AgentEvent notice;
  while (agent_ != nullptr && agent_->notices().pop(notice)) {
    const std::size_t channel = notice.channel;
    Heard& heard = heard_[channel];
    switch (notice.kind) {
      case Kind::Gap: take_gap(notice); break;
      case Kind::Run: {
        const auto reason = static_cast<NewRun::Reason>(notice.detail);
        if (heard.is_running) follow_cycles(channel, static_cast<std::uint16_t>(notice.epoch - 1), notice.first);
        const bool has_event = std::exchange(heard.has_reset_event, false) && heard.reset_epoch == notice.epoch;
        if (has_event != (reason != NewRun::Reason::Start)) {
          listener_.contradiction(channel, "a run is in the log, and its reset not in the ring");
        }
        heard.is_running = true;
        heard.epoch = notice.epoch;
        heard.next = notice.first;
        heard.ends_datagram();
        listener_.run(channel, {.reason = reason,
                                .epoch = notice.epoch,
                                .sender = arbiter(channel).sender(),
                                .sequence = notice.first,
                                .before = {}});
        break;
      }
      case Kind::Conflict:
        listener_.conflict(channel, {.line = static_cast<arbitrate::Line>(notice.detail), .sequence = notice.first});
        break;
      case Kind::Late: listener_.late_of_gap(channel, notice.first, notice.count, notice.epoch); break;
      case Kind::Stale:
      case Kind::Blind:
      case Kind::Recovered:
      case Kind::Books: break;
      case Kind::Image: listener_.contradiction(channel, "another image"); break;
    }
  }
  if (agent_ != nullptr && agent_->notices().lost() != 0) listener_.contradiction(0, "notices are lost");
}

void AgentReceiver::take_gap(const appliance::AgentEvent& notice) {
  Heard& heard = heard_[notice.channel];
  const arbitrate::Gap gap{.first = notice.first,
                           .count = notice.count,
                           .epoch = notice.epoch,
                           .reason = static_cast<arbitrate::GapReason>(notice.detail),
                           .after_t_ns = notice.after_t_ns,
                           .lines = notice.lines};
  const arbitrate::Gap& event = heard.gap_event;
  if (!std::exchange(heard.has_gap_event, false) || event.first != gap.first || event.count != gap.count ||
      event.epoch != gap.epoch) {
    listener_.contradiction(notice.channel, "a gap is in the log, and another one or none in the ring");
  }
  heard.next = gap.first + gap.count;
  heard.ends_datagram();
  const appliance::GapEntry entry = appliance::Housekeeper::entry_of(notice, descriptions_[notice.channel], kSilenceNs);
  listener_.gap(notice.channel, gap,
                {.cause = cause_of(entry.cause, gap.reason),
                 .stall_ns = entry.stall_ns,
                 .is_told = true,
                 .knows_before = notice.before_t_ns != 0});
}

/// Nothing in the ring is left without its notice.
void AgentReceiver::expect_no_events() {
  for (std::size_t i = 0; i < heard_.size(); ++i) {
    if (heard_[i].has_gap_event || heard_[i].has_reset_event) {
      listener_.contradiction(i, "a gap or a reset is in the ring, and not in the log");
    }
  }
}

}  // namespace stopbit::day
