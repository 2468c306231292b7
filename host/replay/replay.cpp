#include "host/replay/replay.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "host/feed/channel/session_stage.hpp"
#include "host/os/clock.hpp"
#include "host/ports/merger.hpp"

namespace stopbit::replay {
namespace {

/// How many packets go by between two looks at the clock.
constexpr std::uint64_t kPacketsPerLook = 256;

/// Channels of a feed have numbers of their own.
std::uint16_t channel_count(const Options& options) {
  std::uint16_t count = options.feed.empty() ? options.channels : std::uint16_t{1};
  for (const feed::Channel* channel : options.feed) {
    count = std::max(count, static_cast<std::uint16_t>(channel->number + 1));
  }
  return count;
}

}  // namespace

std::optional<double> Progress::seconds_left() const noexcept {
  if (bytes_total == 0 || bytes_done == 0 || seconds <= 0 || bytes_done > bytes_total) return std::nullopt;
  return seconds * static_cast<double>(bytes_total - bytes_done) / static_cast<double>(bytes_done);
}

EngineOptions engine_options(const Options& options) {
  EngineOptions engine;
  engine.reset = feed::engine_rule(options.feed.empty() ? options.framing : options.feed.front()->framing);
  engine.strict = options.strict;
  engine.limits = options.limits;
  engine.channels = channel_count(options);
  engine.image_generation = options.image_generation;
  return engine;
}

bool same_reset_rule(std::span<const feed::Channel* const> channels) {
  return std::all_of(channels.begin(), channels.end(), [&](const feed::Channel* channel) {
    return feed::engine_rule(channel->framing) == feed::engine_rule(channels.front()->framing);
  });
}

Replay::Replay(const Program& program, Engine& engine, record::RecordSink& sink, Options options)
    : program_(program),
      options_(std::move(options)),
      builder_(program),
      filter_(options_.groups),
      flows_(options_.channels),
      numbers_(options_.framing, options_.feed.empty() ? options_.channels : std::size_t{0}),
      lines_(2 * options_.feed.size()),
      set_(options_.feed.size()) {
  auto template_counts = std::make_unique<TemplateCounts>(program.templates.size());
  template_counts_ = template_counts.get();
  stages_.add(std::move(template_counts));
  auto session = options_.feed.empty() ? nullptr : feed::SessionStage::make(program);
  feed::SessionStage* const session_stage = session.get();
  if (session) stages_.add(std::move(session));
  target_ = {.engine = &engine,
             .sink = &stages_.connect(sink),
             .builder = &builder_,
             .image_generation = options_.image_generation,
             .session = session_stage};
  for (std::size_t i = 0; i < options_.feed.size(); ++i) {
    const feed::Channel& description = *options_.feed[i];
    for (std::size_t line = 0; line < description.lines.size(); ++line) {
      const auto& source = description.lines[line];
      if (!source) continue;
      lines_.add(source->group, source->source,
                 {.channel = static_cast<std::uint32_t>(i), .line = static_cast<arbitrate::Line>(line)});
    }
    if (!is_own(i)) continue;
    feed_.push_back(std::make_unique<FeedChannel>(*this, description, static_cast<std::uint16_t>(i)));
    set_.add(feed_.back()->decoder());
  }
  if (options_.feed.empty()) {
    groups_.reserve(options_.channels / options_.parts + std::size_t{1});
    for (std::uint32_t channel = options_.part; channel < options_.channels; channel += options_.parts) {
      groups_.push_back({.decoder = {options_.framing, static_cast<std::uint16_t>(channel), target_, counts_, *this}});
    }
  }
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
  start_ns_ = os::monotonic_clock_ns();
  next_progress_ns_ = start_ns_ + options_.progress_interval_ns;
}

void Replay::finish() noexcept {
  ++place_.packet;
  place_.is_taken = false;
  set_.finish();
}

Summary Replay::end(std::span<const std::unique_ptr<ingest::PacketSource>> sources) {
  finish();
  loop_.seconds = static_cast<double>(os::monotonic_clock_ns() - start_ns_) / 1e9;
  report_progress(true);
  // A pipe through which nothing comes ends by request, too.
  loop_.stopped = summary_.stopped || stop_.load(std::memory_order_relaxed);
  Replay* const self = this;
  return account({&self, 1}, std::move(loop_), sources);
}

/// Everything that is counted by channel.
void Replay::add_to(Summary& summary) const {
  summary.ignored_bytes += counts_.ignored_bytes;
  summary.datagrams += counts_.datagrams;
  summary.datagram_bytes += counts_.datagram_bytes;
  summary.dropped += counts_.dropped;
  summary.chunks += counts_.chunks;
  summary.joined += counts_.joined;
  summary.incomplete += counts_.incomplete;
  summary.oversized += counts_.oversized;
  summary.messages += counts_.messages;
  summary.fields += counts_.fields;
  const std::vector<std::uint64_t>& templates = template_counts_->counts();
  summary.templates.resize(templates.size());
  for (std::size_t i = 0; i < templates.size(); ++i) summary.templates[i] += templates[i];
  for (const Group& group : groups_) summary.incomplete += group.decoder.open_messages();
  for (const auto& channel : feed_) summary.incomplete += channel->decoder().decoder().open_messages();
  for (std::size_t i = 0; i < summary.errors.size(); ++i) summary.errors[i] += errors_[i];
}

Summary Replay::account(std::span<Replay* const> parts, LoopCounts loop,
                        std::span<const std::unique_ptr<ingest::PacketSource>> sources) {
  const Replay& first = *parts.front();
  Summary summary = first.summary_;
  summary.captures = loop.captures;
  summary.faults = loop.faults.size();
  // Without channels nothing depends on the order.
  if (!first.options_.feed.empty()) summary.disorder = loop.order.disorder();
  summary.stopped = loop.stopped;
  summary.seconds = loop.seconds;
  std::vector<const Problem*> problems;
  std::size_t problem_count = 0;
  for (const Replay* part : parts) {
    part->add_to(summary);
    problem_count += part->problem_count_;
    for (std::size_t i = 0; i < std::min(part->problem_count_, kNamedProblems); ++i) {
      problems.push_back(&part->problems_[i]);
    }
  }
  const std::size_t count = parts.size();
  for (std::size_t i = 0; i < first.flows_.groups().size(); ++i) {
    const Replay& owner = *parts[i % count];
    summary.groups.push_back({first.flows_.groups()[i], owner.groups_[i / count].datagrams, owner.numbers_.count(i)});
  }
  for (std::size_t i = 0; i < first.options_.feed.size(); ++i) {
    summary.channels.push_back(parts[i % count]->feed_[i / count]->count());
  }
  std::stable_sort(problems.begin(), problems.end(), [](const Problem* a, const Problem* b) {
    const auto key = [](const Place& place) {
      return std::tuple(place.packet, place.is_taken, place.is_taken ? 0 : place.channel);
    };
    return key(a->place) < key(b->place);
  });
  problems.resize(std::min(problems.size(), kNamedProblems));
  for (const Problem* problem : problems) summary.problems.push_back(first.words(*problem, sources));
  summary.problems.insert(summary.problems.end(), loop.faults.begin(), loop.faults.end());
  summary.problems_unnamed = problem_count - problems.size();
  return summary;
}

void Replay::run_source(std::span<Replay* const> replays, std::size_t index, ingest::PacketSource& source) {
  Replay& first = *replays.front();
  for (Replay* replay : replays) replay->source_ = &source;
  ingest::Packet packet;
  bool has_packet = false;
  while (first.may_go_on()) {
    const ingest::Next next = source.next(packet);
    if (next == ingest::Next::Fault) first.note_fault(source);
    if (next != ingest::Next::Packet) break;
    if (!std::exchange(has_packet, true)) first.loop_.order.begin(source.name(), packet.arrival_ns);
    if (!first.wait_for(packet)) continue;
    for (Replay* replay : replays) replay->take_packet(packet, index, source.time_quality());
  }
  if (has_packet) first.loop_.order.end(source.name(), first.summary_.last_arrival_ns);
  for (Replay* replay : replays) {
    ++replay->loop_.captures;
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
    const ingest::PacketSource& source = *sources[merger.source()];
    if (next == ingest::Next::Fault) {
      first.note_fault(source);
    } else if (first.wait_for(packet)) {
      for (Replay* replay : replays) replay->take_packet(packet, merger.source(), source.time_quality());
    }
  }
  for (Replay* replay : replays) replay->loop_.captures += sources.size();
}

/// A pipe that a request has ended in the middle is not damaged.
void Replay::note_fault(const ingest::PacketSource& source) {
  if (!stop_.load(std::memory_order_relaxed)) loop_.faults.push_back(source.fault().message);
}

bool Replay::may_go_on() noexcept {
  summary_.stopped = stop_.load(std::memory_order_relaxed);
  summary_.limited = options_.limit != 0 && counts_.datagrams >= options_.limit;
  return !summary_.stopped && !summary_.limited;
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

void Replay::take_packet(const ingest::Packet& packet, std::size_t source, record::TimeQuality time_quality) {
  source_index_ = source;
  place_ = {.packet = ++summary_.packets};
  if (summary_.packets == 1) summary_.first_arrival_ns = packet.arrival_ns;
  summary_.last_arrival_ns = packet.arrival_ns;
  summary_.packet_bytes += packet.frame.size();

  net::Datagram datagram;
  const net::Verdict verdict = net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram);
  const bool accepted = verdict == net::Verdict::Accepted;
  const feed::LineTarget* line = nullptr;
  if (!options_.feed.empty()) {
    set_.tick(packet.arrival_ns);
    line = lines_.find(datagram.destination, datagram.source.address);
    if (line == nullptr && datagram.destination.port != 0) {  // a port of 0 could not be read
      ++summary_.filtered;
      return;
    }
  }
  place_.is_taken = true;
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
    if (!is_own(line->channel)) return;
    const feed::Received received{.payload = datagram.payload,
                                  .arrival_ns = packet.arrival_ns,
                                  .t_ns = packet.arrival_ns,
                                  .number = packet.number,
                                  .time_quality = time_quality,
                                  .source = datagram.source.address};
    return set_.take({.channel = line->channel / options_.parts, .line = line->line}, received);
  }
  PacketInfo info{.arrival_ns = packet.arrival_ns, .number = packet.number, .time_quality = time_quality};
  take_of_group(datagram, info);
}

