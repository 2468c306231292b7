#include "host/replay/replay.hpp"

#include <algorithm>
#include <utility>

#include "host/feed/arbiter_options.hpp"
#include "host/ingest/merger.hpp"

namespace stopbit::replay {
namespace {

/// How many packets go by between two looks at the clock.
constexpr std::uint64_t kPacketsPerLook = 256;

/// A datagram of blocks is several runs of the engine; the reset before it is ours then.
ResetRule engine_rule(const net::Framing& framing) {
  return framing.blocks && framing.reset == ResetRule::Packet ? ResetRule::Template : framing.reset;
}

/// Channels of a feed have numbers of their own.
std::uint16_t channel_count(const Options& options) {
  std::uint16_t count = options.feed.empty() ? options.channels : std::uint16_t{1};
  for (const feed::Channel* channel : options.feed) {
    count = std::max(count, static_cast<std::uint16_t>(channel->number + 1));
  }
  return count;
}

bool has_chunks(const Options& options) {
  if (options.feed.empty()) return options.framing.kind == net::FramingKind::B3;
  return std::any_of(options.feed.begin(), options.feed.end(),
                     [](const feed::Channel* channel) { return channel->framing.kind == net::FramingKind::B3; });
}

}  // namespace

std::optional<double> Progress::seconds_left() const noexcept {
  if (bytes_total == 0 || bytes_done == 0 || seconds <= 0 || bytes_done > bytes_total) return std::nullopt;
  return seconds * static_cast<double>(bytes_total - bytes_done) / static_cast<double>(bytes_done);
}

EngineOptions engine_options(const Options& options) {
  EngineOptions engine;
  engine.reset = engine_rule(options.feed.empty() ? options.framing : options.feed.front()->framing);
  engine.strict = options.strict;
  engine.limits = options.limits;
  engine.channels = channel_count(options);
  engine.image_generation = options.image_generation;
  return engine;
}

bool same_reset_rule(std::span<const feed::Channel* const> channels) {
  return std::all_of(channels.begin(), channels.end(), [&](const feed::Channel* channel) {
    return engine_rule(channel->framing) == engine_rule(channels.front()->framing);
  });
}

Replay::Replay(const Program& program, Engine& engine, record::RecordSink& sink, Options options)
    : program_(program),
      engine_(engine),
      sink_(sink, program.templates.size()),
      discard_(sink),
      options_(std::move(options)),
      filter_(options_.groups),
      flows_(options_.channels),
      builder_(program),
      channels_(channel_count(options_)),
      lines_(2 * options_.feed.size()) {
  for (Channel& channel : channels_) channel.framing = &options_.framing;
  for (const feed::Channel* description : options_.feed) {
    channels_[description->number].framing = &description->framing;
    for (std::size_t i = 0; i < description->lines.size(); ++i) {
      const auto& line = description->lines[i];
      const auto index = static_cast<std::uint32_t>(feed_.size());
      if (line) lines_.add(line->group, line->source, {index, static_cast<arbitrate::Line>(i)});
    }
    feed_.push_back(std::make_unique<FeedChannel>(*this, *description));
  }
  if (has_chunks(options_)) chunks_ = std::make_unique<net::ChunkAssembler>(channel_count(options_));
  if (options_.speed > 0) pacer_.emplace(options_.speed);
}

Summary Replay::run(std::span<const std::unique_ptr<ingest::PacketSource>> sources) {
  Replay* const self = this;
  return std::move(run_together({&self, 1}, sources).front());
}

std::vector<Summary> Replay::run_together(std::span<Replay* const> replays,
                                          std::span<const std::unique_ptr<ingest::PacketSource>> sources) {
  for (Replay* replay : replays) replay->begin(sources);
  const Summary& first = replays.front()->summary_;
  if (replays.front()->options_.merge) {
    run_merged(replays, sources);
  } else {
    for (std::size_t i = 0; i < sources.size() && !first.stopped && !first.limited; ++i) {
      run_source(replays, i, *sources[i]);
    }
  }
  std::vector<Summary> summaries;
  for (Replay* replay : replays) summaries.push_back(replay->end(sources));
  return summaries;
}

void Replay::begin(std::span<const std::unique_ptr<ingest::PacketSource>> sources) {
  bool total_known = true;
  for (const auto& source : sources) {
    const std::uint64_t bytes = source->progress().bytes_total;
    total_known = total_known && bytes != 0;
    total_bytes_ += bytes;
  }
  if (!total_known) total_bytes_ = 0;
  start_ns_ = now_ns();
  next_progress_ns_ = start_ns_ + options_.progress_interval_ns;
}

Summary Replay::end(std::span<const std::unique_ptr<ingest::PacketSource>> sources) {
  for (const auto& channel : feed_) channel->arbiter.finish(*channel);
  summary_.seconds = static_cast<double>(now_ns() - start_ns_) / 1e9;
  report_progress(true);

  if (chunks_) summary_.incomplete += chunks_->open_messages();
  summary_.templates = sink_.counts();
  for (std::size_t i = 0; i < flows_.groups().size(); ++i) {
    summary_.groups.push_back({flows_.groups()[i], channels_[i].datagrams});
  }
  for (const auto& channel : feed_) summary_.channels.push_back(channel->count());
  for (std::size_t i = 0; i < std::min(problem_count_, kNamedProblems); ++i) {
    summary_.problems.push_back(words(problems_[i], sources));
  }
  summary_.problems.insert(summary_.problems.end(), faults_.begin(), faults_.end());
  summary_.problems_unnamed = problem_count_ - std::min(problem_count_, kNamedProblems);
  return std::move(summary_);
}

void Replay::run_source(std::span<Replay* const> replays, std::size_t index, ingest::PacketSource& source) {
  Replay& first = *replays.front();
  for (Replay* replay : replays) {
    replay->source_index_ = index;
    replay->source_ = &source;
  }
  ingest::Packet packet;
  while (first.may_go_on()) {
    const ingest::Next next = source.next(packet);
    if (next == ingest::Next::Fault) first.take_fault(source);
    if (next != ingest::Next::Packet) break;
    if (!first.wait_for(packet)) continue;
    for (Replay* replay : replays) replay->take_packet(packet, source.time_quality());
  }
  for (Replay* replay : replays) {
    ++replay->summary_.captures;
    replay->earlier_bytes_ += source.progress().bytes_total;
    replay->source_ = nullptr;
  }
}

/// All sources at once, in the order of their times.
void Replay::run_merged(std::span<Replay* const> replays,
                        std::span<const std::unique_ptr<ingest::PacketSource>> sources) {
  Replay& first = *replays.front();
  first.merged_ = sources;
  ingest::Merger merger(sources);
  ingest::Packet packet;
  while (first.may_go_on()) {
    const ingest::Next next = merger.next(packet);
    if (next == ingest::Next::End) break;
    for (Replay* replay : replays) replay->source_index_ = merger.source();
    const ingest::PacketSource& source = *sources[merger.source()];
    if (next == ingest::Next::Fault) {
      first.take_fault(source);
    } else if (first.wait_for(packet)) {
      for (Replay* replay : replays) replay->take_packet(packet, source.time_quality());
    }
  }
  for (Replay* replay : replays) replay->summary_.captures += sources.size();
}

bool Replay::may_go_on() noexcept {
  summary_.stopped = stop_.load(std::memory_order_relaxed);
  summary_.limited = options_.limit != 0 && summary_.datagrams >= options_.limit;
  return !summary_.stopped && !summary_.limited;
}

void Replay::take_fault(const ingest::PacketSource& source) {
  ++summary_.faults;
  faults_.push_back(source.fault().message);
}

/// Waits for the packet's time if the replay is paced, and reports progress. False: the replay is to stop.
bool Replay::wait_for(const ingest::Packet& packet) {
  if (pacer_) {
    while (!pacer_->due(packet.arrival_ns, options_.progress_interval_ns, stop_)) {
      if (stop_.load(std::memory_order_relaxed)) return false;
      report_progress(false);
    }
  }
  if (pacer_ || summary_.packets % kPacketsPerLook == 0) report_progress(false);
  return true;
}

void Replay::take_packet(const ingest::Packet& packet, record::TimeQuality time_quality) {
  if (summary_.packets++ == 0) summary_.first_arrival_ns = packet.arrival_ns;
  summary_.last_arrival_ns = packet.arrival_ns;
  summary_.packet_bytes += packet.frame.size();

  net::Datagram datagram;
  const net::Verdict verdict = net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram);
  const bool accepted = verdict == net::Verdict::Accepted;
  const feed::LineTarget* line = nullptr;
  if (!feed_.empty()) {
    run_deadlines(packet.arrival_ns);
    line = lines_.find(datagram.destination, datagram.source.address);
    if (line == nullptr && datagram.destination.port != 0) {  // a port of 0 could not be read
      ++summary_.filtered;
      return;
    }
  }
  if (accepted ? !filter_.accepts(datagram.destination) : !filter_.may_accept(datagram.destination)) {
    ++summary_.filtered;
    return;
  }
  ++summary_.verdicts[static_cast<std::size_t>(verdict)];
  if (!accepted) {
    lose_frame(packet, verdict, datagram.destination);
    return;
  }
  summary_.ignored_bytes += datagram.ignored_bytes;
  if (line != nullptr) {
    PacketInfo info{.arrival_ns = packet.arrival_ns, .number = packet.number, .time_quality = time_quality};
    return take_of_feed(datagram, *line, info);
  }
  const auto channel = flows_.channel(datagram.destination);
  if (!channel) {
    if (summary_.ungrouped++ == 0)
      note({.source = source_index_, .packet = packet.number, .group = datagram.destination});
    return;
  }
  PacketInfo info{
      .arrival_ns = packet.arrival_ns, .number = packet.number, .channel = *channel, .time_quality = time_quality};
  take_datagram(datagram.payload, info);
}

