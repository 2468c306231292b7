#include "host/appliance/channel.hpp"

#include <algorithm>

#include "host/feed/arbiter_options.hpp"
#include "host/replay/counting_sink.hpp"
#include "host/replay/error_text.hpp"

namespace stopbit::appliance {
namespace {

using arbitrate::Line;

arbitrate::Options arbiter_options(const feed::Channel& channel, std::uint64_t silence_ns) {
  arbitrate::Options options = feed::arbiter_options(channel);
  options.silence_ns = silence_ns;
  return options;
}

record::SourceLine source_of(Line line) {
  switch (line) {
    case Line::A: return record::SourceLine::LineA;
    case Line::B: return record::SourceLine::LineB;
    case Line::Replay: return record::SourceLine::Replay;
  }
  return record::SourceLine::LineA;
}

}  // namespace

Channel::Channel(const feed::Channel& description, std::uint32_t index, Outlet& outlet, const ChannelTally& tally,
                 Shared& shared)
    : description_(description),
      index_(index),
      outlet_(outlet),
      tally_(tally),
      shared_(shared),
      arbiter_(arbiter_options(description, shared.silence_ns)),
      engine_rule_(engine_rule(description.framing)) {
  if (description.framing.kind == net::FramingKind::B3) chunks_ = std::make_unique<net::ChunkAssembler>(1);
}

void Channel::take(Line line, const ingest::Arrival& arrival, std::uint64_t now_ns) noexcept {
  const arbitrate::Packet packet{.payload = arrival.payload,
                                 .preamble = net::read_preamble(description_.framing, arrival.payload),
                                 .line = line,
                                 .time_quality = arrival.time_quality,
                                 .arrival_ns = arrival.arrival_ns,
                                 .number = ++shared_.datagrams};
  shared_.newest_ns = arrival.arrival_ns;
  const std::uint64_t late = arbiter_.late_packets();
  arbiter_.offer(packet, now_ns, *this);
  if (arbiter_.late_packets() != late) note_late(packet, now_ns);
  if (packet.preamble.error == ErrorCode::None) return;
  const std::size_t bytes = std::min(arrival.payload.size(), counters::kSampleBytes);
  const counters::ErrorFact fact{.time_ns = now_ns,
                                 .channel = description_.number,
                                 .code = static_cast<std::uint8_t>(packet.preamble.error),
                                 .sample = arrival.payload.first(bytes)};
  if (shared_.tally.errors.add(fact)) keep_evidence(fact, 0, arrival.payload);
}

/// Tells by how much the only copy of a number has missed its window.
void Channel::note_late(const arbitrate::Packet& packet, std::uint64_t now_ns) noexcept {
  for (const RememberedGap& gap : gaps_) {
    if (packet.preamble.sequence - gap.first >= gap.count) continue;
    shared_.notices.push({.kind = Notice::Kind::Late,
                          .channel = index_,
                          .time_ns = now_ns,
                          .first = packet.preamble.sequence,
                          .count = now_ns > gap.time_ns ? now_ns - gap.time_ns : 0,
                          .epoch = arbiter_.epoch()});
    return;
  }
}

void Channel::deliver(const arbitrate::Packet& packet, std::uint16_t epoch) noexcept {
  net::Preamble preamble = packet.preamble;
  std::span<const std::byte> datagram = packet.payload;
  PacketInfo info{.arrival_ns = packet.arrival_ns,
                  .number = packet.number,
                  .sequence = static_cast<std::uint32_t>(preamble.sequence),
                  .channel = description_.number,
                  .sender_epoch = epoch,
                  .source = source_of(packet.line),
                  .time_quality = packet.time_quality};
  tally_.last_delivery.set(packet.arrival_ns);
  if (chunks_) {
    const net::ChunkAssembler::Answer answer = chunks_->add(0, datagram, preamble);
    if (answer.state != net::ChunkAssembler::State::Complete) return;
    datagram = answer.whole;
    preamble.data_end = static_cast<std::uint32_t>(datagram.size());
  }
  tally_.datagrams.add();
  info.data_offset = preamble.data_begin;
  if (description_.framing.blocks) {
    run_blocks(datagram, preamble, info);
  } else if (run_engine(datagram.first(preamble.data_end), info)) {
    note_quality(true, ErrorCode::None, info);
  }
}

/// False if the rest of the datagram is to be dropped.
bool Channel::run_engine(std::span<const std::byte> datagram, const PacketInfo& info) noexcept {
  const Outcome outcome = outlet_.engine(engine_rule_).decode(datagram, info, outlet_.stage());
  if (outcome.messages != 0) tally_.messages.add(outcome.messages);
  if (outcome.dropped) tally_.waiting_for_reset.add();
  if (outcome.error != ErrorCode::None) take_error(outcome, info, datagram);
  return outcome.error == ErrorCode::None && !outcome.dropped;
}

void Channel::run_blocks(std::span<const std::byte> datagram, const net::Preamble& preamble,
                         PacketInfo& info) noexcept {
  if (description_.framing.reset == ResetRule::Packet) outlet_.engine(engine_rule_).reset(info.channel);
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
    forget_dictionary();
    return;
  }
  note_quality(true, ErrorCode::None, info);
}

