#include "host/feed/channel/channel_decoder.hpp"

#include "host/feed/channel/session_stage.hpp"
#include "host/feed/description/arbiter_options.hpp"

namespace stopbit::feed {
namespace {

using arbitrate::NewRun;

record::SourceLine source_of(arbitrate::Line line) noexcept {
  switch (line) {
    case arbitrate::Line::A: return record::SourceLine::LineA;
    case arbitrate::Line::B: return record::SourceLine::LineB;
    case arbitrate::Line::Replay: return record::SourceLine::Replay;
  }
  return record::SourceLine::LineA;
}

}  // namespace

ChannelDecoder::ChannelDecoder(const Channel& description, const ChannelOptions& options, const Target& target,
                               Counts& counts, Watcher& watcher)
    : description_(description),
      has_numbers_(arbitrate::options_for(description.framing).sequence_bits != 0),
      target_(target),
      counts_(counts),
      watcher_(watcher),
      arbiter_(arbiter_options(description)),
      decoder_(description.framing, description.number, target, counts, watcher, options.stale_after) {}

void ChannelDecoder::take(arbitrate::Line line, const Received& received) noexcept {
  const arbitrate::Packet packet{.payload = received.payload,
                                 .preamble = net::read_preamble(description_.framing, received.payload),
                                 .line = line,
                                 .time_quality = received.time_quality,
                                 .arrival_ns = received.arrival_ns,
                                 .t_ns = received.t_ns,
                                 .number = received.number,
                                 .source = received.source};
  arbiter_.offer(packet, *this);
  hear_session();
  if (packet.preamble.error != ErrorCode::None) take_malformed(packet);
}

bool ChannelDecoder::recover(const Replayed& replayed) noexcept {
  if (!arbiter_.recover(replayed.sequence, replayed.epoch)) return false;
  const net::Preamble preamble{.data_end = static_cast<std::uint32_t>(replayed.message.size()),
                               .sequence = replayed.sequence};
  PacketInfo info{.arrival_ns = replayed.arrival_ns,
                  .number = replayed.number,
                  .sequence = static_cast<std::uint32_t>(replayed.sequence),
                  .channel = description_.number,
                  .sender_epoch = replayed.epoch,
                  .source = record::SourceLine::Replay,
                  .time_quality = record::TimeQuality::Poll};
  (void)decoder_.decode(replayed.message, preamble, info);
  hear_session();
  return true;
}

/// Announcement of the feed about its numbers, in a message that was just decoded.
void ChannelDecoder::hear_session() noexcept {
  if (target_.session == nullptr) return;
  const auto announced = target_.session->take();
  if (announced && announced->channel == description_.number) arbiter_.announce(announced->sequence);
}

void ChannelDecoder::take_malformed(const arbitrate::Packet& packet) noexcept {
  PacketInfo info = info_of(packet, arbiter_.epoch());
  if (has_numbers_) {
    decoder_.report_malformed(packet.payload, info);
  } else {
    decoder_.lose(packet.payload, info);
  }
}

bool ChannelDecoder::deliver(const arbitrate::Packet& packet, std::uint16_t epoch) noexcept {
  counts_.last_delivery_ns = packet.arrival_ns;
  PacketInfo info = info_of(packet, epoch);
  const std::uint64_t sequence = packet.preamble.sequence;
  const bool is_other_copy = failed_.exists && failed_.sequence == sequence && failed_.epoch == epoch;
  const std::uint32_t skipped = is_other_copy ? failed_.messages : 0;
  failed_.exists = false;
  const DatagramDecoder::Answer answer = decoder_.decode(packet.payload, packet.preamble, info, skipped);
  if (answer.is_good || is_other_copy || !decoder_.can_decode_again()) return true;
  failed_ = {.exists = true, .epoch = epoch, .sequence = sequence, .messages = answer.messages};
  return false;
}

PacketInfo ChannelDecoder::info_of(const arbitrate::Packet& packet, std::uint16_t epoch) const noexcept {
  return {.arrival_ns = packet.arrival_ns,
          .number = packet.number,
          .sequence = static_cast<std::uint32_t>(packet.preamble.sequence),
          .channel = description_.number,
          .sender_epoch = epoch,
          .source = source_of(packet.line),
          .time_quality = packet.time_quality};
}

void ChannelDecoder::gap(const arbitrate::Gap& gap) noexcept {
  decoder_.invalidate();
  const PacketInfo info{
      .arrival_ns = gap.wall_ns, .sequence = static_cast<std::uint32_t>(gap.first), .sender_epoch = gap.epoch};
  decoder_.write_event(info, {.kind = record::EventKind::Gap, .word5 = gap.first, .word6 = gap.count});
  watcher_.gap(gap);
}

void ChannelDecoder::epoch(const NewRun& run) noexcept {
  // The start and a carousel's cycles need no event: records carry their epoch.
  if (run.reason == NewRun::Reason::Sender) return reset(run);
  watcher_.run_begins(run, false);
}

void ChannelDecoder::reset(const NewRun& run) noexcept {
  decoder_.invalidate();
  const PacketInfo info{
      .arrival_ns = run.wall_ns, .sequence = static_cast<std::uint32_t>(run.sequence), .sender_epoch = run.epoch};
  decoder_.write_event(info, {.kind = record::EventKind::Reset, .word6 = run.packet});
  watcher_.run_begins(run, true);
}

}  // namespace stopbit::feed