/// A frame that holds no datagram we could decode. If one of a known group was in it, its channel has lost data.
void Replay::lose_frame(const ingest::Packet& packet, net::Verdict verdict, net::Endpoint group) {
  if (net::verdict_class(verdict) == net::VerdictClass::Other) return;
  if (is_first_part()) {
    note({.source = source_index_,
          .packet = packet.number,
          .verdict = verdict,
          .captured_bytes = packet.frame.size(),
          .original_bytes = packet.original_bytes,
          .group = group});
  }
  const auto channel = flows_.find(group);
  if (channel && is_own(*channel)) groups_[*channel / options_.parts].decoder.invalidate();
}

void Replay::take_of_group(const net::Datagram& datagram, PacketInfo& info) {
  const auto channel = flows_.channel(datagram.destination);
  if (!channel) {
    if (summary_.ungrouped++ == 0 && is_first_part())
      note({.source = source_index_, .packet = info.number, .group = datagram.destination});
    return;
  }
  if (!is_own(*channel)) return;
  Group& group = groups_[*channel / options_.parts];
  ++group.datagrams;
  info.channel = *channel;
  const net::Preamble preamble = net::read_preamble(options_.framing, datagram.payload);
  if (preamble.error == ErrorCode::None) numbers_.take(info.channel, preamble);
  if (preamble.error != ErrorCode::None) {
    info.sender_epoch = group.sender_epoch;
    return group.decoder.lose(datagram.payload, info);
  }
  info.sequence = static_cast<std::uint32_t>(preamble.sequence);
  if (group.has_sender && group.sender != preamble.sender) ++group.sender_epoch;
  group.has_sender = true;
  group.sender = preamble.sender;
  info.sender_epoch = group.sender_epoch;
  group.decoder.decode(datagram.payload, preamble, info);
}