void Channel::take_error(const Outcome& outcome, const PacketInfo& info, std::span<const std::byte> datagram) noexcept {
  (outcome.error == ErrorCode::D9 ? tally_.unknown_template : tally_.decode_errors).add();
  const replay::Excerpt bytes = replay::excerpt(datagram, outcome.offset_bytes);
  const counters::ErrorFact fact{.time_ns = info.arrival_ns,
                                 .channel = info.channel,
                                 .template_index = outcome.template_index,
                                 .block = outcome.block,
                                 .word = outcome.word,
                                 .code = static_cast<std::uint8_t>(outcome.error),
                                 .sequence = info.sequence,
                                 .template_id = outcome.template_id,
                                 .offset = outcome.offset_bytes,
                                 .sample_begin = bytes.begin,
                                 .sample = std::span(bytes.bytes).first(bytes.size)};
  if (shared_.tally.errors.add(fact)) keep_evidence(fact, info.data_offset, datagram);
  note_quality(false, outcome.error, info);
}

/// Another thread will explain it. One copy for each kind of error, at most as many as there are places for kinds.
void Channel::keep_evidence(const counters::ErrorFact& fact, std::uint32_t data_offset,
                            std::span<const std::byte> datagram) noexcept {
  Evidence evidence;
  evidence.channel = index_;
  evidence.generation = outlet_.generation();
  evidence.template_index = fact.template_index;
  evidence.block = fact.block;
  evidence.word = fact.word;
  evidence.code = static_cast<ErrorCode>(fact.code);
  evidence.is_joined = chunks_ != nullptr && data_offset != 0;
  evidence.time_ns = fact.time_ns;
  evidence.data_offset = data_offset;
  evidence.size = static_cast<std::uint32_t>(datagram.size());
  const auto kept = datagram.first(std::min(datagram.size(), Evidence::kMaxBytes));
  std::copy(kept.begin(), kept.end(), evidence.bytes.begin());
  shared_.evidence.push(evidence);
}

/// A channel is stale when several datagrams have failed one after another, and well again when as many have decoded.
void Channel::note_quality(bool is_good, ErrorCode code, const PacketInfo& info) noexcept {
  if (is_good) {
    bad_in_a_row_ = 0;
    if (state_ == ChannelState::Live) return;
    if (state_ == ChannelState::Stale && ++good_in_a_row_ < shared_.stale_after) return;
    if (state_ == ChannelState::Stale) {
      write_event(info, {.kind = record::EventKind::Recovered, .word6 = info.number});
      shared_.notices.push({.kind = Notice::Kind::Recovered, .channel = index_, .time_ns = info.arrival_ns});
    }
    state_ = ChannelState::Live;
    return;
  }
  good_in_a_row_ = 0;
  if (state_ == ChannelState::Stale || ++bad_in_a_row_ < shared_.stale_after) return;
  state_ = ChannelState::Stale;
  tally_.stale_events.add();
  write_event(info, {.kind = record::EventKind::Stale, .code = code, .word6 = info.number});
  shared_.notices.push({.kind = Notice::Kind::Stale,
                        .channel = index_,
                        .time_ns = info.arrival_ns,
                        .count = bad_in_a_row_,
                        .detail = static_cast<std::uint8_t>(code)});
}

/// Data of the channel is missing: unless each datagram stands for itself, what follows waits for a reset of the feed.
void Channel::forget_dictionary() noexcept {
  if (description_.framing.reset == ResetRule::Packet) return;
  replay::DiscardingSink nowhere(outlet_.stage());
  const PacketInfo beyond_the_end{.data_offset = 1, .channel = description_.number};
  (void)outlet_.engine(engine_rule_).decode({}, beyond_the_end, nowhere);
}