/// A frame that holds no datagram we could decode. If one of a known group was in it, its channel has lost data.
void Replay::lose_frame(const ingest::Packet& packet, net::Verdict verdict, net::Endpoint group) {
  if (net::verdict_class(verdict) == net::VerdictClass::Other) return;
  note({.source = source_index_,
        .packet = packet.number,
        .verdict = verdict,
        .captured_bytes = packet.frame.size(),
        .original_bytes = packet.original_bytes,
        .group = group});
  if (const auto channel = flows_.find(group)) invalidate(*channel);
}

void Replay::take_of_feed(const net::Datagram& datagram, const feed::LineTarget& target, PacketInfo& info) {
  FeedChannel& channel = *feed_[target.channel];
  const arbitrate::Packet packet{.payload = datagram.payload,
                                 .preamble = net::read_preamble(channel.description().framing, datagram.payload),
                                 .line = target.line,
                                 .time_quality = info.time_quality,
                                 .arrival_ns = info.arrival_ns,
                                 .number = info.number};
  channel.arbiter.offer(packet, info.arrival_ns, channel);
  next_deadline_ns_ = std::min(next_deadline_ns_, channel.arbiter.next_deadline().value_or(kNoDeadline));
  if (packet.preamble.error == ErrorCode::None) return;
  info.channel = channel.description().number;
  info.sender_epoch = channel.arbiter.epoch();
  decode_datagram(datagram.payload, packet.preamble, info);  // which tells the error
}