void Replay::decode_error(const Outcome& outcome, const PacketInfo& info,
                          std::span<const std::byte> datagram) noexcept {
  ++errors_[static_cast<std::size_t>(outcome.error)];
  note({.source = source_index_,
        .packet = info.number,
        .outcome = outcome,
        .bytes = feed::excerpt(datagram, outcome.offset_bytes)});
}

void Replay::malformed(const Outcome& outcome, const PacketInfo& info, std::span<const std::byte> datagram) noexcept {
  decode_error(outcome, info, datagram);
}

void Replay::note(Problem problem) {
  problem.place = place_;
  if (problem_count_ < kNamedProblems) problems_[problem_count_] = problem;
  ++problem_count_;
}

std::string Replay::words(const Problem& problem,
                          std::span<const std::unique_ptr<ingest::PacketSource>> sources) const {
  const std::string start = std::string(sources[problem.source]->name()) + ": packet " + std::to_string(problem.packet);
  const std::string group = problem.group.port != 0 ? ", to " + net::to_text(problem.group) : "";
  if (problem.verdict == net::Verdict::SnapCut) {
    return start + group + ": cut by the capture: " + std::to_string(problem.captured_bytes) + " of " +
           std::to_string(problem.original_bytes) + " bytes are present";
  }
  if (problem.verdict != net::Verdict::Accepted)
    return start + group + ": " + std::string(net::verdict_text(problem.verdict));
  const Outcome& outcome = problem.outcome;
  if (outcome.error == ErrorCode::None) {
    return start + group + ": more than " + std::to_string(options_.channels) +
           " groups in the capture; this group and later ones are not decoded (select groups with --group)";
  }
  return start + ", " + feed::error_text(program_, outcome, problem.bytes);
}

