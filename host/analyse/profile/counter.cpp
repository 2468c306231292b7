#include "host/analyse/profile/counter.hpp"

#include <algorithm>

#include "microcode/profile/straight_line.hpp"

namespace stopbit::profile {

Counter::Counter(const Program& program, const EngineOptions& options, std::uint64_t first, std::uint64_t last)
    : program_(program),
      first_(first),
      last_(last),
      names_(name_parts(program)),
      segment_at_(program.code.size(), kNoSegment),
      engine_(make_tracing_interpreter(program, options, *this)) {
  for (const auto& [segment, begin] : segment_begins(program)) {
    if (segment < ProfileEntry::kBody) segment_at_[begin - 1] = segment;
  }
  profile_.layout_hash = stopbit::layout_hash(program);
}

Outcome Counter::decode(std::span<const std::byte> datagram, const PacketInfo& info,
                        record::RecordSink& sink) noexcept {
  datagram_ = datagram;
  counts_ = info.number >= first_ && info.number <= last_;
  const Outcome outcome = engine_->decode(datagram, info, sink);
  if (counts_) {
    ++profile_.datagrams;
    profile_.messages += outcome.messages;
    profile_.errors += outcome.error != ErrorCode::None || outcome.dropped ? 1 : 0;
  }
  return outcome;
}

void Counter::step(std::uint16_t address, std::uint32_t /*offset*/) noexcept {
  address_ = address;
}

/// Seven bits a byte, the first on top.
std::uint64_t Counter::map_of(trace::Extent bytes) const noexcept {
  constexpr unsigned kMaxBytes = ProfileEntry::kMaxBits / 7;
  if (bytes.end - bytes.begin > kMaxBytes) return kTooLong;
  std::uint64_t map = 0;
  unsigned shift = 64;
  for (std::uint32_t i = bytes.begin; i < bytes.end; ++i) {
    map |= (std::to_integer<std::uint64_t>(datagram_[i]) & 0x7F) << (shift -= 7);
  }
  return map;
}

void Counter::map_begins(trace::Extent bytes) noexcept {
  if (!counts_) return;
  const std::uint64_t map = map_of(bytes);
  if (address_ == 0) message_map_ = map;
  if (segment_at_[address_] != kNoSegment) count(segment_at_[address_], map);
}

void Counter::template_begins(std::uint16_t template_index, bool is_reference) noexcept {
  if (!counts_ || is_reference) return;
  count(ProfileEntry::kBody | template_index, message_map_ == kTooLong ? kTooLong : message_map_ << 1);
}

void Counter::count(std::uint32_t segment, std::uint64_t map) {
  Maps& maps = maps_[segment];
  const bool is_kept = map != kTooLong && (maps.counts.size() < kMaxMaps || maps.counts.contains(map));
  ++(is_kept ? maps.counts[map] : maps.other);
}

void Counter::value(trace::Source source, std::uint64_t value) noexcept {
  if (!counts_ || source == trace::Source::Error || program_.code[address_].control != isa::ControlOp::Seq) return;
  ++lengths_[address_].counts[source == trace::Source::Nothing ? 0 : std::min(value, kLongest)];
}

void Counter::text(trace::Source source, std::string_view value) noexcept {
  const bool is_there = source != trace::Source::Nothing && source != trace::Source::Error;
  if (counts_ && is_there) ++lengths_[address_].counts[std::min<std::uint64_t>(value.size(), kLongest)];
}

Profile Counter::take() {
  for (const auto& [segment, maps] : maps_) {
    SegmentCounts& out = profile_.segments[names_.segments.at(static_cast<std::uint16_t>(segment))];
    for (const auto& [map, count] : maps.counts) out.maps.push_back({map, count});
    std::sort(out.maps.begin(), out.maps.end(), [](const MapCount& a, const MapCount& b) {
      return a.count != b.count ? a.count > b.count : a.map < b.map;
    });
    out.other = maps.other;
  }
  const auto put = [&](const std::map<std::uint16_t, Name>& names, std::map<Name, Lengths>& out) {
    for (const auto& [address, name] : names) {
      const auto found = lengths_.find(address);
      if (found == lengths_.end()) continue;
      for (std::uint64_t length = 0; length <= kLongest; ++length) {
        if (found->second.counts[length] != 0) out[name][length] = found->second.counts[length];
      }
    }
  };
  put(names_.sequences, profile_.sequences);
  put(names_.strings, profile_.strings);
  return std::move(profile_);
}

}  // namespace stopbit::profile
