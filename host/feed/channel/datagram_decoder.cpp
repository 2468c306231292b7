#include "host/feed/channel/datagram_decoder.hpp"

#include <algorithm>

namespace stopbit::feed {
namespace {

/// Drops the records of a datagram's first messages, which have been published.
class SkippingSink final : public record::RecordSink {
 public:
  SkippingSink(record::RecordSink& next, std::uint32_t skipped) : next_(next), skipped_(skipped) {}
  [[nodiscard]] Place open() noexcept override { return next_.open(); }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    const bool is_event = static_cast<std::uint16_t>(first.words[0]) == record::kEventIndex;
    const auto message = static_cast<std::uint16_t>(first.words[3] >> 16);
    if (is_event || message >= skipped_) next_.commit(first, slots);
  }

 private:
  record::RecordSink& next_;
  std::uint32_t skipped_;
};

/// Marks records of messages that were given up before they came.
class RecoveredSink final : public record::RecordSink {
 public:
  explicit RecoveredSink(record::RecordSink& next) : next_(next) {}
  [[nodiscard]] Place open() noexcept override { return next_.open(); }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    record::Slot marked = first;
    marked.words[2] |= std::uint64_t{record::kFlagRecovered} << 56;
    next_.commit(marked, slots);
  }

 private:
  record::RecordSink& next_;
};

}  // namespace

DatagramDecoder::DatagramDecoder(const net::Framing& framing, std::uint16_t channel, const Target& target,
                                 Counts& counts, Watcher& watcher, std::uint32_t stale_after)
    : framing_(framing), channel_(channel), target_(target), counts_(counts), watcher_(watcher), health_(stale_after) {
  if (framing.kind == net::FramingKind::B3) chunks_ = std::make_unique<net::ChunkAssembler>(1);
}

inline bool DatagramDecoder::run_engine(std::span<const std::byte> datagram, const PacketInfo& info,
                                        record::RecordSink& sink) noexcept {
  const Outcome outcome = target_.engine->decode(datagram, info, sink);
  counts_.messages += outcome.messages;
  counts_.fields += outcome.fields;
  counts_.dropped += outcome.dropped ? 1 : 0;
  if (outcome.error != ErrorCode::None) note_error(outcome, info, datagram);
  return outcome.error == ErrorCode::None && !outcome.dropped;
}

DatagramDecoder::Answer DatagramDecoder::decode(std::span<const std::byte> datagram, const net::Preamble& preamble,
                                                PacketInfo& info, std::uint32_t skipped) noexcept {
  counts_.ignored_bytes += datagram.size() - preamble.data_end;
  std::span<const std::byte> data = datagram.first(preamble.data_end);
  std::size_t bytes = datagram.size();
  if (chunks_) {
    using State = net::ChunkAssembler::State;
    const net::ChunkAssembler::Answer answer = chunks_->add(0, datagram, preamble);
    const bool is_chunk = preamble.chunks > 1;
    counts_.chunks += is_chunk ? 1 : 0;
    counts_.incomplete += (answer.gave_up ? 1U : 0U) + (answer.state == State::Orphan ? 1U : 0U);
    counts_.oversized += answer.state == State::TooLong ? 1 : 0;
    if (answer.state != State::Complete) return {};
    counts_.joined += is_chunk ? 1 : 0;
    data = answer.whole;
    bytes = data.size();
  }
  ++counts_.datagrams;
  counts_.datagram_bytes += bytes;
  info.data_offset = preamble.data_begin;
  if (framing_.blocks) {
    run_blocks(data, info);
    return {};
  }
  const std::uint64_t errors = errors_;
  const std::uint64_t messages = counts_.messages;
  SkippingSink skipping(*target_.sink, skipped);
  RecoveredSink recovered(*target_.sink);
  record::RecordSink* sink = skipped == 0 ? target_.sink : &skipping;
  if (info.source == record::SourceLine::Replay) sink = &recovered;
  if (run_engine(data, info, *sink)) note_success(info);
  if (skipped != 0) counts_.messages -= std::min<std::uint64_t>(skipped, counts_.messages - messages);
  return {.is_good = errors_ == errors, .messages = static_cast<std::uint32_t>(counts_.messages - messages)};
}

void DatagramDecoder::lose(std::span<const std::byte> datagram, PacketInfo& info) noexcept {
  ++counts_.datagrams;
  counts_.datagram_bytes += datagram.size();
  // To the engine a datagram that ends before its data begins is an error as any other.
  info.data_offset = static_cast<std::uint32_t>(datagram.size()) + 1;
  (void)run_engine(datagram, info, *target_.sink);
}

void DatagramDecoder::report_malformed(std::span<const std::byte> datagram, const PacketInfo& info) noexcept {
  Outcome outcome;
  outcome.error = ErrorCode::X9;
  outcome.offset_bytes = static_cast<std::uint32_t>(datagram.size());
  write_event(info, {.code = outcome.error, .word5 = outcome.offset_bytes, .word6 = info.number});
  watcher_.malformed(outcome, info, datagram);
}

void DatagramDecoder::run_blocks(std::span<const std::byte> data, PacketInfo& info) noexcept {
  if (framing_.reset == ResetRule::Packet) target_.engine->reset(channel_);
  net::BlockReader blocks(data, info.data_offset, static_cast<std::uint32_t>(data.size()));
  while (const auto block = blocks.next()) {
    if (block->error == ErrorCode::None) {
      info.data_offset = block->begin;
      if (!run_engine(data.first(block->end), info, *target_.sink)) return;
      continue;
    }
    // Where the next block begins is unknown, so the rest is lost.
    Outcome outcome;
    outcome.error = block->error;
    outcome.offset_bytes = block->begin;
    write_event(info, {.code = block->error, .word5 = block->begin, .word6 = info.number});
    invalidate();
    note_error(outcome, info, data);
    return;
  }
  note_success(info);
}

void DatagramDecoder::note_error(const Outcome& outcome, const PacketInfo& info,
                                 std::span<const std::byte> datagram) noexcept {
  ++errors_;
  watcher_.decode_error(outcome, info, datagram);
  if (!health_.bad()) return;
  write_event(info, {.kind = record::EventKind::Stale, .code = outcome.error, .word6 = info.number});
  watcher_.stale(outcome.error, health_.bad_in_a_row(), info);
}

void DatagramDecoder::note_success(const PacketInfo& info) noexcept {
  if (!health_.good()) return;
  write_event(info, {.kind = record::EventKind::Recovered, .word6 = info.number});
  watcher_.recovered(info);
}

void write_event(const Target& target, std::uint16_t channel, const PacketInfo& info,
                 const record::Event& event) noexcept {
  const record::Header header{.arrival_ns = info.arrival_ns,
                              .sequence = info.sequence,
                              .channel = channel,
                              .image_generation = target.image_generation,
                              .sender_epoch = info.sender_epoch,
                              .source = info.source,
                              .time_quality = info.time_quality};
  target.builder->write_event(*target.sink, header, event, 0);
}

}  // namespace stopbit::feed
