#include "tests/lib/profiled.hpp"

#include <algorithm>

#include "host/analyse/profile/counter.hpp"
#include "host/analyse/profile/profile.hpp"
#include "tests/lib/recording_sink.hpp"

namespace stopbit::cases {
namespace {

constexpr unsigned kTurnedBits = 8;

/// Maps that were met once count more than those that were made of them.
void add_neighbours(profile::SegmentCounts& counts) {
  const std::vector<profile::MapCount> met = counts.maps;
  for (const profile::MapCount& map : met) {
    for (unsigned bit = 0; bit < kTurnedBits; ++bit) {
      const std::uint64_t turned = map.map ^ std::uint64_t{1} << (63 - bit);
      const bool is_known = std::any_of(counts.maps.begin(), counts.maps.end(),
                                        [&](const profile::MapCount& known) { return known.map == turned; });
      if (!is_known) counts.maps.push_back({turned, 0});
    }
  }
}

}  // namespace

Program with_profiles(const Program& program, const EngineOptions& options, const std::vector<Datagram>& datagrams) {
  if (!program.profiles.empty()) return program;
  profile::Counter counter(program, options, 1, datagrams.size());
  RecordingSink sink(program);
  PacketInfo info;
  for (const Datagram& datagram : datagrams) {
    ++info.number;
    info.channel = datagram.channel;
    (void)counter.decode(datagram.bytes, info, sink);
  }
  profile::Counts counts = profile::resolve(counter.take(), program).counts;
  for (auto& [segment, maps] : counts) add_neighbours(maps);
  Program out = program;
  (void)profile::add_profiles(out, counts, {.maps = limits::kMaxProfileMaps, .least_share = 0});
  return out;
}

Program with_hints(Program program) {
  for (isa::Instruction& in : program.code) {
    in.predicate = in.known == isa::KnownBit::No && isa::info(in.op)->bit != isa::BitUse::None;
  }
  return program;
}

}  // namespace stopbit::cases