/// Arbiters whose windows have closed by the time of the next packet.
void Replay::run_deadlines(std::uint64_t now) {
  if (now < next_deadline_ns_) return;
  next_deadline_ns_ = kNoDeadline;
  for (const auto& channel : feed_) {
    channel->arbiter.tick(now, *channel);
    next_deadline_ns_ = std::min(next_deadline_ns_, channel->arbiter.next_deadline().value_or(kNoDeadline));
  }
}

void Replay::take_datagram(std::span<const std::byte> datagram, PacketInfo& info) {
  Channel& channel = channels_[info.channel];
  ++channel.datagrams;
  const net::Preamble preamble = net::read_preamble(options_.framing, datagram);
  if (preamble.error == ErrorCode::None) {
    info.sequence = static_cast<std::uint32_t>(preamble.sequence);
    if (channel.has_sender && channel.sender != preamble.sender) ++channel.sender_epoch;
    channel.has_sender = true;
    channel.sender = preamble.sender;
  }
  info.sender_epoch = channel.sender_epoch;
  decode_datagram(datagram, preamble, info);
}

void Replay::decode_datagram(std::span<const std::byte> datagram, net::Preamble preamble, PacketInfo& info) {
  const net::Framing& framing = *channels_[info.channel].framing;
  if (preamble.error == ErrorCode::None) summary_.ignored_bytes += datagram.size() - preamble.data_end;
  if (framing.kind == net::FramingKind::B3 && preamble.error == ErrorCode::None) {
    const net::ChunkAssembler::Answer answer = chunks_->add(info.channel, datagram, preamble);
    const bool is_chunk = preamble.chunks > 1;
    using State = net::ChunkAssembler::State;
    summary_.chunks += is_chunk ? 1 : 0;
    summary_.incomplete += (answer.gave_up ? 1U : 0U) + (answer.state == State::Orphan ? 1U : 0U);
    summary_.oversized += answer.state == State::TooLong ? 1 : 0;
    if (answer.state != State::Complete) return;
    summary_.joined += is_chunk ? 1 : 0;
    datagram = answer.whole;
    preamble.data_end = static_cast<std::uint32_t>(datagram.size());
  }

  ++summary_.datagrams;
  summary_.datagram_bytes += datagram.size();
  info.data_offset = preamble.data_begin;
  if (preamble.error != ErrorCode::None) {
    // The engine tells a datagram that ends before its data begins as every other error, and invalidates the channel.
    info.data_offset = static_cast<std::uint32_t>(datagram.size()) + 1;
    run_engine(datagram, info);
  } else if (framing.blocks) {
    run_blocks(datagram, preamble, info);
  } else {
    run_engine(datagram.first(preamble.data_end), info);
  }
}

