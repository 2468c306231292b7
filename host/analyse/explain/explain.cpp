#include "host/analyse/explain/explain.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "decoder/record/buffer_sink.hpp"
#include "host/analyse/explain/row_maker.hpp"
#include "host/analyse/explain/values.hpp"
#include "host/analyse/guess/trial.hpp"

namespace stopbit::explain {
namespace {

using Bytes = std::span<const std::byte>;

/// Packets after the explained one, at most, that are searched for a cause.
constexpr std::size_t kPacketsBehind = 200;
constexpr std::size_t kPacketsBefore = 200;
constexpr std::size_t kSampleBytes = std::size_t{4} << 20;

/// Ends a source after one of its packets, and keeps that packet and some before it.
class UntilPacket final : public ingest::PacketSource {
 public:
  UntilPacket(ingest::PacketSource& inner, std::uint64_t number) : inner_(inner), number_(number) {
    sample_.name = inner.name();
  }

  [[nodiscard]] ingest::Next next(ingest::Packet& packet) noexcept override {
    if (has_it_) return ingest::Next::End;
    const ingest::Next next = inner_.next(packet);
    if (next != ingest::Next::Packet) return next;
    last_number_ = packet.number;
    if (packet.number >= number_) has_it_ = packet.number == number_;
    if (packet.number + kPacketsBefore >= number_) keep(packet);
    return packet.number > number_ ? ingest::Next::End : next;
  }
  [[nodiscard]] std::string_view name() const noexcept override { return inner_.name(); }
  [[nodiscard]] const ingest::Fault& fault() const noexcept override { return inner_.fault(); }
  [[nodiscard]] ingest::SourceProgress progress() const noexcept override { return {}; }
  [[nodiscard]] record::TimeQuality time_quality() const noexcept override { return inner_.time_quality(); }

  [[nodiscard]] bool has_it() const noexcept { return has_it_; }
  [[nodiscard]] std::uint64_t last_number() const noexcept { return last_number_; }
  /// The packet itself; call it if has_it().
  [[nodiscard]] const guess::StoredPacket& packet() const { return sample_.packets[at_]; }
  [[nodiscard]] guess::Sample& sample() noexcept { return sample_; }

 private:
  void keep(const ingest::Packet& packet) {
    if (sample_.bytes > kSampleBytes && !has_it_) return;
    sample_.add(packet);
    at_ = sample_.packets.size() - 1;
  }

  ingest::PacketSource& inner_;
  std::uint64_t number_;
  guess::Sample sample_;
  std::size_t at_ = 0;
  std::uint64_t last_number_ = 0;
  bool has_it_ = false;
};

/// Records what the engine does with one packet, and decodes the others silently if they matter.
class Lens final : public Engine {
 public:
  struct Run {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    Outcome outcome = {};
    std::size_t rows = 0;  ///< Of the row maker, before it.
  };

  Lens(const Program& program, const EngineOptions& options, RowMaker& row_maker, std::uint64_t packet)
      : engine_(make_tracing_interpreter(program, options, row_maker)),
        row_maker_(row_maker),
        packet_(packet),
        skips_others_(options.reset == ResetRule::Packet) {}

  Outcome decode(Bytes datagram, const PacketInfo& info, record::RecordSink& sink) noexcept override {
    if (info.number != packet_) {
      if (skips_others_) return {};
      const Outcome outcome = engine_->decode(datagram, info, sink);
      ++earlier_[info.channel];
      if (outcome.error != ErrorCode::None) error_packets_[info.channel] = info.number;
      return outcome;
    }
    Run run{.begin = info.data_offset,
            .end = static_cast<std::uint32_t>(datagram.size()),
            .rows = row_maker_.rows().size()};
    row_maker_.set_active(true);
    run.outcome = engine_->decode(datagram, info, sink);
    row_maker_.finish(run.outcome, datagram.size());
    row_maker_.set_active(false);
    if (runs_.empty()) datagram_.assign(datagram.begin(), datagram.end());
    if (datagram.size() > datagram_.size()) datagram_.assign(datagram.begin(), datagram.end());
    info_ = info;
    runs_.push_back(run);
    return run.outcome;
  }
  void reset(std::uint16_t channel) noexcept override { engine_->reset(channel); }
  void invalidate(std::uint16_t channel) noexcept override { engine_->invalidate(channel); }