void Replay::report_progress(bool finished) {
  if (!options_.on_progress) return;
  const std::uint64_t now = os::monotonic_clock_ns();
  if (!finished && now < next_progress_ns_) return;
  next_progress_ns_ = now + options_.progress_interval_ns;
  Progress progress;
  progress.bytes_done = earlier_bytes_ + (source_ != nullptr ? source_->progress().bytes_done : 0);
  for (const auto& source : merged_) progress.bytes_done += source->progress().bytes_done;
  progress.bytes_total = total_bytes_;
  progress.packets = summary_.packets;
  progress.messages = counts_.messages;
  progress.seconds = static_cast<double>(now - start_ns_) / 1e9;
  progress.finished = finished;
  options_.on_progress(progress);
}

ChannelCount Replay::FeedChannel::count() const {
  const feed::Channel& description = decoder_.description();
  const arbitrate::Arbiter& arbiter = decoder_.arbiter();
  ChannelCount count{.number = description.number,
                     .name = description.name,
                     .ordered = description.mode == feed::Mode::Ordered,
                     .account = arbiter.total(),
                     .gaps = arbiter.gaps(),
                     .runs = arbiter.runs(),
                     .resets = resets_,
                     .has_line = {},
                     .lines = {},
                     .late_by = arbiter.late_by()};
  for (std::size_t i = 0; i < count.lines.size(); ++i) {
    count.has_line[i] = description.lines[i].has_value();
    count.lines[i] = arbiter.line(static_cast<arbitrate::Line>(i));
  }
  return count;
}

}  // namespace stopbit::replay