void Replay::run_blocks(std::span<const std::byte> datagram, const net::Preamble& preamble, PacketInfo& info) {
  if (channels_[info.channel].framing->reset == ResetRule::Packet) engine_.reset(info.channel);
  net::BlockReader blocks(datagram, preamble.data_begin, preamble.data_end);
  while (const auto block = blocks.next()) {
    if (block->error == ErrorCode::None) {
      info.data_offset = block->begin;
      if (!run_engine(datagram.first(block->end), info)) return;
      continue;
    }
    Outcome outcome;
    outcome.error = block->error;
    outcome.offset_bytes = block->begin;
    write_event(info, {.code = block->error, .word5 = block->begin, .word6 = info.number});
    take_error(outcome, info, datagram);
    invalidate(info.channel);
  }
}

void Replay::write_event(const PacketInfo& info, const record::Event& event) {
  const record::Header header{.arrival_ns = info.arrival_ns,
                              .sequence = info.sequence,
                              .channel = info.channel,
                              .image_generation = options_.image_generation,
                              .sender_epoch = info.sender_epoch,
                              .source = info.source,
                              .time_quality = info.time_quality};
  builder_.write_event(sink_, header, event, 0);
}

/// False if the rest of the datagram is to be dropped.
bool Replay::run_engine(std::span<const std::byte> datagram, const PacketInfo& info) {
  const Outcome outcome = engine_.decode(datagram, info, sink_);
  summary_.messages += outcome.messages;
  summary_.fields += outcome.fields;
  summary_.dropped += outcome.dropped ? 1 : 0;
  if (outcome.error != ErrorCode::None) take_error(outcome, info, datagram);
  return outcome.error == ErrorCode::None && !outcome.dropped;
}

void Replay::take_error(const Outcome& outcome, const PacketInfo& info, std::span<const std::byte> datagram) {
  ++summary_.errors[static_cast<std::size_t>(outcome.error)];
  note({.source = source_index_,
        .packet = info.number,
        .outcome = outcome,
        .bytes = excerpt(datagram, outcome.offset_bytes)});
}

/// Data of the channel was lost: unless each datagram stands for itself, what follows waits for a reset.
void Replay::invalidate(std::uint16_t channel) {
  if (channels_[channel].framing->reset == ResetRule::Packet) return;
  const PacketInfo beyond_the_end{.data_offset = 1, .channel = channel};
  (void)engine_.decode({}, beyond_the_end, discard_);
}

void Replay::note(const Problem& problem) {
  if (problem_count_ < kNamedProblems) problems_[problem_count_] = problem;
  ++problem_count_;
}