void Channel::gap(const arbitrate::Gap& gap) noexcept {
  forget_dictionary();
  const PacketInfo info{.arrival_ns = gap.now_ns,
                        .sequence = static_cast<std::uint32_t>(gap.first),
                        .channel = description_.number,
                        .sender_epoch = gap.epoch};
  write_event(info, {.kind = record::EventKind::Gap, .word5 = gap.first, .word6 = gap.count});
  gaps_[next_gap_++ % kRememberedGaps] = {.first = gap.first, .count = gap.count, .time_ns = gap.now_ns};
  shared_.notices.push(
      {.kind = Notice::Kind::Gap,
       .channel = index_,
       .time_ns = gap.now_ns,
       .first = gap.first,
       .count = gap.count,
       .epoch = gap.epoch,
       .lines = gap.lines,
       .dropped_here = shared_.dropped_here_ns != 0 && gap.now_ns - shared_.dropped_here_ns <= kDropsExplainNs});
  if (shared_.recorder == nullptr) return;
  // In the time of the packets, which need not be that of the clock.
  for (const std::uint32_t line : record_as) {
    if (line != kNotRecorded) shared_.recorder->freeze(shared_.newest_ns, line);
  }
}

void Channel::epoch(const arbitrate::NewRun& run) noexcept {
  using Reason = arbitrate::NewRun::Reason;
  // A carousel's cycles come every second or so, and nobody has to be told.
  if (run.reason == Reason::Cycle) return;
  if (run.reason == Reason::Sender) {
    reset(run);
    return;
  }
  shared_.notices.push({.kind = Notice::Kind::Run,
                        .channel = index_,
                        .time_ns = run.now_ns,
                        .first = run.sequence,
                        .epoch = run.epoch,
                        .detail = static_cast<std::uint8_t>(run.reason)});
}

void Channel::reset(const arbitrate::NewRun& run) noexcept {
  forget_dictionary();
  const PacketInfo info{.arrival_ns = run.now_ns,
                        .sequence = static_cast<std::uint32_t>(run.sequence),
                        .channel = description_.number,
                        .sender_epoch = run.epoch};
  write_event(info, {.kind = record::EventKind::Reset, .word6 = run.packet});
  gaps_ = {};  // their numbers come again
  shared_.notices.push({.kind = Notice::Kind::Run,
                        .channel = index_,
                        .time_ns = run.now_ns,
                        .first = run.sequence,
                        .epoch = run.epoch,
                        .detail = static_cast<std::uint8_t>(run.reason)});
}

void Channel::write_event(const PacketInfo& info, const record::Event& event) noexcept {
  outlet_.write_event({.arrival_ns = info.arrival_ns,
                       .sequence = info.sequence,
                       .channel = info.channel,
                       .image_generation = outlet_.generation(),
                       .sender_epoch = info.sender_epoch,
                       .source = info.source,
                       .time_quality = info.time_quality},
                      event);
}

void Channel::finish() noexcept {
  arbiter_.finish(*this);
  publish();
}

void Channel::image_changed() noexcept {
  bad_in_a_row_ = 0;
  forget_dictionary();
}

void Channel::publish() const noexcept {
  const arbitrate::Account account = arbiter_.total();
  for (std::size_t i = 0; i < 2; ++i) {
    if (!description_.lines[i]) continue;
    const LineTally& to = tally_.lines[i];
    const arbitrate::LineStats& from = arbiter_.line(static_cast<Line>(i));
    to.packets.set(account.packets.received[i]);
    to.missing.set(from.missing);
    to.saved.set(from.saved);
    to.first.set(from.first_copies);
    to.last_sequence.set(from.last_sequence);
    to.last_arrival.set(from.last_arrival_ns);
    for (std::size_t b = 0; b < from.behind.buckets.size(); ++b) {
      if (from.behind.buckets[b] == 0) continue;
      to.skew.set_bucket(b == 0 ? 0 : b < 64 ? (std::uint64_t{1} << b) - 1 : ~std::uint64_t{0}, from.behind.buckets[b]);
    }
  }
  tally_.delivered.set(account.packets.delivered);
  tally_.duplicate.set(account.packets.duplicate);
  tally_.late.set(account.packets.late);
  tally_.held.set(account.packets.held);
  tally_.malformed.set(account.packets.malformed);
  tally_.incomplete.set(account.packets.incomplete);
  tally_.numbers.set(account.numbers.expected);
  tally_.numbers_delivered.set(account.numbers.delivered);
  tally_.numbers_recovered.set(account.numbers.recovered);
  tally_.numbers_lost.set(account.numbers.lost);
  tally_.numbers_held.set(account.numbers.held);
  tally_.gaps.set(arbiter_.gaps());
  tally_.epoch.set(arbiter_.epoch());
  tally_.next_sequence.set(arbiter_.next_sequence().value_or(0));
  tally_.state.set(static_cast<std::uint64_t>(state_));
}

}  // namespace stopbit::appliance
