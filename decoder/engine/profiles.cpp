#include "decoder/engine/profiles.hpp"

#include <algorithm>
#include <map>

#include "microcode/base/splitmix64.hpp"
#include "microcode/profile/straight_line.hpp"

namespace stopbit::engine {
namespace {

constexpr unsigned kTries = 1'000;

std::uint64_t next_factor(std::uint64_t& state) {
  return splitmix64(state) | 1;
}

}  // namespace

Profiles::Profiles(const Program& program, unsigned least_saved) {
  if (program.profiles.empty()) return;
  const std::map<std::uint16_t, std::size_t> begins = profile::segment_begins(program);
  std::map<std::uint16_t, std::vector<Entry>> programs;
  for (const ProfileEntry& entry : program.profiles) {
    const std::size_t room = program.code.size() - entry.entry;
    const auto line = profile::straight_line(program, begins.at(entry.segment), entry.presence_bits, entry.entry, room);
    if (line && line->steps + least_saved <= line->general) {
      programs[entry.segment].push_back({entry.presence_bits, entry.entry, entry.taken});
    }
  }
  std::size_t segments = 0;
  for (const isa::Instruction& in : program.code) {
    if (in.op == isa::DataOp::Pmap) segments = std::max<std::size_t>(segments, in.constant + std::size_t{1});
  }
  entries_.resize(2);
  segments_.resize(segments);
  bodies_.resize(program.templates.size());
  for (const auto& [segment, of_segment] : programs) add(segment, of_segment);
}

/// Larger and larger tables are tried with a number of factors each. Two maps meet in a table of n places for about one
/// factor in n, so a table with as many places as there are pairs of maps is found soon.
void Profiles::add(std::uint16_t segment, std::span<const Entry> programs) {
  const bool is_body = (segment & ProfileEntry::kBody) != 0;
  Table& table = is_body ? bodies_[segment & ~ProfileEntry::kBody] : segments_[segment];
  constexpr std::size_t kMostPlaces = 2 * limits::kMaxProfileMaps * limits::kMaxProfileMaps;
  std::uint64_t state = 0;
  std::uint8_t shift = 63;
  std::vector<Entry> places;
  for (std::size_t size = 2; size <= kMostPlaces; size *= 2, --shift) {
    if (size < programs.size()) continue;
    places.resize(size);
    for (unsigned i = 0; i < kTries; ++i) {
      const Table tried{next_factor(state), static_cast<std::uint32_t>(entries_.size()), shift};
      const auto place_of = [&](const Entry& entry) -> Entry& {
        return places[entry.bits * tried.factor >> tried.shift];
      };
      const auto left = std::find_if(programs.begin(), programs.end(), [&](const Entry& entry) {
        Entry& place = place_of(entry);
        if (place.bits != kNoMap) return true;
        place = entry;
        return false;
      });
      if (left != programs.end()) {
        // Maps that part late, or never, may have been chosen: a try costs what it has put, not the whole table.
        std::for_each(programs.begin(), left, [&](const Entry& entry) { place_of(entry) = {}; });
        continue;
      }
      table = tried;
      entries_.insert(entries_.end(), places.begin(), places.end());
      return;
    }
  }
  // Maps that no factor parts: their segment goes on in the general program, which does the same.
}

}  // namespace stopbit::engine