  [[nodiscard]] const std::vector<Run>& runs() const noexcept { return runs_; }
  [[nodiscard]] const std::vector<std::byte>& datagram() const noexcept { return datagram_; }
  [[nodiscard]] const PacketInfo& info() const noexcept { return info_; }
  [[nodiscard]] std::uint64_t earlier(std::uint16_t channel) const {
    const auto found = earlier_.find(channel);
    return found == earlier_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::uint64_t error_packet(std::uint16_t channel) const {
    const auto found = error_packets_.find(channel);
    return found == error_packets_.end() ? 0 : found->second;
  }

 private:
  std::unique_ptr<Engine> engine_;
  RowMaker& row_maker_;
  std::uint64_t packet_;
  bool skips_others_;
  std::vector<Run> runs_;
  std::vector<std::byte> datagram_;
  PacketInfo info_;
  std::map<std::uint16_t, std::uint64_t> earlier_;
  std::map<std::uint16_t, std::uint64_t> error_packets_;
};

// ----------------------------------------------------------------------------------------------------------- Frames

std::uint32_t byte_at(Bytes bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<std::uint32_t>(bytes[at]) : 0;
}
std::uint32_t word_at(Bytes bytes, std::size_t at) {
  return byte_at(bytes, at) << 8 | byte_at(bytes, at + 1);
}

std::string mac_text(Bytes frame, std::size_t at) {
  std::string text;
  for (std::size_t i = 0; i < 6 && at + i < frame.size(); ++i) {
    if (i != 0) text += ':';
    const auto byte = static_cast<char>(frame[at + i]);
    text += hex({&byte, 1});
  }
  return text;
}

struct Link {
  std::size_t bytes = 0;
  std::string name;
  std::string text;
};

/// The bytes before the IP header of a frame that holds an IPv4 datagram.
Link link_of(net::LinkType type, Bytes frame) {
  switch (type) {
    case net::LinkType::LinuxSll: return {16, "Linux cooked", ""};
    case net::LinkType::LinuxSll2: return {20, "Linux cooked 2", ""};
    case net::LinkType::RawIp: return {0, "", ""};
    case net::LinkType::Loopback: return {4, "loopback", ""};
    case net::LinkType::Unknown:
    case net::LinkType::Ethernet: break;
  }
  Link link{14, "Ethernet", mac_text(frame, 6) + " to " + mac_text(frame, 0)};
  constexpr std::array<std::uint32_t, 4> kTags = {0x8100, 0x88A8, 0x9100, 0x9200};
  while (link.bytes + 4 <= frame.size() &&
         std::find(kTags.begin(), kTags.end(), word_at(frame, link.bytes - 2)) != kTags.end()) {
    link.text += ", VLAN " + std::to_string(word_at(frame, link.bytes) & 0xFFF);
    link.bytes += 4;
  }
  return link;
}

trace::Extent extent(std::size_t begin, std::size_t end) {
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

void explain_frame(const guess::StoredPacket& packet, Explanation& out) {
  const Bytes frame = packet.frame;
  net::Datagram datagram;
  out.verdict = net::parse_frame(packet.link, frame, packet.original_bytes, datagram);
  out.sender = datagram.source;
  out.group = datagram.destination;
  if (out.verdict != net::Verdict::Accepted) {
    out.parts.push_back({extent(0, frame.size()), "frame", std::string(net::verdict_text(out.verdict))});
    return;
  }
  constexpr std::size_t kUdpBytes = 8;
  const auto payload = static_cast<std::size_t>(datagram.payload.data() - frame.data());
  const std::size_t udp = payload - kUdpBytes;
  const Link link = link_of(packet.link, frame);
  if (link.bytes != 0) out.parts.push_back({extent(0, link.bytes), link.name, link.text});
  out.parts.push_back({extent(link.bytes, udp), "IPv4",
                       net::address_text(out.sender.address) + " to " + net::address_text(out.group.address) + ", " +
                           std::to_string(word_at(frame, link.bytes + 2)) + " bytes"});
  out.parts.push_back({extent(udp, payload), "UDP",
                       "port " + std::to_string(out.sender.port) + " to " + std::to_string(out.group.port) + ", " +
                           std::to_string(word_at(frame, udp + 4)) + " bytes"});
  const std::size_t end = payload + datagram.payload.size();
  out.parts.push_back({extent(payload, end), "datagram", std::to_string(datagram.payload.size()) + " bytes"});
  const std::size_t ip_end = end + datagram.ignored_bytes;
  if (ip_end != end) out.parts.push_back({extent(end, ip_end), "ignored", "after the end given by the UDP length"});
  if (ip_end != frame.size()) {
    out.parts.push_back(
        {extent(ip_end, frame.size()), "ignored", "frame trailer: padding, FCS or a switch's time stamp"});
  }
  out.frame_offset = static_cast<std::uint32_t>(payload);
  out.datagram.assign(datagram.payload.begin(), datagram.payload.end());
}

// --------------------------------------------------------------------------------------------------------- Preambles

Row bytes_row(RowKind kind, std::size_t begin, std::size_t end, std::string name) {
  Row row;
  row.kind = kind;
  row.bytes = extent(begin, end);
  row.name = std::move(name);
  return row;
}

struct Part {
  std::size_t begin;
  std::size_t bytes;
  bool big_endian;
  std::string name;
};

std::vector<Part> preamble_parts(const net::Framing& framing) {
  if (framing.kind == net::FramingKind::B3) {
    return {{0, 4, true, "sequence"}, {4, 2, true, "chunks"}, {6, 2, true, "chunk"}, {8, 2, true, "length"}};
  }
  std::vector<Part> parts;
  const auto add = [&](net::PreambleField field, const char* name) {
    if (field.bytes != 0) parts.push_back({field.offset, field.bytes, field.big_endian, name});
  };
  add(framing.sequence, "sequence");
  add(framing.length, "length");
  if (framing.name == "cme") parts.push_back({4, 1, true, "sub-channel"});
  std::sort(parts.begin(), parts.end(), [](const Part& left, const Part& right) { return left.begin < right.begin; });
  return parts;
}

void explain_preamble(const net::Framing& framing, std::size_t end, Explanation& out) {
  std::size_t at = 0;
  for (const Part& part : preamble_parts(framing)) {
    // A field after the first message or inside another field gets no row of its own.
    if (part.begin < at || part.begin + part.bytes > end) continue;
    if (part.begin != at) out.rows.push_back(bytes_row(RowKind::Preamble, at, part.begin, "skipped"));
    at = part.begin + part.bytes;
    Row row = bytes_row(RowKind::Preamble, part.begin, at, part.name);
    row.type = "u" + std::to_string(8 * part.bytes);
    if (part.bytes != 1) row.type += part.big_endian ? " big-endian" : " little-endian";
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < part.bytes; ++i) {
      const std::size_t byte = part.big_endian ? part.begin + i : at - 1 - i;
      value = value << 8 | byte_at(out.datagram, byte);
    }
    row.result = std::to_string(value);
    out.rows.push_back(std::move(row));
  }
  if (at != end) out.rows.push_back(bytes_row(RowKind::Preamble, at, end, "skipped"));
}

/// Puts the rows of the engine's runs in the order of the bytes, with the bytes before, between and after them.
void assemble(const net::Framing& framing, const net::Preamble& preamble, const Lens& lens, RowMaker& row_maker,
              Explanation& out) {
  const std::size_t size = out.datagram.size();
  std::size_t at = 0;
  const auto fill = [&](RowKind kind, std::size_t end, std::string name) {
    if (at >= end) return;
    out.rows.push_back(bytes_row(kind, at, end, std::move(name)));
    at = end;
  };
  if (preamble.error != ErrorCode::None) return fill(RowKind::Undecoded, size, "not decoded");
  explain_preamble(framing, preamble.data_begin, out);
  at = preamble.data_begin;
  if (!out.was_decoded) {
    const bool is_chunk = preamble.chunks > 1;
    return fill(RowKind::Undecoded, size, is_chunk ? "part of a message: decoded with its last chunk" : "not decoded");
  }

  const std::vector<Lens::Run>& runs = lens.runs();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Lens::Run& run = runs[i];
    if (run.begin > at) {
      Row row = bytes_row(RowKind::BlockSize, at, run.begin, "block size");
      row.type = "uInt32";
      row.result = std::to_string(run.end - run.begin);
      out.rows.push_back(std::move(row));
      at = run.begin;
    }
    const std::size_t rows_end = i + 1 < runs.size() ? runs[i + 1].rows : row_maker.rows().size();
    for (std::size_t row = run.rows; row < rows_end; ++row) {
      at = std::max<std::size_t>(at, row_maker.rows()[row].bytes.end);
      out.rows.push_back(std::move(row_maker.rows()[row]));
    }
  }
  if (out.outcome.dropped) return fill(RowKind::Undecoded, size, "not decoded: the channel waits for a reset");
  if (out.outcome.error != ErrorCode::None) return fill(RowKind::Undecoded, size, "not decoded");
  fill(RowKind::Ignored, size, "after the end given by the preamble");
}

/// A block whose size is wrong never reaches the engine.
void find_block_error(const net::Framing& framing, const net::Preamble& preamble, Explanation& out) {
  if (!framing.blocks || preamble.error != ErrorCode::None || out.outcome.error != ErrorCode::None) return;
  net::BlockReader blocks(out.datagram, preamble.data_begin, preamble.data_end);
  while (const auto block = blocks.next()) {
    if (block->error == ErrorCode::None) continue;
    out.outcome = {};
    out.outcome.error = block->error;
    out.outcome.offset_bytes = block->begin;
    out.was_decoded = true;
  }
}

std::string fault_text(const Program& program, const Explanation& out) {
  const std::string start = out.source + ": packet " + std::to_string(out.packet);
  const net::VerdictClass verdict = net::verdict_class(out.verdict);
  if (verdict == net::VerdictClass::Damaged || verdict == net::VerdictClass::Cut) {
    return start + ": " + std::string(net::verdict_text(out.verdict));
  }
  if (out.outcome.error != ErrorCode::None) {
    const feed::Excerpt bytes = feed::excerpt(out.datagram, out.outcome.offset_bytes);
    return start + ", " + feed::error_text(program, out.outcome, bytes);
  }
  if (out.outcome.dropped) {
    const std::string where =
        out.error_packet != 0 ? "packet " + std::to_string(out.error_packet) : "an earlier packet";
    return start + ": not decoded: after the error in " + where + " its channel waits for a reset";
  }
  return {};
}

}  // namespace

std::size_t accounted_bytes(const Explanation& explanation) noexcept {
  std::size_t at = 0;
  for (const Row& row : explanation.rows) {
    if (row.bytes.begin == row.bytes.end) continue;
    if (row.bytes.begin != at) return at;
    at = row.bytes.end;
  }
  return at;
}

Result<Explanation> explain(const record::Schema& schema, const replay::Options& options,
                            std::unique_ptr<ingest::PacketSource> source, std::uint64_t packet, bool has_headers) {
  const Program& program = schema.program();
  RowMaker row_maker(schema);
  Lens lens(program, replay::engine_options(options), row_maker, packet);
  record::BufferSink sink(program.max_record_slots, [](std::span<const record::Slot>) {});

  auto until = std::make_unique<UntilPacket>(*source, packet);
  UntilPacket& reader = *until;
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.push_back(std::move(until));
  const replay::Summary summary = replay::Replay(program, lens, sink, options).run(sources);
  if (!reader.has_it()) {
    std::string message = std::string(source->name()) + ": no packet " + std::to_string(packet) + "; the last one is " +
                          std::to_string(reader.last_number());
    if (summary.faults != 0) message += " (" + source->fault().message + ")";
    return Failure{std::move(message)};
  }

  Explanation out;
  out.source = source->name();
  out.packet = packet;
  out.framing = options.framing.name;
  out.reset = options.framing.reset;
  out.has_headers = has_headers;
  out.frame = reader.packet().frame;
  explain_frame(reader.packet(), out);
  net::Preamble preamble = net::read_preamble(options.framing, out.datagram);
  out.sequence = preamble.sequence;
  out.was_decoded = !lens.runs().empty();
  out.is_joined = out.was_decoded && preamble.error == ErrorCode::None && preamble.chunks > 1;
  if (out.is_joined) {
    out.datagram = lens.datagram();
    preamble = net::read_preamble(options.framing, out.datagram);
  }
  out.rows_hidden = row_maker.hidden();
  if (out.was_decoded) {
    out.channel = lens.info().channel;
    out.outcome = lens.runs().back().outcome;
    out.earlier_packets = lens.earlier(out.channel);
    if (out.outcome.dropped) out.error_packet = lens.error_packet(out.channel);
  }
  find_block_error(options.framing, preamble, out);
  assemble(options.framing, preamble, lens, row_maker, out);
  out.fault = fault_text(program, out);
  if (!out.has_fault()) return out;

  guess::Sample& sample = reader.sample();
  ingest::Packet behind;
  for (std::size_t i = 0; i < kPacketsBehind && sample.bytes < 2 * kSampleBytes; ++i) {
    if (source->next(behind) != ingest::Next::Packet) break;
    sample.add(behind);
  }
  out.causes = find_causes(schema, options, out, sample);
  return out;
}

}  // namespace stopbit::explain
