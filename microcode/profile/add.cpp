#include "microcode/profile/add.hpp"

#include <algorithm>
#include <tuple>

#include "microcode/profile/segments.hpp"
#include "microcode/profile/straight_line.hpp"

namespace stopbit::profile {
namespace {

using isa::ControlOp;
using isa::DataOp;
using isa::Instruction;

/// A bit is hard to predict if the rarer outcome has this share.
constexpr double kUnpredictable = 0.15;
/// Fewer outcomes prove nothing.
constexpr std::uint64_t kFewestOutcomes = 100;

struct Candidate {
  std::uint16_t segment;
  std::uint64_t map;
  std::uint64_t count;
};

/// How often the bit of an instruction was set, and clear.
struct Outcomes {
  std::uint64_t set = 0;
  std::uint64_t clear = 0;
};

std::uint64_t total(const SegmentCounts& counts) {
  std::uint64_t sum = counts.other;
  for (const MapCount& map : counts.maps) sum += map.count;
  return sum;
}

/// The most frequent maps of all segments, most frequent first.
std::vector<Candidate> candidates(const Counts& counts, const AddOptions& options) {
  std::vector<Candidate> all;
  for (const auto& [segment, of_segment] : counts) {
    std::vector<MapCount> maps = of_segment.maps;
    std::sort(maps.begin(), maps.end(),
              [](const MapCount& a, const MapCount& b) { return std::tie(b.count, a.map) < std::tie(a.count, b.map); });
    const double least = options.least_share * static_cast<double>(total(of_segment));
    maps.resize(std::min({maps.size(), options.maps, limits::kMaxProfileMaps}));
    for (const MapCount& map : maps) {
      if (static_cast<double>(map.count) >= least) all.push_back({segment, map.map, map.count});
    }
  }
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(b.count, a.segment, a.map) < std::tie(a.count, b.segment, b.map);
  });
  return all;
}

/// Counts what the general program finds in a map, the first `taken` bits left out. A mantissa's bit is taken as if its
/// exponent were always there.
void count_outcomes(const Program& program, std::size_t begin, const MapCount& map, unsigned taken,
                    std::vector<Outcomes>& outcomes) {
  unsigned bits = 0;
  const auto take = [&](std::size_t at, bool is_hint) {
    const bool bit = bits < 64 && (map.map << bits >> 63) != 0;
    if (bits++ >= taken && is_hint) (bit ? outcomes[at].set : outcomes[at].clear) += map.count;
    return bit;
  };
  const std::size_t size = general_size(program);
  for (std::size_t at = begin; at < size && bits <= ProfileEntry::kMaxBits;) {
    const Instruction& in = program.code[at];
    if (in.op == DataOp::Pmap) {
      const bool is_reference = program.code[at + 1].op == DataOp::Tid;
      at = is_reference ? at + 2 : behind_group(program, at);
      continue;
    }
    if (isa::info(in.op)->bit != isa::BitUse::None) take(at, true);
    const bool jumps = in.control == ControlOp::Skip ? !take(at, false) : in.control == ControlOp::Seq;
    if (in.control == ControlOp::Lend || in.control == ControlOp::Pop || in.control == ControlOp::End) return;
    at = jumps ? in.target : at + 1;
  }
}

}  // namespace

std::vector<Coverage> add_profiles(Program& program, const Counts& counts, const AddOptions& options) {
  const std::map<std::uint16_t, std::size_t> begins = segment_begins(program);
  std::map<std::uint16_t, Coverage> coverage;
  for (const auto& [segment, of_segment] : counts) {
    if (begins.contains(segment)) coverage[segment] = {.segment = segment, .maps = total(of_segment)};
  }

  Program out = program;
  std::map<std::pair<std::uint16_t, std::uint64_t>, unsigned> taken;
  for (const Candidate& candidate : candidates(counts, options)) {
    const auto begin = begins.find(candidate.segment);
    if (begin == begins.end()) continue;
    const std::size_t address = out.code.size();
    const std::size_t room = limits::kMaxInstructions - address;
    const auto line = straight_line(program, begin->second, candidate.map, address, room);
    if (!line) continue;
    out.profiles.push_back({candidate.segment, static_cast<std::uint16_t>(address), candidate.map, line->taken});
    out.code.insert(out.code.end(), line->code.begin(), line->code.end());
    taken[{candidate.segment, candidate.map}] = line->taken;
    Coverage& row = coverage[candidate.segment];
    row.covered += candidate.count;
    ++row.programs;
    row.instructions += static_cast<std::uint32_t>(line->code.size());
    row.general_steps += static_cast<double>(candidate.count) * line->general;
    row.profile_steps += static_cast<double>(candidate.count) * line->steps;
  }
  std::sort(out.profiles.begin(), out.profiles.end(), [](const ProfileEntry& a, const ProfileEntry& b) {
    return std::tie(a.segment, a.presence_bits) < std::tie(b.segment, b.presence_bits);
  });

  std::vector<Outcomes> outcomes(program.code.size());
  for (const auto& [segment, of_segment] : counts) {
    const auto begin = begins.find(segment);
    if (begin == begins.end()) continue;
    for (const MapCount& map : of_segment.maps) {
      const auto known = taken.find({segment, map.map});
      count_outcomes(program, begin->second, map, known == taken.end() ? 0 : known->second, outcomes);
    }
  }
  for (std::size_t at = 0; at < outcomes.size(); ++at) {
    const std::uint64_t rarer = std::min(outcomes[at].set, outcomes[at].clear);
    const std::uint64_t all = outcomes[at].set + outcomes[at].clear;
    const bool is_hard = static_cast<double>(rarer) >= kUnpredictable * static_cast<double>(all);
    out.code[at].predicate = all >= kFewestOutcomes && is_hard;
  }

  program = std::move(out);
  std::vector<Coverage> rows;
  for (auto& [segment, row] : coverage) {
    const auto covered = static_cast<double>(std::max<std::uint64_t>(1, row.covered));
    row.general_steps /= covered;
    row.profile_steps /= covered;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace stopbit::profile