std::string Replay::words(const Problem& problem,
                          std::span<const std::unique_ptr<ingest::PacketSource>> sources) const {
  const std::string start = std::string(sources[problem.source]->name()) + ": packet " + std::to_string(problem.packet);
  const std::string group = problem.group.port != 0 ? ", to " + net::to_text(problem.group) : "";
  if (problem.verdict == net::Verdict::SnapCut) {
    return start + group + ": cut by the capture: " + std::to_string(problem.captured_bytes) + " of " +
           std::to_string(problem.original_bytes) + " bytes are there";
  }
  if (problem.verdict != net::Verdict::Accepted)
    return start + group + ": " + std::string(net::verdict_text(problem.verdict));
  const Outcome& outcome = problem.outcome;
  if (outcome.error == ErrorCode::None) {
    return start + group + ": more than " + std::to_string(options_.channels) +
           " groups in the capture; this one and those after it are not decoded (choose some with --group)";
  }
  return start + ", " + error_text(program_, outcome, problem.bytes);
}

void Replay::report_progress(bool finished) {
  if (!options_.on_progress) return;
  const std::uint64_t now = now_ns();
  if (!finished && now < next_progress_ns_) return;
  next_progress_ns_ = now + options_.progress_interval_ns;
  Progress progress;
  progress.bytes_done = earlier_bytes_ + (source_ != nullptr ? source_->progress().bytes_done : 0);
  for (const auto& source : merged_) progress.bytes_done += source->progress().bytes_done;
  progress.bytes_total = total_bytes_;
  progress.packets = summary_.packets;
  progress.messages = summary_.messages;
  progress.seconds = static_cast<double>(now - start_ns_) / 1e9;
  progress.finished = finished;
  options_.on_progress(progress);
}

// ----------------------------------------------------------------------------------------------- channels of a feed

Replay::FeedChannel::FeedChannel(Replay& replay, const feed::Channel& description)
    : arbiter(feed::arbiter_options(description)), replay_(replay), description_(description) {}

void Replay::FeedChannel::deliver(const arbitrate::Packet& packet, std::uint16_t epoch) noexcept {
  PacketInfo info{.arrival_ns = packet.arrival_ns,
                  .number = packet.number,
                  .sequence = static_cast<std::uint32_t>(packet.preamble.sequence),
                  .channel = description_.number,
                  .sender_epoch = epoch,
                  .source = packet.line == arbitrate::Line::A ? record::SourceLine::LineA : record::SourceLine::LineB,
                  .time_quality = packet.time_quality};
  replay_.decode_datagram(packet.payload, packet.preamble, info);
}

void Replay::FeedChannel::gap(const arbitrate::Gap& gap) noexcept {
  replay_.invalidate(description_.number);
  const PacketInfo info{.arrival_ns = gap.now_ns,
                        .sequence = static_cast<std::uint32_t>(gap.first),
                        .channel = description_.number,
                        .sender_epoch = gap.epoch};
  replay_.write_event(info, {.kind = record::EventKind::Gap, .word5 = gap.first, .word6 = gap.count});
}

void Replay::FeedChannel::epoch(const arbitrate::NewRun& run) noexcept {
  // A cycle of a carousel is nothing that happens to a reader, who sees its epoch.
  if (run.reason == arbitrate::NewRun::Reason::Sender) reset(run);
}

void Replay::FeedChannel::reset(const arbitrate::NewRun& run) noexcept {
  ++resets;
  replay_.invalidate(description_.number);
  const PacketInfo info{.arrival_ns = run.now_ns,
                        .sequence = static_cast<std::uint32_t>(run.sequence),
                        .channel = description_.number,
                        .sender_epoch = run.epoch};
  replay_.write_event(info, {.kind = record::EventKind::Reset, .word6 = run.packet});
}

ChannelCount Replay::FeedChannel::count() const {
  ChannelCount count{.number = description_.number,
                     .name = description_.name,
                     .ordered = description_.mode == feed::Mode::Ordered,
                     .account = arbiter.total(),
                     .gaps = arbiter.gaps(),
                     .runs = arbiter.runs(),
                     .resets = resets,
                     .has_line = {},
                     .lines = {},
                     .late_by = arbiter.late_by()};
  for (std::size_t i = 0; i < count.lines.size(); ++i) {
    count.has_line[i] = description_.lines[i].has_value();
    count.lines[i] = arbiter.line(static_cast<arbitrate::Line>(i));
  }
  return count;
}

}  // namespace stopbit::replay
